// Package nearest is the command `pate votes nearest`, which casts the votes of a silo's private units.
package nearest

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/silos"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/teachers/manifest"
	"github.com/pate-go/pate/student"
)

type flags struct {
	shell.PairFlags
	votes, questions, size int
	ranges                 string
	silo, salt, out        string
}

func New(g *shell.Globals) *cobra.Command {
	var f flags
	cmd := shell.Command("nearest PRIVATE --public PUBLIC --votes M --out silo.counts", "seed delta",
		shell.Needs(cobra.ExactArgs(1), "public", "votes", "out"),
		func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args[0]) })
	f.Add(cmd.Flags())
	f.Complete(cmd)
	shell.Declare(cmd.Flags(), "votes nearest", shell.To{"votes": &f.votes, "questions": &f.questions, "size": &f.size, "ranges": &f.ranges,
		"silo": &f.silo, "salt": &f.salt, "out": &f.out})
	return cmd
}

func (f *flags) outputs() [2]shell.Target {
	return [2]shell.Target{{Flag: "--out", Path: f.out, Topic: "votes"}, {Flag: "--out", Path: manifest.Beside(f.out), Topic: "votes"}}
}

func (f *flags) check(cmd *cobra.Command, private string) error {
	given := cmd.Flags().Changed
	if err := shell.Refuse("votes",
		shell.If(f.votes < 1, "--votes %d: must be at least 1", f.votes),
		shell.If(given("questions") && f.questions < 1, "--questions %d: must be at least 1", f.questions),
		shell.If(given("size") && f.size < 1, "--size %d: must be at least 1", f.size),
		shell.If(f.salt != "" && f.silo == "", "--salt needs --silo: the manifest names the silo"),
		shell.If(f.salt != "" && !given("unit") && !given("units"),
			"--salt needs --unit or --units: without ids of units nothing can be compared with other silos"),
		shell.If(f.salt != "" && f.UnitWord() == "record", "--salt needs --unit: rows without ids cannot be compared")); err != nil {
		return err
	}
	if f.silo != "" {
		if err := manifest.CheckSilo(f.silo); err != nil {
			return shell.UsageError("votes", err)
		}
	}
	for _, out := range f.outputs() {
		if err := cmp.Or(out.CheckDistinct("an input of this command", private, f.Public, f.ranges, f.salt), out.CheckWritable()); err != nil {
			return err
		}
	}
	return f.CheckApart(private)
}

func (f *flags) run(cmd *cobra.Command, g *shell.Globals, private string) error {
	defer shell.CollectAt(30)() // most of the memory is one matrix; a third more is enough
	if err := f.check(cmd, private); err != nil {
		return err
	}
	reading, err := f.Reading(g)
	if err != nil {
		return err
	}
	if f.ranges != "" {
		if reading.Ranges, err = dataset.ReadRanges(f.ranges); err != nil {
			return shell.FaultError(err, "data")
		}
	}
	var salt manifest.Salt
	if f.salt != "" {
		if salt, err = shell.ReadSalt(f.salt); err != nil {
			return err
		}
	}
	bar := shell.NewProgress(g)
	counts, units, err := silos.Cast(cmd.Context(), silos.Casting{Private: f.PrivateSource(private), Public: f.PublicSource(), Reading: reading,
		Unit: f.UnitWord(), Votes: f.votes, Questions: f.questions, Size: f.size, Silo: f.silo, Columns: bar.ReadAloud,
		Progress: func(p student.Progress) { bar.Update("questions: "+p.Stage, p.Done, p.Total) }})
	bar.Clear()
	if err != nil {
		return shell.FaultError(err, "data")
	}
	out := f.outputs()
	beside := ""
	if !salt.IsZero() {
		beside = out[1].Path
		if err := out[1].Write(0o600, func(w io.Writer) error { return counts.WriteUnits(w, salt, units) }); err != nil {
			return err
		}
	}
	if err := out[0].Write(0o600, counts.Write); err != nil {
		return err
	}
	return f.report(g, counts, beside)
}

func (f *flags) report(g *shell.Globals, c *silos.Counts, beside string) error {
	if err := g.Print(shell.Object{"schema", "pate.nearest/1", "private", true, "questions", c.Questions,
		"votes", c.Votes, "classes", c.Classes,
		"unit", c.Unit, "size?", c.Size, "pool", c.Pool, "counts", f.out, "manifest?", beside}, func(table.Format) table.Table {
		t := shell.TableOf("questions", "votes of a unit", "classes", "<unit", "<counts")
		t.Rows = [][]string{{fmt.Sprint(c.Questions), fmt.Sprint(c.Votes), fmt.Sprint(len(c.Classes)), c.Unit, table.Printable(f.out)}}
		return t
	}); err != nil {
		return err
	}
	g.Logf("keep %s private: the counts have no noise", f.out)
	g.Logf("to label with the counts of all silos: pate label silo-*.counts --mechanism %s --epsilon 2 --ledger run.jsonl --out labels.csv",
		silos.Mechanism)
	return nil
}
