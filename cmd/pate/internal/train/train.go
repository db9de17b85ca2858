// Package train is pate train: private rows and public ones in, votes out.
package train

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
)

// trainFlags are the flags of `pate train`.
type trainFlags struct {
	shell.PairFlags
	teachers, size, workers                             int
	learner, features, shard, out, private, silo, parts string
}

// New returns the command.
func New(g *shell.Globals) *cobra.Command {
	f := &trainFlags{}
	cmd := &cobra.Command{
		Use:  "train PRIVATE --public PUBLIC --label COLUMN --out votes.npy",
		Args: shell.Needs(cobra.ExactArgs(1), "public", "out"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args[0]) },
	}
	f.Add(cmd.Flags())
	f.Complete(cmd)
	shell.Declare(cmd.Flags(), "train", shell.To{"teachers": &f.teachers, "size": &f.size, "learner": &f.learner,
		"features": &f.features, "shard": &f.shard, "silo": &f.silo, "parts": &f.parts, "workers": &f.workers, "out": &f.out,
		"private-dir": &f.private})
	shell.Without(cmd, "delta")
	return cmd
}

// job returns what package training is asked for.
func (f *trainFlags) job(cmd *cobra.Command, g *shell.Globals, private string) (training.Job, error) {
	var missing []string
	if f.Public == "" {
		missing = append(missing, "--public FILE: the rows that teachers vote on")
	}
	if f.out == "" {
		missing = append(missing, "--out FILE: where the votes go")
	}
	if len(missing) > 0 {
		return training.Job{}, shell.UsageError("train", errors.New("missing: "+strings.Join(missing, "; ")))
	}
	if err := shell.CheckTeachers(cmd.Flags().Changed, f.teachers, f.size); err != nil {
		return training.Job{}, shell.UsageError("train", err)
	}
	if err := f.CheckApart(private); err != nil {
		return training.Job{}, err
	}
	reading, err := f.Reading()
	if err != nil {
		return training.Job{}, err
	}
	j := training.Job{Private: f.PrivateSource(private), Public: f.PublicSource(), Reading: reading, Teachers: f.teachers, Size: f.size,
		Learner:  f.learner,
		Features: f.features, Unit: f.UnitWord(), Out: f.out, Secrets: f.private, Workers: f.workers}
	if g.Seeded {
		j.Key = rng.SeedKey(g.Seed)
	}
	if j.Part, j.Parts, err = parseShard(f.shard, os.Getenv); err != nil {
		return j, err
	}
	if (f.silo != "" || f.parts != "") && j.Parts < 2 {
		return j, shell.UsageError("train", errors.New("--silo and --parts are for --shard I/N of two or more"))
	}
	j.Silo, j.PartsFolder = f.silo, f.parts
	j.Command = shell.Repeats(cmd, []string{"pate train", shell.ShellWord(private)},
		append(f.Names(), "teachers", "size", "learner", "features", "out"), shell.Differs, nil)
	return j, nil
}

func (f *trainFlags) run(cmd *cobra.Command, g *shell.Globals, private string) error {
	defer shell.CollectAt(30)() // most of the memory is one matrix, of which a third is enough to spare
	j, err := f.job(cmd, g, private)
	if err != nil {
		return err
	}
	written := []string{manifest.Beside(f.out), f.folder()} // training.Run looks at the votes
	if j.Parts > 1 {
		written = append(written, cmp.Or(f.parts, f.out+".parts"))
	}
	if err := shell.CheckApart(cmd, "train", written...); err != nil {
		return err
	}
	bar := shell.NewProgress(g)
	defer bar.Clear()
	j.Progress = bar.Update
	j.Say = func(text string) {
		bar.Clear()
		g.Logf("%s", text)
	}
	j.Decided = func(r *training.Result) {
		bar.Clear()
		shell.ReadAloud(g, r.Columns, r.Repeated)
	}
	result, err := training.Run(cmd.Context(), j)
	bar.Clear()
	if err != nil {
		return shell.FaultError(err, "data")
	}
	return f.print(g, result)
}

