package shell

import (
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
		if !f.Grouped() {
			repeated = schema.Encoder.Repeated()
		}
		ReadAloud(g, schema.Encoder.Notes(), repeated)
	}
	g.Logf("public rows: %d, of %d features", pool.Len(), schema.Features)
	set, err := schema.ReadPrivate(f.PrivateSource(private))
	if err != nil {
		return fail(err)
	}
	t := dataset.Task{Name: set.Name, Kind: schema.Kind, Private: set, Classes: schema.Classes, Image: schema.Image, Grouped: f.Grouped(),
		Provenance: set.Provenance, Encoder: schema.Encoder}
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
