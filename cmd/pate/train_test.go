package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

type trained struct {
	public map[string]string // stdout, stderr, manifest
	votes  *votes.Matrix
}

var keyed = regexp.MustCompile(`[0-9a-f]{16,}`)

func trainOn(t *testing.T, files map[string][]byte, classes int, args ...string) trained {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	args = slices.Concat([]string{"train"}, args, []string{"--out", "DIR/v.npy", "--seed", "5", "--format", "json"})
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "DIR", dir)
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, shell.ExitDone, run(context.Background(), args, strings.NewReader(""), &stdout, &stderr), "%s\n%s", args, &stderr)
	manifest := testkit.Must(os.ReadFile(filepath.Join(dir, "v.npy.manifest.json")))
	out := trained{public: map[string]string{"stdout": stdout.String(), "stderr": stderr.String(), "manifest": keyed.ReplaceAllString(string(manifest), "#")}}
	for name, text := range out.public {
		out.public[name] = strings.ReplaceAll(text, dir, "DIR")
	}
	entries := testkit.Must(os.ReadDir(dir))
	for _, e := range entries {
		out.public["files"] += " " + e.Name()
	}
	out.votes = testkit.Must(votes.Load(filepath.Join(dir, "v.npy"), classes))
	return out
}

func neighbours(t *testing.T, want, got trained, exact bool, name string) {
	t.Helper()
	require.Equal(t, want.public, got.public, name)
	require.Equal(t, want.votes.Queries(), got.votes.Queries(), name)
	require.Equal(t, want.votes.Teachers(), got.votes.Teachers(), name)
	changed := map[int]bool{}
	for q := range want.votes.Queries() {
		for k := range want.votes.Teachers() {
			if want.votes.At(q, k) != got.votes.At(q, k) {
				changed[k] = true
			}
		}
	}
	if exact {
		require.LessOrEqual(t, len(changed), 1, "%s: columns %v", name, changed)
	}
}

func publicPeople() []byte {
	rnd := rand.New(rand.NewPCG(8, 9))
	text := "length,width,colour\n"
	for range 30 {
		text += fmt.Sprintf("%.2f,%.2f,%s\n", 10*rnd.Float64()-1, 6*rnd.Float64()-6, []string{"red", "blue"}[rnd.IntN(2)])
	}
	return []byte(text)
}

// Adding, removing or replacing one unit changes one column of votes and nothing public, for
// every learner. Those of golearn decide ties by chance, and their columns are not compared.
func TestTrainChangesOneColumnForOneUnit(t *testing.T) {
	t.Parallel()
	const unit = "someone"
	ordinary := "1.00,2.00,red," + unit + ",a"
	for _, learner := range training.Learners() {
		if learner == training.KNN { // needs cgo
			continue
		}
		t.Run(learner, func(t *testing.T) {
			exact := !slices.Contains([]string{training.BernoulliNB, training.BaggedID3}, learner)
			args := []string{"DIR/private.csv", "--public", "DIR/public.csv", "--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--other-labels", "other",
				"--teachers", "6", "--learner", learner}
			on := func(rows ...string) trained {
				return trainOn(t, map[string][]byte{"private.csv": people(false, rows...), "public.csv": publicPeople()}, 4, args...)
			}
			want := on(ordinary)
			neighbours(t, want, on(), exact, "removed")
			others := units(unit)
			if learner != training.Forest { // one learner sees all, the others some
				others = map[string][]string{"new class": others["new class"], "beyond float64": others["beyond float64"], "400 rows": others["400 rows"]}
			}
			for i, name := range slices.Sorted(maps.Keys(others)) {
				if *long || len(others) < 4 || i%6 == 0 {
					neighbours(t, want, on(others[name]...), exact, name)
				}
			}
			if exact {
				require.NotEqual(t, want.votes.Hash(), on(others["400 rows"]...).votes.Hash(), "and one column it does change")
			}
		})
	}
}

func npyFile(rows, cols int, at func(i, j int) float64) []byte {
	if cols == 1 {
		return integers(rows, func(i int) int64 { return int64(at(i, 0)) })
	}
	var b bytes.Buffer
	_ = npy.WriteHeader(&b, npy.Header{Type: "<f4", Shape: []int{rows, cols}}) // a buffer takes all
	for i := range rows {
		for j := range cols {
			b.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(at(i, j)))))
		}
	}
	return b.Bytes()
}

func noise(i, j int) float64 { return rand.New(rand.NewPCG(uint64(i), uint64(j))).Float64() }

