package predict

import (
	"context"
	"fmt"
	"slices"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/namedsets"
)

const (
	schemaStudent = "pate.student-predict/1"
	schemaDPSGD   = "pate.dpsgd-predict/1"
)

// askDPSGD asks a model of DP-SGD.
func (f *flags) askDPSGD(ctx context.Context, path string) (report, []answer, []string, error) {
	m, err := recipe.OpenModel(path)
	if err != nil {
		return report{}, nil, nil, err
	}
	set, err := f.rows(m)
	if err != nil {
		return report{}, nil, nil, err
	}
	predictions, err := m.Predictions(ctx, set)
	if err != nil {
		return report{}, nil, nil, err
	}
	public := f.public || m.ScoredOn(set)
	r := report{Schema: schemaDPSGD, Model: path, Kind: m.Kind, Features: m.Features, Trained: m.Data, Data: set.Name, Rows: len(predictions),
		Epsilon: m.Epsilon, Delta: m.Delta, Unit: m.Unit, PublicRows: &public, trusted: m.Releasable, public: public}
	var answers []answer
	classes := make([]int, len(predictions))
	for i, p := range predictions {
		classes[i] = p.Class
		a := answer{Row: set.IDs[i], Label: m.Classes[p.Class]}
		if f.probability {
			a.Probability = &p.Probability
		}
		answers = append(answers, a)
	}
	if accuracy, known := m.Accuracy(classes, set); known {
		r.Accuracy = &accuracy
	}
	if f.probability {
		return r, answers, []string{"probability"}, nil
	}
	return r, answers, nil, nil
}

// rows returns the rows that the model is asked about: without --scored all rows of a table or a matrix, and
// the test rows of images.
func (f *flags) rows(m *recipe.Model) (dataset.Set, error) {
	opt, err := f.data.Options()
	if err != nil {
		return dataset.Set{}, err
	}
	named := slices.Contains(namedsets.Names(), f.data.Data)
	if !named && opt.Rule.Names == nil { // other labels count as wrong
		opt.Rule.Names = m.Classes
		if opt.Rule.Other == "" {
			opt.Rule.Other = noClass(m.Classes)
		}
	}
	switch {
	case f.scored || named:
	case m.Encoder != nil:
		opt.CSV.Unlabelled, opt.CSV.Expect = f.data.Label == "", m.Encoder.Columns()
		data, err := namedsets.Open(f.data.Data, opt)
		if err != nil {
			return dataset.Set{}, shell.FaultError(err, "data")
		}
		set, err := m.Rows(data.Table)
		return set, shell.FaultError(err, "data")
	case m.Reading != nil:
		set, err := newRows(m.Reading, dataset.Source{Path: f.data.Data, Labels: f.data.Labels})
		return set, shell.FaultError(err, "data")
	}
	task, err := f.data.TaskOf(opt)
	if err != nil {
		return dataset.Set{}, err
	}
	all := task.WithoutPool().Test
	for _, set := range []dataset.Set{all, task.Test} { // of a comparison or a search the pool does not score
		if m.ScoredOn(set) {
			return set, nil
		}
	}
	// Rows other than images may have other scales than in the training.
	if m.Image == task.Image && (f.scored || m.Image == dataset.Shape{}) {
		return dataset.Set{}, shell.InputError(fmt.Errorf("the test rows of %s are not those that scored in the training", f.data.Data),
			"private rows may be among them, and their columns may be scaled otherwise",
			"repeat the flags about data of the training; of a table all rows are asked about without --scored", "data")
	}
	return all, nil
}

// newRows reads rows as the rows of the training were read. Their labels are taken where all are known.
func newRows(reading *dataset.Schema, from dataset.Source) (dataset.Set, error) {
	pool, err := reading.ReadNew(from)
	if err != nil {
		return dataset.Set{}, err
	}
	set := dataset.Set{Name: pool.Name, X: pool.X, Image: pool.Image, IDs: pool.IDs, Classes: reading.Classes}
	if !slices.Contains(pool.Truth, -1) {
		set.Y = pool.Truth
	}
	return set, nil
}

// noClass returns a name that no class has.
func noClass(classes []string) string {
	name := "none of the model's"
	for slices.Contains(classes, name) {
		name += "'"
	}
	return name
}
