package shell

import (
	"fmt"
	"strings"

	"github.com/pate-go/pate/dataset"
)

// PrivateTask reads private rows by a schema of public ones, both read aloud, into a task
// for one private model: all private rows are trained on. Public rows whose label is known
// score, if scored is set.
func PrivateTask(g *Globals, f *PairFlags, private string, scored bool) (dataset.Task, *dataset.Schema, dataset.Pool, error) {
	fail := func(err error) (dataset.Task, *dataset.Schema, dataset.Pool, error) {
		return dataset.Task{}, nil, dataset.Pool{}, FaultError(err, "data")
	}
	reading, err := f.Reading()
	if err != nil {
		return fail(err)
	}
	if err := f.CheckApart(private); err != nil {
		return fail(err)
	}
	schema, pool, err := dataset.ReadPublic(f.PublicSource(), reading)
	if err != nil {
		return fail(err)
	}
	if schema.Encoder != nil {
		var repeated []string
		if !reading.Grouped(f.PrivateSource(private)) {
			repeated = schema.Encoder.Repeated()
		}
		ReadAloud(g, schema.Encoder.Notes(), repeated)
	}
	g.Logf("public rows: %d, of %d features", pool.Len(), schema.Features)
	t, err := schema.ReadTask(f.PrivateSource(private))
	if err != nil {
		return fail(err)
	}
	if scored {
		t.Test = labelled(pool, schema.Classes)
	}
	return t, schema, pool, nil
}

// labelled returns the public rows whose class is known.
func labelled(p dataset.Pool, classes []string) dataset.Set {
	set := dataset.Set{Name: p.Name, Image: p.Image, Classes: classes}
	set.X.Cols, set.X.Stride = p.X.Cols, p.X.Cols
	for i, truth := range p.Truth {
		if truth >= 0 {
			set.X.Rows++
			set.X.Data = append(set.X.Data, p.X.Data[i*p.X.Stride:i*p.X.Stride+p.X.Cols]...)
			set.Y, set.IDs, set.Units = append(set.Y, truth), append(set.IDs, p.IDs[i]), append(set.Units, p.IDs[i])
		}
	}
	return set
}

// maxAloud is the number of columns of which each gets a line; of more, alike ones share one.
const maxAloud = 40

// ReadAloud prints the columns of a table and their use, and warns where one looks as if a person had several
// rows. All of this comes from public rows.
func ReadAloud(g *Globals, notes []dataset.ColumnNote, repeated []string) {
	if len(notes) > 0 {
		g.Logf("columns, as the public rows show them:")
	}
	for _, line := range aloud(notes) {
		g.Logf("  %s", line)
	}
	if len(repeated) > 0 {
		g.Warn(fmt.Sprintf("ids repeat in column %s, and every row counts as a unit of its own; if a person has several rows, name the "+
			"column with --unit",
			strings.Join(repeated, ", ")))
	}
}

// ReadTaskAloud prints the columns of a task, if it is a table, by its pool, and warns where nothing may be
// released.
func ReadTaskAloud(g *Globals, t dataset.Task) {
	if why := t.Withheld(); why != "" {
		g.Warn("not releasable: " + why + " (the ε of a run on the default split covers nothing that is learned or chosen by these rows)")
	}
	if t.Encoder == nil {
		return
	}
	var repeated []string
	if !t.Grouped {
		repeated = t.Encoder.Repeated()
	}
	ReadAloud(g, t.Encoder.Notes(), repeated)
}

func aloud(notes []dataset.ColumnNote) []string {
	var lines []string
	line := func(name string, n dataset.ColumnNote) {
		lines = append(lines, fmt.Sprintf("%-20s %s -> %s", name, n.Is, n.Becomes))
	}
	if len(notes) <= maxAloud {
		for _, n := range notes {
			line(n.Name, n)
		}
		return lines
	}
	for from := 0; from < len(notes); {
		to := from + 1
		for to < len(notes) && notes[to].Is == notes[from].Is && notes[to].Becomes == notes[from].Becomes {
			to++
		}
		name := notes[from].Name
		if to-from > 1 {
			name = fmt.Sprintf("%s to %s (%d)", name, notes[to-1].Name, to-from)
		}
		line(name, notes[from])
		from = to
	}
	if len(lines) > maxAloud {
		lines = append(lines[:maxAloud], fmt.Sprintf("... and %d more lines", len(lines)-maxAloud))
	}
	return lines
}
