// Package counts is the command `pate votes counts`: votes files of any size or number to counts.
package counts

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/votes"
)

// flags are the flags as they were typed.
type flags struct {
	shell.VotesFlags
	out  string
	join string
}

// result is what the command prints: shapes, which are public.
type result struct {
	Schema   string `json:"schema"`
	Queries  int    `json:"queries"`
	Teachers int    `json:"teachers"`
	Classes  int    `json:"classes"`
	Counts   string `json:"counts"`
}

const schema = "pate.counts/1"

// New returns the command.
func New(g *shell.Globals) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "counts VOTES... --out counts.csv",
		Args: shell.Wants(cobra.MinimumNArgs(1), func(cmd *cobra.Command, _ []string) []string {
			return append(f.Missing(cmd), shell.Unset(cmd, "out")...)
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args) },
	}
	f.AddShape(cmd)
	cmd.Flags().StringVar(&f.join, "join", "", "several files of counts: append (other queries) or add (other teachers)")
	cmd.Flags().StringVar(&f.out, "out", "", "file of the counts, .csv or .npy (required)")
	shell.Complete(cmd, map[string]shell.Values{"join": shell.Words("append", "add"), "out": shell.Files("csv", "npy")})
	shell.Without(cmd, "seed", "delta")
	return cmd
}

// asNPY reports whether the file is written as NPY, by its name.
func (f *flags) asNPY() (bool, error) {
	switch strings.ToLower(filepath.Ext(f.out)) {
	case ".csv":
		return false, nil
	case ".npy":
		return true, nil
	case "":
		if f.out == "" {
			return false, shell.UsageError("votes", errors.New("--out FILE is needed: where the counts go"))
		}
	}
	return false, shell.UsageError("votes", fmt.Errorf("--out %q: must end in .csv or .npy", f.out))
}

func (f *flags) run(cmd *cobra.Command, g *shell.Globals, args []string) error {
	asNPY, err := f.asNPY()
	if err != nil {
		return err
	}
	out := shell.Target{Flag: "--out", Path: f.out, Topic: "votes"}
	if err := out.CheckDistinct("one of the votes files", shell.ExpandPaths(args)...); err != nil {
		return err
	}
	if err := out.CheckWritable(); err != nil {
		return err
	}
	defer f.Close()
	ctx := cmd.Context()
	if f.join != "" {
		return f.runJoin(ctx, g, args, out, asNPY)
	}
	source, err := f.Open(ctx, args)
	if err != nil {
		return err
	}
	if err := f.check(ctx, g, cmd, args, source); err != nil {
		return err
	}
	if err := out.Write(0o600, func(w io.Writer) error { return source.WriteCounts(ctx, w, asNPY) }); err != nil {
		return shell.FaultError(err, "votes")
	}
	r := result{Schema: schema, Queries: source.Queries(), Teachers: source.Teachers(), Classes: source.Classes(), Counts: f.out}
	return f.said(g, r, source.ClassNames())
}

// said prints the result and the command that labels the counts.
func (f *flags) said(g *shell.Globals, r result, names []string) error {
	if err := r.write(g); err != nil {
		return err
	}
	g.Logf("keep the counts to yourself: they are as secret as the votes")
	g.Logf("labels of them: %s", f.labelCommand(r, names))
	return nil
}

// runJoin makes one file of counts of several.
func (f *flags) runJoin(ctx context.Context, g *shell.Globals, args []string, out shell.Target, asNPY bool) error {
	opt, err := f.Options()
	if err != nil {
		return err
	}
	switch {
	case !opt.Counts:
		return shell.UsageError("votes", errors.New("--join is for files of counts: say --counts, or leave it out and name the votes of "+
			"all teachers"))
	case opt.Teachers == 0:
		return shell.UsageError("votes", errors.New("--teachers is needed: how many there are, in all files together"))
	}
	files, err := votes.OpenCounts(ctx, args, opt, f.join == "add")
	if err != nil {
		return shell.FaultError(err, "votes")
	}
	if err := out.Write(0o600, func(w io.Writer) error { return files.Write(ctx, w, asNPY) }); err != nil {
		return shell.FaultError(err, "votes")
	}
	return f.said(g, result{Schema: schema, Queries: files.Queries(), Teachers: opt.Teachers, Classes: files.Classes(), Counts: f.out},
		opt.ClassNames)
}

// check refuses votes whose counts would protect nobody. Counts do not show who voted, so
// that this is the last time it can be seen.
func (f *flags) check(ctx context.Context, g *shell.Globals, cmd *cobra.Command, args []string, source *votes.Source) error {
	report, err := source.Check(ctx)
	if err != nil {
		return shell.FaultError(err, "votes")
	}
	if failed := shell.FailedFindings(g, report); failed != nil {
		return shell.FailedVotes(failed[0], "mend what pate votes check reports; nothing was written")
	}
	stated, err := shell.StatedBeside(args)
	if err != nil {
		return err
	}
	return shell.CountedTeachers(report, stated, cmd.Flags().Changed("teachers"))
}

// labelCommand returns the command that releases labels of the counts.
func (f *flags) labelCommand(r result, names []string) string {
	classes := fmt.Sprintf("--classes %d", r.Classes)
	if names != nil {
		var list strings.Builder
		w := csv.NewWriter(&list)
		_ = w.Write(names) // a strings.Builder takes everything
		w.Flush()
		classes = "--class-names " + shell.ShellWord(strings.TrimSpace(list.String()))
	}
	return fmt.Sprintf("pate label %s --counts --teachers %d %s --epsilon 2 --ledger run.jsonl --out labels.csv", shell.ShellWord(f.out),
		r.Teachers, classes)
}

func (r result) write(g *shell.Globals) error {
	return g.Print(r, func(table.Format) table.Table {
		return table.Table{Header: []string{"queries", "teachers", "classes", "counts"}, Left: []bool{false, false, false, true},
			Rows: [][]string{{fmt.Sprint(r.Queries), fmt.Sprint(r.Teachers), fmt.Sprint(r.Classes), table.Printable(r.Counts)}}}
	})
}
