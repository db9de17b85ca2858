// Package counts is the command `pate votes counts`, which converts votes files into counts.
package counts

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/votes"
)

type flags struct {
	shell.VotesFlags
	out, join string
}

type result struct{ queries, teachers, classes int }

func New(g *shell.Globals) *cobra.Command {
	var f flags
	cmd := shell.Command("counts VOTES... --out counts.csv", "seed delta", f.Needs(nil, "out"),
		func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args) })
	f.AddShape(cmd)
	shell.Declare(cmd.Flags(), "counts", shell.To{"join": &f.join, "out": &f.out})
	return cmd
}

func (f *flags) run(cmd *cobra.Command, g *shell.Globals, args []string) error {
	ending := strings.ToLower(filepath.Ext(f.out))
	asNPY := ending == ".npy"
	out := shell.Target{Flag: "--out", Path: f.out, Topic: "votes"}
	if !asNPY && ending != ".csv" {
		return shell.Usagef("votes", "--out %q: must end in .csv or .npy", f.out)
	}
	if err := cmp.Or(out.CheckDistinct("one of the votes files", shell.ExpandPaths(args)...), out.CheckWritable()); err != nil {
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
	if err := f.check(ctx, g, cmd, args, source); err != nil { // most checks are impossible on counts
		return err
	}
	if err := out.Write(0o600, func(w io.Writer) error { return source.WriteCounts(ctx, w, asNPY) }); err != nil {
		return shell.FaultError(err, "votes")
	}
	return f.report(g, result{source.Queries(), source.Teachers(), source.Classes()}, source.ClassNames())
}

func (f *flags) report(g *shell.Globals, r result, names []string) error {
	out := shell.Object{"schema", "pate.counts/1", "queries", r.queries, "teachers", r.teachers, "classes", r.classes,
		"counts", f.out}
	if err := g.Print(out, func(table.Format) table.Table {
		t := shell.TableOf("queries", "teachers", "classes", "<counts")
		t.Rows = [][]string{{fmt.Sprint(r.queries), fmt.Sprint(r.teachers), fmt.Sprint(r.classes), table.Printable(f.out)}}
		return t
	}); err != nil {
		return err
	}
	classes := fmt.Sprintf("--classes %d", r.classes)
	if names != nil {
		var list strings.Builder
		w := csv.NewWriter(&list)
		_ = w.Write(names) // a strings.Builder never fails
		w.Flush()
		classes = "--class-names " + shell.ShellWord(strings.TrimSpace(list.String()))
	}
	g.Logf("keep the counts private: they are as secret as the votes")
	g.Logf("to label with these counts: pate label %s --counts --teachers %d %s --epsilon 2 --ledger run.jsonl --out labels.csv",
		shell.ShellWord(f.out),
		r.teachers, classes)
	return nil
}

func (f *flags) runJoin(ctx context.Context, g *shell.Globals, args []string, out shell.Target, asNPY bool) error {
	opt, err := f.Options()
	if err != nil {
		return err
	}
	if err := shell.Refuse("votes",
		shell.If(!opt.Counts, "--join needs files of counts and --counts; for votes, omit --join and give the votes of all teachers"),
		shell.If(opt.Teachers == 0, "--teachers is required: the number of teachers in all files together")); err != nil {
		return err
	}
	files, err := votes.OpenCounts(ctx, args, opt, f.join == "add")
	if err != nil {
		return shell.FaultError(err, "votes")
	}
	if err := out.Write(0o600, func(w io.Writer) error { return files.Write(ctx, w, asNPY) }); err != nil {
		return shell.FaultError(err, "votes")
	}
	return f.report(g, result{files.Queries(), opt.Teachers, files.Classes()}, opt.ClassNames)
}

func (f *flags) check(ctx context.Context, g *shell.Globals, cmd *cobra.Command, args []string, source *votes.Source) error {
	report, err := source.Check(ctx)
	if err != nil {
		return shell.FaultError(err, "votes")
	}
	if failed := shell.FailedFindings(g, report); failed != nil {
		return shell.FailedVotes(failed[0], "nothing was written; fix what pate votes check reports")
	}
	stated, err := shell.StatedBeside(args)
	if err != nil {
		return err
	}
	return shell.CountedTeachers(report, stated, cmd.Flags().Changed("teachers"))
}