func TestTrainChangesOneColumnForEveryReader(t *testing.T) {
	t.Parallel()
	const rows, side = 60, 10
	pixel := func(i, j int) byte { return byte(200*noise(i, j)) + byte(50*(i%2)) }
	images := func(without int) map[string][]byte {
		var private, labels, public []byte
		for i := range rows {
			if i == without {
				continue
			}
			labels = append(labels, byte(i%2))
			for j := range side * side {
				private = append(private, pixel(i, j))
			}
		}
		for i := range 20 * side * side {
			public = append(public, pixel(1000+i/side/side, i%(side*side)))
		}
		return map[string][]byte{"x-images-idx3-ubyte": idx(private, len(labels), side, side), "x-labels-idx1-ubyte": idx(labels, len(labels)),
			"public-images-idx3-ubyte": idx(public, 20, side, side)}
	}
	picture := func(i int, shade func(j int) byte) []byte {
		img := image.NewGray(image.Rect(0, 0, side, side))
		for j := range img.Pix {
			img.Pix[j] = shade(j)
		}
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		return b.Bytes()
	}
	folder := func(change func(files map[string][]byte)) map[string][]byte {
		files := map[string][]byte{}
		for i := range rows {
			files[fmt.Sprintf("private/%d/%d.png", i%2, i)] = picture(i, func(j int) byte { return pixel(i, j) })
		}
		change(files)
		for i := range 20 {
			files[fmt.Sprintf("public/%d.png", i)] = picture(i, func(j int) byte { return pixel(1000+i, j) })
		}
		return files
	}
	matrix := func(n int, last float64) map[string][]byte {
		at := func(i, j int) float64 {
			if i == rows-1 {
				return last
			}
			return noise(i, j) + float64(i%2)
		}
		return map[string][]byte{"x.npy": npyFile(n, 3, at), "public.npy": npyFile(20, 3, func(i, j int) float64 { return 2 * noise(1000+i, j) }),
			"y.npy": npyFile(n, 1, func(i, _ int) float64 { return float64(i % 2) }), "u.npy": npyFile(n, 1, func(i, _ int) float64 { return float64(i / 2 * math.MaxInt32) })}
	}
	var coloured bytes.Buffer
	rgba := image.NewRGBA(image.Rect(0, 0, 3, 5))
	rgba.Set(1, 1, color.RGBA{255, 0, 0, 255})
	require.NoError(t, png.Encode(&coloured, rgba))

	for name, c := range map[string]struct {
		args []string
		want map[string][]byte
		near map[string]map[string][]byte
	}{
		"npy": {[]string{"DIR/x.npy", "--labels", "DIR/y.npy", "--public", "DIR/public.npy"}, matrix(rows-1, 0), map[string]map[string][]byte{ // a row that is another is another unit
			"added": matrix(rows, .5), "NaN": matrix(rows, math.NaN()), "infinite": matrix(rows, math.Inf(-1)), "huge": matrix(rows, 1e38)}},
		"npy with units": {[]string{"DIR/x.npy", "--labels", "DIR/y.npy", "--units", "DIR/u.npy", "--public", "DIR/public.npy"}, matrix(rows, .5), map[string]map[string][]byte{
			"removed": matrix(rows-2, 0), "NaN": matrix(rows, math.NaN())}},
		"idx": {[]string{"DIR/x-images-idx3-ubyte", "--public", "DIR/public-images-idx3-ubyte"}, images(-1), map[string]map[string][]byte{"removed": images(7)}},
		"folder": {[]string{"DIR/private", "--public", "DIR/public"}, folder(func(map[string][]byte) {}), map[string]map[string][]byte{
			"removed":     folder(func(f map[string][]byte) { delete(f, "private/0/4.png") }),
			"colour":      folder(func(f map[string][]byte) { f["private/0/4.png"] = coloured.Bytes() }),
			"added":       folder(func(f map[string][]byte) { f["private/1/0.png"] = coloured.Bytes() }),
			"other class": folder(func(f map[string][]byte) { f["private/rare/0.png"] = coloured.Bytes() })}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append(c.args, "--classes", "2", "--teachers", "5")
			if name == "folder" {
				args = append(args, "--other-labels", "drop")
			}
			want := trainOn(t, c.want, 2, args...)
			for near, files := range c.near {
				neighbours(t, want, trainOn(t, files, 2, args...), true, near)
			}
		})
	}
}

func read(path string) string { return string(testkit.Must(os.ReadFile(path))) }

