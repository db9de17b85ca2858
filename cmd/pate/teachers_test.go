package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/testkit"
)

// read returns the text of a file.
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
