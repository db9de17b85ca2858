// Package train is the command `pate train`, which trains teachers and writes their votes on public rows.
package train

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
)

type trainFlags struct {
	shell.PairFlags
	teachers, size, workers                             int
	learner, features, shard, out, private, silo, parts string
}

func New(g *shell.Globals) *cobra.Command {
	f := &trainFlags{}
	cmd := shell.Command("train PRIVATE --public PUBLIC --label COLUMN --out votes.npy", "delta", shell.Needs(cobra.ExactArgs(1), "public", "out"),
		func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args[0]) })
	f.Add(cmd.Flags())
	f.Complete(cmd)
	shell.Declare(cmd.Flags(), "train", shell.To{"teachers": &f.teachers, "size": &f.size, "learner": &f.learner,
		"features": &f.features, "shard": &f.shard, "silo": &f.silo, "parts": &f.parts, "workers": &f.workers, "out": &f.out,
		"private-dir": &f.private})
	return cmd
}

func (f *trainFlags) job(cmd *cobra.Command, g *shell.Globals, private string) (training.Job, error) {
	if err := shell.CheckTeachers(cmd.Flags().Changed, f.teachers, f.size); err != nil {
		return training.Job{}, shell.UsageError("train", err)
	}
	if err := f.CheckApart(private); err != nil {
		return training.Job{}, err
	}
	reading, err := f.Reading(g)
	if err != nil {
		return training.Job{}, err
	}
	j := training.Job{Private: f.PrivateSource(private), Public: f.PublicSource(), Reading: reading, Teachers: f.teachers,
		Size: f.size, Learner: f.learner, Features: f.features, Unit: f.UnitWord(), Out: f.out, Secrets: f.private,
		Workers: f.workers, Silo: f.silo, PartsFolder: f.parts}
	shell.Put(g.Seeded, &j.Key, rng.SeedKey(g.Seed))
	if j.Part, j.Parts, err = parseShard(f.shard, os.Getenv); err != nil {
		return j, err
	}
	if (f.silo != "" || f.parts != "") && j.Parts < 2 {
		return j, shell.UsageError("train", errors.New("--silo and --parts need --shard I/N with at least two shards"))
	}
	j.Command = shell.Repeats(cmd, []string{"pate train", shell.ShellWord(private)},
		append(f.Names(), "teachers", "size", "learner", "features", "out"), shell.Differs, nil)
	return j, nil
}

func (f *trainFlags) run(cmd *cobra.Command, g *shell.Globals, private string) error {
	defer shell.CollectAt(30)() // most memory is one matrix, so growth by a third suffices
	j, err := f.job(cmd, g, private)
	if err != nil {
		return err
	}
	written := []string{manifest.Beside(f.out), f.folder()} // training.Run checks the path of the votes
	if j.Parts > 1 {
		written = append(written, cmp.Or(f.parts, f.out+".parts"))
	}
	if err := shell.CheckApart(cmd, "train", written...); err != nil {
		return err
	}
	bar := shell.NewProgress(g)
	defer bar.Clear()
	j.Progress, j.Say = bar.Update, bar.Say
	j.Decided = func(r *training.Result) { bar.ReadAloud(r.Columns) }
	result, err := training.Run(cmd.Context(), j)
	bar.Clear()
	if err != nil {
		return shell.FaultError(err, "data")
	}
	return f.print(g, result)
}

func (f *trainFlags) print(g *shell.Globals, r *training.Result) error {
	if format := g.ParsedFormat(); format == table.JSON {
		return shell.WriteJSON(g.Stdout, r)
	} else if format != table.Text {
		t := shell.TableOf("teachers", "queries", "classes", "unit", "votes", "manifest")
		t.Rows = [][]string{{strconv.Itoa(r.Teachers), strconv.Itoa(r.Queries), strconv.Itoa(len(r.Classes)), r.Unit, r.Votes, r.Manifest}}
		return t.Write(g.Stdout, format)
	}
	if r.Part != "" {
		fmt.Fprintf(g.Stdout, "part %s of %d teachers is trained: %s\nwhen all parts are: pate votes merge %s --out %s\n", r.Part,
			r.Teachers, table.Printable(r.PartFile),
			shell.ShellWord(filepath.Dir(r.PartFile)), shell.ShellWord(r.Votes))
		return nil
	}
	fmt.Fprintf(g.Stdout, "votes of %d teachers on %d public rows: %s\nmanifest: %s\nkeep the votes and %s private: both are as secret "+
		"as the private data\n",
		r.Teachers, r.Queries, table.Printable(r.Votes), table.Printable(r.Manifest), table.Printable(f.folder()))
	return nil
}

func (f *trainFlags) folder() string { return cmp.Or(f.private, f.out+".private") }

// shardVariables are environment variables of Kubernetes Indexed Jobs and Slurm arrays. Each must hold the
// index of a parallel job, from 0.
var shardVariables = []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"}

func parseShard(text string, getenv func(string) string) (part, parts int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	bad := func(why string, args ...any) (int, int, error) {
		return 0, 0, shell.Usagef("train", "--shard %q: "+why, append([]any{text}, args...)...)
	}
	index, of, ok := strings.Cut(text, "/")
	parts, err = strconv.Atoi(of)
	part, wrong := strconv.Atoi(index)
	auto := index == "auto"
	switch {
	case !ok || err != nil || parts < 1 || !auto && (wrong != nil || part < 1 || part > parts):
		return bad("must be I/N with I from 1 to N, or auto/N")
	case !auto:
		return part - 1, parts, nil
	}
	set := slices.DeleteFunc(slices.Clone(shardVariables), func(name string) bool { return getenv(name) == "" })
	switch len(set) {
	case 0:
		return bad("none of %s is set: give the part as I/N", strings.Join(shardVariables, ", "))
	case 1:
	default:
		return bad("both %s and %s are set: give the part as I/N", set[0], set[1])
	}
	value := getenv(set[0])
	if part, err = strconv.Atoi(value); err != nil || part < 0 || part >= parts {
		return bad("%s is %q, but must be from 0 to %d", set[0], value, parts-1)
	}
	return part, parts, nil
}

// NewMerge returns `pate votes merge`, which joins votes files of different teachers.
func NewMerge(g *shell.Globals) *cobra.Command {
	var f trainFlags
	cmd := shell.Command("merge PARTS... --out votes.npy", "seed delta", shell.Needs(cobra.MinimumNArgs(1), "out"),
		func(cmd *cobra.Command, args []string) error {
			out := shell.Target{Flag: "--out", Path: f.out, Topic: "train"}
			if err := out.CheckDistinct("one of the parts", shell.ExpandPaths(args)...); err != nil {
				return err
			}
			if err := out.CheckWritable(); err != nil {
				return err
			}
			r, err := training.Merge(cmd.Context(), training.Merging{Parts: args, Out: f.out, Secrets: f.private})
			if err != nil {
				return shell.FaultError(err, "data")
			}
			return f.print(g, r)
		})
	shell.Declare(cmd.Flags(), "votes merge", shell.To{"out": &f.out, "private-dir": &f.private})
	shell.CompleteArgs(cmd, shell.Files("part"))
	return cmd
}