// What a part shows, and what its files are called and how large they are, does not depend
// on one unit.
func TestTeachersTellNothingOfOneUnit(t *testing.T) {
	t.Parallel()
	on := func(rows ...string) (shown string) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "private.csv"), people(false, rows...), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "public.csv"), publicPeople(), 0o600))
		for _, shard := range []string{"1/2", "2/2"} {
			out, errs := typed(t, shell.ExitDone, "train", filepath.Join(dir, "private.csv"), "--public", filepath.Join(dir, "public.csv"), "--label", "kind", "--unit", "who",
				"--class-names", "a,b,c", "--other-labels", "other", "--teachers", "4", "--learner", "softmax", "--seed", "5", "--shard", shard, "--out", filepath.Join(dir, "v.npy"))
			shown += out + errs
		}
		for _, p := range testkit.Must(filepath.Glob(filepath.Join(dir, "v.npy.parts", "part-*.part"))) { // in their order
			info := testkit.Must(os.Stat(p))
			shown += fmt.Sprintln(p, info.Size())
		}
		return keyed.ReplaceAllString(strings.ReplaceAll(shown, dir, "DIR"), "#")
	}
	want := on()
	for name, rows := range units("someone") {
		if name == "400 rows" || name == "new class" || name == "beyond float64" {
			require.Equal(t, want, on(rows...), name)
		}
	}
}

// The Job of Kubernetes and the job array of Slurm say what the command understands, agree
// with themselves about how many parts there are, and train parts of one whole.
func TestDeploy(t *testing.T) {
	bash := testkit.Must(exec.LookPath("bash"))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "private.csv"), people(false), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "public.csv"), publicPeople(), 0o600))

	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Spec       struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int    `yaml:"completions"`
			Parallelism    int    `yaml:"parallelism"`
			Template       struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct {
						Command []string `yaml:"command"`
						Args    []string `yaml:"args"`
						Mounts  []struct {
							Name string `yaml:"name"`
							Path string `yaml:"mountPath"`
						} `yaml:"volumeMounts"`
					} `yaml:"containers"`
					Volumes []struct {
						Name string `yaml:"name"`
					} `yaml:"volumes"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(read("../../deploy/kubernetes-job.yaml")), &job))
	require.Equal(t, "batch/v1 Job Indexed", fmt.Sprintln(job.APIVersion, job.Kind, job.Spec.CompletionMode)[:len("batch/v1 Job Indexed")])
	pod := job.Spec.Template.Spec
	require.Equal(t, "Never", pod.RestartPolicy)
	require.Len(t, pod.Containers, 1)
	c := pod.Containers[0]
	require.Equal(t, []string{"pate"}, c.Command)
	require.Contains(t, c.Args, fmt.Sprintf("--shard=auto/%d", job.Spec.Completions))
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.Mounts {
		require.True(t, volumes[m.Name], m.Name)
	}

	// One part by the Job's arguments, on small data.
	settings := strings.NewReplacer("/data/", dir+"/", "/votes/", dir+"/", "=outcome", "=kind", "=patient", "=who", "=no,yes", "=a,b,c", "=200", "=4", fmt.Sprintf("auto/%d", job.Spec.Completions), "auto/2")
	var args []string
	for _, a := range c.Args {
		args = append(args, settings.Replace(a))
	}
	t.Setenv("JOB_COMPLETION_INDEX", "0")
	typed(t, shell.ExitDone, args...)

	// The other by the script.
	script := testkit.Must(filepath.Abs("../../deploy/slurm-array.sh"))
	out, err := exec.Command(bash, "-n", script).CombinedOutput()
	require.NoError(t, err, "%s", out)
	array := regexp.MustCompile(`(?m)^#SBATCH --array=0-(\d+)$`).FindStringSubmatch(read(script))
	shards := regexp.MustCompile(`SHARDS:=(\d+)`).FindStringSubmatch(read(script))
	require.Len(t, array, 2)
	require.Len(t, shards, 2)
	var last, parts int
	_ = testkit.Must(fmt.Sscan(array[1]+" "+shards[1], &last, &parts))
	require.Equal(t, parts, last+1)
	require.NoError(t, os.Unsetenv("JOB_COMPLETION_INDEX")) // Setenv restores it
	run := func(index string) (string, error) {
		cmd := exec.Command(bash, script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "SLURM_ARRAY_TASK_ID="+index, "SHARDS=2",
			"PRIVATE="+filepath.Join(dir, "private.csv"), "PUBLIC="+filepath.Join(dir, "public.csv"), "OUT="+filepath.Join(dir, "votes.npy"), "LABEL=kind", "UNIT=who", "CLASS_NAMES=a,b,c", "TEACHERS=4")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	text, err := run("1")
	require.NoError(t, err, text)
	text, err = run("1")
	require.NoError(t, err, text)
	require.Contains(t, text, "nothing was trained")
	text, err = run("2")
	require.Error(t, err)
	require.Contains(t, text, "must be from 0 to 1")
	typed(t, shell.ExitDone, "votes", "merge", filepath.Join(dir, "votes.npy.parts"), "--out", filepath.Join(dir, "votes.npy"))
	require.FileExists(t, filepath.Join(dir, "votes.npy"))
}
