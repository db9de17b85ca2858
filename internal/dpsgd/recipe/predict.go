package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/plain"
)

type Model struct {
	Card
	made    charged.Extraction
	network *nn.Model
}

// Card describes a model and its privacy cost.
type Card struct {
	Data      string        `json:"data"`     // name of the task
	Features  string        `json:"features"` // one of FeatureSets()
	Kind      string        `json:"model"`    // as Recipe.Model
	Columns   int           `json:"columns"`  // number of columns of a row before feature extraction
	Image     dataset.Shape `json:"image"`    // zero if rows are not images
	Classes   []string      `json:"classes"`
	Extractor string        `json:"extractor,omitempty"` // name of the extractor; empty for features with statistics
	// Encoder encodes the columns of a table. It was fitted on public rows.
	Encoder *dataset.Encoder `json:"encoder,omitempty"`
	// Reading is the schema for reading files of new rows. Reading was made from public rows and may be nil.
	Reading *dataset.Schema `json:"reading,omitempty"`
	// Epsilon is a certified upper bound on this model's epsilon at Delta. Other releases are not included.
	// Neighbouring data sets differ by one added or removed Unit. For a model without privacy, Epsilon is
	// nil.
	Epsilon *float64 `json:"epsilon,omitempty"`
	Delta   float64  `json:"delta,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	// Releasable reports whether the training was charged and used cryptographic noise.
	Releasable bool   `json:"releasable"`
	Scored     string `json:"scored,omitempty"` // hash of the public test rows
}

// Prediction holds the class with the largest output, and the softmax probability of this class. In a tie,
// the lowest class wins.
type Prediction struct {
	Class       int
	Probability float64
}

// ErrRows matches errors about rows that are unsuitable for a model.
var ErrRows = errors.New("recipe: the rows do not fit the model")

// Predict returns the class of every row of set. Images must have the size of the training images, with
// pixels in [0, 1]. Rows of a table must come from [Model.Rows]. The class of a row depends only on this row.
// Errors about sizes and non-finite values match [ErrRows].
func (m *Model) Predict(ctx context.Context, set dataset.Set) ([]int, error) {
	predictions, err := m.Predictions(ctx, set)
	if err != nil {
		return nil, err
	}
	classes := make([]int, len(predictions))
	for i, p := range predictions {
		classes[i] = p.Class
	}
	return classes, nil
}

// Rows encodes a table. It finds the columns of the training table by name, and ignores other columns. If the
// model is not for tables, the error matches [ErrRows]. An error about the table is a [*fault.Error].
func (m *Model) Rows(t *dataset.Table) (dataset.Set, error) {
	if m.Encoder == nil {
		return dataset.Set{}, fmt.Errorf("%w: it is not for tables", ErrRows)
	}
	x, err := m.Encoder.EncodeByName(t)
	if err != nil {
		return dataset.Set{}, wrapped(err)
	}
	set := dataset.Set{Name: t.Name, X: x, Units: t.Units, Classes: t.Labels, Provenance: t.Provenance}
	for i := range x.Rows {
		set.IDs = append(set.IDs, strconv.Itoa(i+1))
	}
	if len(t.Labels) > 0 {
		set.Y = t.Y
	}
	return set, nil
}

// ScoredOn reports whether set holds the public labelled rows on which the model was tested.
func (m *Model) ScoredOn(set dataset.Set) bool { return m.Scored == rowsHash(set) }

func rowsHash(set dataset.Set) string {
	named := set
	named.Y, named.Units, named.LeftOut, named.Classes = nil, nil, nil, nil
	for _, y := range set.Y {
		named.Units = append(named.Units, set.Classes[y])
	}
	return fmt.Sprintf("%x", named.Hash())
}

const predictRows = 2048

// Predictions is like [Model.Predict] but also returns probabilities.
func (m *Model) Predictions(ctx context.Context, set dataset.Set) ([]Prediction, error) {
	if err := m.fit(set); err != nil {
		return nil, err
	}
	predictions := make([]Prediction, 0, set.X.Rows)
	memory := dense.New(min(predictRows, set.X.Rows), len(m.Classes))
	for from := 0; from < set.X.Rows; from += predictRows {
		to := min(from+predictRows, set.X.Rows)
		block := dataset.Set{Name: set.Name, Image: set.Image, X: dense.Rows(set.X, from, to)}
		x, err := m.made.Apply(ctx, block)
		if err != nil {
			return nil, wrapped(err)
		}
		outputs := dense.Rows(memory, 0, to-from)
		if err := m.network.Logits(ctx, outputs, dpsgd.Data{X: x}); err != nil {
			return nil, wrapped(err)
		}
		for i := range x.Rows {
			p, err := predict(dense.Row(outputs, i))
			if err != nil {
				return nil, fmt.Errorf("recipe: row %d: %w", from+i, err)
			}
			predictions = append(predictions, p)
		}
	}
	return predictions, nil
}

func (m *Model) fit(set dataset.Set) error {
	x, is, want := set.X, set.Image, m.Image
	switch {
	case is != want && want == dataset.Shape{}:
		return fmt.Errorf("%w: it is for rows of %d columns, these are images of %dx%d", ErrRows, m.Columns, is.Rows, is.Cols)
	case is != want && is == dataset.Shape{}:
		return fmt.Errorf("%w: it is for images of %dx%d, these are rows of %d columns", ErrRows, want.Rows, want.Cols, x.Cols)
	case is != want:
		return fmt.Errorf("%w: it is for images of %dx%d, these are %dx%d", ErrRows, want.Rows, want.Cols, is.Rows, is.Cols)
	case x.Cols != m.Columns:
		return fmt.Errorf("%w: it is for rows of %d columns, these have %d", ErrRows, m.Columns, x.Cols)
	}
	if err := dense.Check(x); err != nil {
		return fmt.Errorf("%w: %w", ErrRows, err)
	}
	for i := range x.Rows {
		if j := slices.IndexFunc(dense.Row(x, i), func(v float32) bool { return !mathx.IsFinite(v) }); j >= 0 {
			return fmt.Errorf("%w: column %d of row %d is not finite", ErrRows, j+1, i+1)
		}
	}
	return nil
}

func (m *Model) featureColumns() int { return m.made.Columns(m.Image, m.Columns) }

func predict(outputs []float32) (Prediction, error) {
	best, err := dense.Largest(outputs)
	if err != nil {
		return Prediction{}, err
	}
	sum := 0.0
	for _, v := range outputs {
		sum += math.Exp(float64(v) - float64(outputs[best]))
	}
	return Prediction{Class: best, Probability: 1 / sum}, nil
}

// Accuracy returns the fraction of rows of set with a right prediction. Classes are compared by name. A row
// counts as wrong if the model does not have the class of this row. If set has no labels, or if set and the
// model have no class in common, known is false.
func (m *Model) Accuracy(classes []int, set dataset.Set) (accuracy float64, known bool) {
	of := make([]int, len(set.Classes)) // index of each class in the model
	for k, name := range set.Classes {
		of[k] = slices.Index(m.Classes, name)
		known = known || of[k] >= 0
	}
	if !known || len(set.Y) == 0 || len(set.Y) != len(classes) {
		return 0, false
	}
	right := 0
	for i, y := range set.Y {
		if of[y] == classes[i] {
			right++
		}
	}
	return float64(right) / float64(len(classes)), true
}

// FileOfChosen returns the file of a model that was chosen among several models. The argument `epsilon`
// includes the cost of the choice, and `scored` holds the public test rows.
func (m *Model) FileOfChosen(epsilon, delta float64, scored dataset.Set) ([]byte, error) {
	chosen := *m
	chosen.Epsilon, chosen.Delta, chosen.Scored = &epsilon, delta, rowsHash(scored)
	return chosen.bytes()
}

// Plain returns a linear model in the format of package plain. Its probabilities equal the probabilities of
// [Model.Predictions], up to rounding. If m is not linear, ok is false.
func (m *Model) Plain() (p plain.Model, ok bool) {
	if m.Kind != Linear {
		return p, false
	}
	columns, parameters := m.featureColumns(), m.network.Parameters()
	l := &plain.Linear{
		Weights: plain.Widen(parameters, len(m.Classes), columns, columns),
		Bias:    plain.Wide(parameters[columns*len(m.Classes):]),
	}
	for c := range m.Classes {
		l.Classes = append(l.Classes, c)
	}
	return plain.Model{Linear: l}, true
}

// Transform returns the transform with the charged statistics, or nil if the features use no charged
// statistics.
func (m *Model) Transform() *charged.Transform { return m.made.Transform }
