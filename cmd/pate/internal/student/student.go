// Package student is the command `pate student`, which trains a model on released labels.
package student

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/student"
)

type studentFlags struct {
	data                        shell.DataFlags
	labels, ledger, out, export string
}

func New(g *shell.Globals) *cobra.Command {
	var f studentFlags
	cmd := shell.Command("student PUBLIC", "seed delta", shell.Needs(cobra.ExactArgs(1), "labels", "out"),
		func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args[0]) })
	f.data.Columns.Add(cmd.Flags())
	f.data.AddReading(cmd.Flags())
	shell.Declare(cmd.Flags(), "student", shell.To{"labels": &f.labels, "out": &f.out, "ledger": &f.ledger, "export": &f.export,
		"label-column": &f.data.Label, "unit": &f.data.Unit, "kind": &f.data.Kind})
	shell.CompleteArgs(cmd, shell.Files("csv", "jsonl", "tsv", "gz", "zst", "parquet", "npy"))
	return cmd
}

func (f *studentFlags) check(public string) error {
	inputs := []string{public, f.labels}
	if f.ledger != "" {
		inputs = append(inputs, f.ledger)
	}
	if err := (shell.Target{Flag: "--out", Path: f.out, Topic: "data"}).CheckReplaceable(inputs...); err != nil {
		return err
	}
	if f.export == "" {
		return nil
	}
	if filepath.Ext(f.export) != ".json" {
		return shell.Usagef("data", "--export %s: must end in .json", f.export)
	}
	return shell.Target{Flag: "--export", Path: f.export, Topic: "data"}.CheckReplaceable(append(inputs, f.out)...)
}

func (f *studentFlags) reading() (dataset.Reading, error) {
	opt, err := f.data.Options()
	if err != nil {
		return dataset.Reading{}, err
	}
	return dataset.Reading{CSV: opt.CSV, Rule: opt.Rule, Kind: opt.Kind, Keep: opt.Keep, ImageSize: opt.ImageSize}, nil
}

func (f *studentFlags) run(cmd *cobra.Command, g *shell.Globals, public string) error {
	if err := f.check(public); err != nil {
		return err
	}
	r, err := f.reading()
	if err != nil {
		return err
	}
	schema, pool, err := dataset.ReadPublic(dataset.Source{Path: public, Embeddings: f.data.Columns.Embeddings}, r)
	if err != nil {
		return shell.FaultError(err, "data")
	}
	labels, err := f.readLabels(pool.Len(), schema.Classes)
	if err != nil {
		return shell.FaultError(err, "data")
	}
	var provenance published.Provenance
	if f.ledger != "" {
		if provenance, err = published.Charged(f.ledger, labels.SHA256); err != nil {
			return shell.FaultError(err, "ledger")
		}
	}
	bar := shell.NewProgress(g)
	m, err := published.Train(cmd.Context(), published.Config{
		Schema: schema, Pool: pool, Labels: labels, Provenance: provenance,
		Progress: func(p student.Progress) { bar.Update("student: "+p.Stage, p.Done, p.Total) },
	})
	bar.Clear()
	if err != nil {
		return trainError(err)
	}
	if err := f.write(m); err != nil {
		return err
	}
	if doubt := m.HeldBack.Doubt; doubt != "" {
		g.Warn(doubt)
	}
	format := g.ParsedFormat()
	if format == table.JSON {
		return shell.WriteJSON(g.Stdout, report(m, pool.Len()))
	}
	g.Logf("%s", warning(m.Card))
	if err := tableOf(m, pool.Len(), format).Write(g.Stdout, format); err != nil || format != table.Text {
		return err
	}
	_, err = fmt.Fprint(g.Stdout, "\n", shell.Wrapped("student: "+m.Card.String()), "\n")
	return err
}

func (f *studentFlags) readLabels(pool int, names []string) (published.Labels, error) {
	file, err := durable.OpenRegular(f.labels)
	if err != nil {
		return published.Labels{}, shell.InputError(fmt.Errorf("--labels: %w", err), "", "give the file that pate label wrote", "data")
	}
	defer file.Close()
	return published.ReadLabels(file, pool, nil, names)
}

func (f *studentFlags) write(m *published.Model) error {
	mode := os.FileMode(0o600)
	shell.Put(m.Labels.Releasable, &mode, 0o644)
	if err := m.Save(f.out, mode); err != nil {
		return err
	}
	if f.export == "" {
		return nil
	}
	return durable.WriteFile(f.export, mode, func(w io.Writer) error { return m.Export(w) })
}

func trainError(err error) error {
	if errors.Is(err, student.ErrNoLabels) {
		return shell.InputError(errors.New("no label was released: every query was declined"), "a student has nothing to learn from",
			"release labels under a larger budget, or ask other queries", "mechanisms")
	}
	return shell.FaultError(err, "data")
}

func report(m *published.Model, pool int) shell.Object {
	l := m.Labels
	var epsilon *float64
	if l.Entry > 0 {
		epsilon = &l.Epsilon
	}
	return shell.Object{
		"schema", "pate.student/1", "labels", l.Released, "pool", pool, "kind", m.Card.String(), "classes", m.Classes, "held_back?", held(m),
		"ledger_entry?", l.Entry, "epsilon?", epsilon, "delta?", l.Delta, "unit?", l.Unit, "labels_sha256", l.SHA256,
		"releasable", l.Releasable, "waived?", l.Waived,
	}
}

func held(m *published.Model) *published.HeldBack {
	if m.HeldBack.Labels == 0 && m.HeldBack.Doubt == "" {
		return nil
	}
	return &m.HeldBack
}

func tableOf(m *published.Model, pool int, f table.Format) table.Table {
	epsilon := ""
	if m.Labels.Entry > 0 {
		epsilon = shell.FormatUp(m.Labels.Epsilon, f == table.CSV)
	}
	t := shell.TableOf("labels", "pool", "predicts % of labels held back", "always one class %", "epsilon", "<releasable")
	t.Rows = [][]string{{strconv.Itoa(m.Labels.Released), strconv.Itoa(pool), m.HeldBack.Percent(),
		m.HeldBack.Constant(m.Labels.Released), epsilon, shell.YesNo(m.Labels.Releasable)}}
	if f != table.Text { // on a terminal, the student is described below the table
		t.Header, t.Rows[0], t.Left = append(t.Header, "student"), append(t.Rows[0], m.Card.String()), append(t.Left, true)
	}
	return t
}

func warning(c published.Card) string {
	switch {
	case c.Labels.Releasable:
		return "the model has the guarantee of its labels and may be published"
	case len(c.Labels.Waived) > 0:
		return fmt.Sprintf("NOT releasable: refusals were waived for the labels (%s), so epsilon may be wrong",
			strings.Join(c.Labels.Waived, ", "))
	case c.Labels.Entry > 0:
		return "NOT releasable: the noise of the labels comes from a seed"
	}
	return "not marked as releasable: give --ledger to prove that the labels were released"
}