// print writes the result: the JSON of the contract, or what to do next.
func (f *trainFlags) print(g *shell.Globals, r *training.Result) error {
	if format := g.ParsedFormat(); format == table.JSON {
		return shell.WriteJSON(g.Stdout, r)
	} else if format != table.Text {
		t := table.Table{Header: []string{"teachers", "queries", "classes", "unit", "votes", "manifest"},
			Rows: [][]string{{strconv.Itoa(r.Teachers), strconv.Itoa(r.Queries), strconv.Itoa(len(r.Classes)), r.Unit, r.Votes, r.Manifest}}}
		return t.Write(g.Stdout, format)
	}
	if r.Part != "" {
		fmt.Fprintf(g.Stdout, "part %s of %d teachers is trained: %s\nwhen all parts are: pate votes merge %s --out %s\n", r.Part,
			r.Teachers, table.Printable(r.PartFile),
			shell.ShellWord(filepath.Dir(r.PartFile)), shell.ShellWord(r.Votes))
		return nil
	}
	fmt.Fprintf(g.Stdout, "votes of %d teachers on %d public rows: %s\nmanifest: %s\nkeep the votes and %s to yourself: they are as secret "+
		"as the private data\n",
		r.Teachers, r.Queries, table.Printable(r.Votes), table.Printable(r.Manifest), table.Printable(f.folder()))
	return nil
}

// folder returns where the secrets are.
func (f *trainFlags) folder() string {
	if f.private != "" {
		return f.private
	}
	return f.out + ".private"
}

// shardVariables are the environment variables with the number of this job in an array, from 0: of an Indexed
// Job of Kubernetes, and of Slurm.
func shardVariables() []string { return []string{"JOB_COMPLETION_INDEX", "SLURM_ARRAY_TASK_ID"} }

// parseShard reads I/N, with I from 1, or auto/N. It returns the part from 0, and 0 parts for
// an empty text.
func parseShard(text string, getenv func(string) string) (part, parts int, err error) {
	if text == "" {
		return 0, 0, nil
	}
	bad := func(why string) error { return shell.UsageError("train", fmt.Errorf("--shard %q: %s", text, why)) }
	index, of, ok := strings.Cut(text, "/")
	parts, err = strconv.Atoi(of)
	if !ok || err != nil || parts < 1 {
		return 0, 0, bad("must be I/N with I from 1 to N, or auto/N")
	}
	if index != "auto" {
		part, err = strconv.Atoi(index)
		if err != nil || part < 1 || part > parts {
			return 0, 0, bad("must be I/N with I from 1 to N, or auto/N")
		}
		return part - 1, parts, nil
	}
	var name string
	for _, v := range shardVariables() {
		if getenv(v) == "" {
			continue
		}
		if name != "" {
			return 0, 0, bad(fmt.Sprintf("both %s and %s are set: say which part with I/N", name, v))
		}
		name = v
	}
	if name == "" {
		return 0, 0, bad(fmt.Sprintf("none of %s is set: say which part with I/N", strings.Join(shardVariables(), ", ")))
	}
	part, err = strconv.Atoi(getenv(name))
	if err != nil || part < 0 || part >= parts {
		return 0, 0, shell.UsageError("train", fmt.Errorf("--shard %q: %s is %q, and must be from 0 to %d", text, name, getenv(name), parts-1))
	}
	return part, parts, nil
}

// NewMerge returns `pate votes merge`: votes of teachers from many machines.
func NewMerge(g *shell.Globals) *cobra.Command {
	var f trainFlags
	cmd := &cobra.Command{
		Use:  "merge PARTS... --out votes.npy",
		Args: shell.Needs(cobra.MinimumNArgs(1), "out"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" {
				return shell.Usagef("train", "missing: --out FILE: where the votes go")
			}
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
		},
	}
	shell.Declare(cmd.Flags(), "votes merge", shell.To{"out": &f.out, "private-dir": &f.private})
	shell.CompleteArgs(cmd, shell.Files("part"))
	shell.Without(cmd, "seed", "delta")
	return cmd
}
