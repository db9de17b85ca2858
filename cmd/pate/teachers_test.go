package main

import (
	"fmt"
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
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

// partsOf returns the files of parts in a folder, in their order.
func partsOf(t *testing.T, dir string) []string {
	t.Helper()
	found := testkit.Must(filepath.Glob(filepath.Join(dir, "part-*.part")))
	slices.Sort(found)
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	b := testkit.Must(os.ReadFile(path))
	return string(b)
}

// Parts trained apart, in any order and on any machine, are merged into the votes and the
// manifest of one machine, byte for byte; what is not one whole job is refused by name.
func TestTeachersMerge(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("private.csv"), people(false), 0o600))
	require.NoError(t, os.WriteFile(at("public.csv"), publicPeople(), 0o600))
	args := []string{at("private.csv"), "--public", at("public.csv"), "--label", "kind", "--unit", "who", "--class-names", "a,b,c", "--teachers", "7", "--learner", "softmax", "--out", at("v.npy")}
	train := func(more ...string) []string { return slices.Concat([]string{"train"}, args, more) }

	for _, shard := range []string{"2/3", "1/3"} {
		typed(t, shell.ExitDone, train("--shard", shard)...)
	}
	merge := []string{"votes", "merge", at("v.npy.parts"), "--out", at("v.npy")}
	_, errs := typed(t, shell.ExitCheckFailed, merge...)
	require.Contains(t, errs, "1 are missing: 3/3")
	require.NoFileExists(t, at("v.npy"))
	t.Setenv("JOB_COMPLETION_INDEX", "2")
	text, _ := typed(t, shell.ExitDone, train("--shard", "auto/3")...)
	require.Contains(t, text, "pate votes merge")
	before := partsOf(t, at("v.npy.parts"))
	require.Len(t, before, 3)
	stat := func() (all string) {
		for _, p := range partsOf(t, at("v.npy.parts")) {
			info := testkit.Must(os.Stat(p))
			require.Equal(t, os.FileMode(0o600), info.Mode())
			all += fmt.Sprintln(p, info.ModTime(), read(t, p))
		}
		return all
	}
	once := stat()
	_, errs = typed(t, shell.ExitDone, train("--shard", "3/3")...)
	require.Contains(t, errs, "nothing was trained")
	require.Equal(t, once, stat(), "twice is once")

	typed(t, shell.ExitDone, merge...)
	merged, manifest := read(t, at("v.npy")), read(t, at("v.npy.manifest.json"))
	typed(t, shell.ExitDone, merge...)
	require.Equal(t, merged, read(t, at("v.npy")))

	// One machine with the same secrets, from the beginning.
	for _, name := range []string{"v.npy", "v.npy.manifest.json"} {
		require.NoError(t, os.Remove(at(name)))
	}
	require.NoError(t, os.RemoveAll(at("v.npy.private/teachers")))
	typed(t, shell.ExitDone, slices.Concat([]string{"train"}, args)...)
	require.Equal(t, merged, read(t, at("v.npy")))
	require.Equal(t, manifest, read(t, at("v.npy.manifest.json")))

	// And again from nothing: the same names for the same content.
	require.NoError(t, os.Rename(at("v.npy.parts"), at("was")))
	for _, name := range []string{"v.npy", "v.npy.manifest.json"} {
		require.NoError(t, os.Rename(at(name), at(name+".was")))
	}
	for i := range 3 {
		typed(t, shell.ExitDone, train("--shard", fmt.Sprintf("%d/3", i+1))...)
	}
	for i, p := range partsOf(t, at("v.npy.parts")) {
		require.Equal(t, filepath.Base(before[i]), filepath.Base(p))
		require.Equal(t, read(t, at("was/"+filepath.Base(p))), read(t, p))
	}

	// Twins, damage, and other settings, rows and keys.
	whole := partsOf(t, at("was"))
	refused := func(code int, what string, parts ...string) {
		t.Helper()
		_, errs := typed(t, code, slices.Concat([]string{"votes", "merge"}, parts, []string{"--out", at("bad.npy")})...)
		require.Contains(t, errs, what)
		require.NoFileExists(t, at("bad.npy"))
		require.NoFileExists(t, at("bad.npy.manifest.json"))
	}
	refused(shell.ExitCheckFailed, "is part 1 of 3, and so is", append(whole, partsOf(t, at("v.npy.parts"))[0])...)
	cut := read(t, whole[1])
	require.NoError(t, os.WriteFile(at("cut.part"), []byte(cut[:len(cut)-1]), 0o600))
	refused(shell.ExitCheckFailed, "cut.part: is no whole part", whole[0], at("cut.part"), whole[2])
	refused(shell.ExitInvalidInput, "holds no part", at("v.npy.private"))
	other := func(what string, more ...string) {
		t.Helper()
		out := at("other-" + strings.Fields(what)[len(strings.Fields(what))-1])
		private := out + ".private"
		require.NoError(t, os.Mkdir(private, 0o700))
		for _, name := range []string{"run.key", "salt"} {
			require.NoError(t, os.WriteFile(filepath.Join(private, name), []byte(read(t, at("v.npy.private/"+name))), 0o600))
		}
		if what == "another key" {
			require.NoError(t, os.Remove(filepath.Join(private, "run.key")))
		}
		typed(t, shell.ExitDone, train(append([]string{"--shard", "2/3", "--out", out}, more...)...)...)
		refused(shell.ExitCheckFailed, "is of "+what, whole[0], partsOf(t, out+".parts")[0], whole[2])
	}
	other("another learner", "--learner", "forest")
	other("another unit of privacy", "--unit-name", "person")
	other("another key")
	other("another number of teachers", "--teachers", "8")
	other("other classes", "--class-names", "a,c,b")
	require.NoError(t, os.WriteFile(at("private.csv"), people(false, "1,2,red,new,a"), 0o600))
	other("other private rows")
	_, errs = typed(t, shell.ExitInvalidInput, train("--shard", "1/3")...)
	require.Contains(t, errs, "is this part of another job, or of other rows")
	typed(t, shell.ExitUsage, train("--shard", "auto/2")...) // the index is 2
}

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
		for _, p := range partsOf(t, filepath.Join(dir, "v.npy.parts")) {
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

// Each silo trains on its own rows; that no person is in two is proved by hashes.
func TestTeachersOfSilos(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(at("public.csv"), publicPeople(), 0o600))
	head, rows, _ := strings.Cut(string(people(false)), "\n")
	var of [3]string
	for i, row := range strings.Split(strings.TrimSpace(rows), "\n") { // a row each person
		of[i%4%3] += row + "\n"
	}
	typed(t, shell.ExitDone, "votes", "check", "hash-ids", "--salt", at("salt.key"), "--new-salt")
	train := func(i int, rows string) {
		t.Helper()
		silo := fmt.Sprintf("silo-%d", i)
		home := at(silo)
		_ = os.RemoveAll(home)
		require.NoError(t, os.MkdirAll(filepath.Join(home, "v.npy.private"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, "v.npy.private", "salt"), []byte(read(t, at("salt.key"))), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(home, "ours.csv"), []byte(head+"\n"+rows), 0o600))
		typed(t, shell.ExitDone, "train", filepath.Join(home, "ours.csv"), "--public", at("public.csv"), "--label", "kind", "--unit", "who", "--class-names", "a,b,c",
			"--teachers", "6", "--learner", "softmax", "--shard", fmt.Sprintf("%d/3", i+1), "--silo", silo, "--out", filepath.Join(home, "v.npy"))
	}
	for i := range of {
		require.NotEmpty(t, of[i])
		train(i, of[i])
	}
	parts := filepath.Join(dir, "silo-*", "v.npy.parts", "*.part")
	litter := []string{at(".v.npy.1.tmp"), at(".v.npy.manifest.json.2.tmp"), at(".v.npy.silos.json.3.tmp")}
	for _, path := range litter { // of a merge that was killed
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	t.Run("hashes of units lie in no temporary file", func(t *testing.T) {
		t.Setenv("TMPDIR", at("none"))
		typed(t, shell.ExitDone, "votes", "merge", parts, "--out", at("v.npy"))
	})
	for _, path := range litter {
		require.NoFileExists(t, path)
	}
	v := testkit.Must(votes.Load(at("v.npy"), 3))
	require.Equal(t, 6, v.Teachers())
	require.NotContains(t, read(t, at("v.npy.manifest.json")), `"votes"`, "who merges has no salt")
	text, _ := typed(t, shell.ExitDone, "votes", "check", "--manifest", at("v.npy.silos.json"))
	require.Contains(t, text, "3 silos share none of their")

	// One row more moves one column, of a teacher of that silo.
	train(1, of[1]+"9.5,-9.5,red,newcomer,c\n"+"9.4,-9.5,red,newcomer,c\n")
	typed(t, shell.ExitDone, "votes", "merge", parts, "--out", at("w.npy"))
	w := testkit.Must(votes.Load(at("w.npy"), 3))
	for q := range v.Queries() {
		for k := range v.Teachers() {
			require.True(t, k%3 == 1 || v.At(q, k) == w.At(q, k))
		}
	}

	// A person in two silos is found, and nothing is written.
	shared := strings.SplitAfter(of[0], "\n")[0]
	train(1, of[1]+shared)
	_, errs := typed(t, shell.ExitCheckFailed, "votes", "merge", parts, "--out", at("x.npy"))
	require.Contains(t, errs, "shares 1 units (who) with")
	require.NoFileExists(t, at("x.npy"))
	require.NoFileExists(t, at("x.npy.silos.json"))
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
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "../../deploy/kubernetes-job.yaml")), &job))
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
	array := regexp.MustCompile(`(?m)^#SBATCH --array=0-(\d+)$`).FindStringSubmatch(read(t, script))
	shards := regexp.MustCompile(`SHARDS:=(\d+)`).FindStringSubmatch(read(t, script))
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
