package recipe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/dpsgd/charged"
	"github.com/pate-go/pate/internal/mathx"
)

// Model is a trained network with everything that new rows need before it can be asked
// about them. It may be used by many goroutines.
type Model struct {
	Card
	transform *charged.Transform // of features that were learned; else nil
	fixed     features.Extractor // of others
	network   *nn.Model
}

// Card says what a model is and what it cost.
type Card struct {
	Data     string        `json:"data"`     // name of the task
	Features string        `json:"features"` // one of FeatureSets()
	Kind     string        `json:"model"`    // as Recipe.Model
	Columns  int           `json:"columns"`  // of a row, before features are made
	Image    dataset.Shape `json:"image"`    // zero if rows are not images
	Classes  []string      `json:"classes"`
	// Extractor says how features that learn nothing are made.
	Extractor string `json:"extractor,omitempty"`
	// Encoder is how columns of a table become those of a row, fitted on public rows.
	Encoder *dataset.Encoder `json:"encoder,omitempty"`
	// Reading is how rows were read, if that was by public ones: new rows are read alike.
	Reading *dataset.Schema `json:"reading,omitempty"`
	// Epsilon is the certified upper bound for this model alone, absent if nothing was
	// protected; with Delta, for one Unit added or removed.
	Epsilon *float64 `json:"epsilon,omitempty"`
	Delta   float64  `json:"delta,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	// Releasable says whether the model may leave: charged, with cryptographic noise.
	Releasable bool `json:"releasable"`
	// Scored is the hash of the rows that scored, which are public.
	Scored string `json:"scored,omitempty"`
}

// Prediction is the class of a row, the lowest of those with the largest output, and
// the softmax of that output: what the model takes the probability to be.
type Prediction struct {
	Class       int
	Probability float64
}

// ErrRows is matched by errors about rows that do not fit a model.
var ErrRows = errors.New("recipe: the rows do not fit the model")

// Predict returns the class of every row of set, of which X and Image are used: images as
// large as those of the training, in rows of pixels in [0, 1], or what [Model.Rows]
// makes of a table. Rows of another length, images of another size and values that
// are not finite match [ErrRows]. It uses all processors; each class depends on its own
// row alone, and it is what scored in the run.
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

// Rows encodes a table as that of the training was: its columns are found by their
// names, and it may have others. A model of images, or one that was trained on numbers,
// has none to find and returns an error that matches [ErrRows]; what is wrong with the
// table is a [*fault.Error].
func (m *Model) Rows(t *dataset.Table) (dataset.Set, error) {
	if m.Encoder == nil {
		return dataset.Set{}, fmt.Errorf("%w: it is not for tables", ErrRows)
	}
	x, err := m.Encoder.EncodeByName(t)
	if err != nil {
		return dataset.Set{}, fmt.Errorf("recipe: %w", err)
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

// ScoredOn reports whether these are the rows that the model was scored on, with their
// labels: of all rows that it can be asked about, these alone are known to be public.
func (m *Model) ScoredOn(set dataset.Set) bool { return m.Scored == rowsHash(set) }

// rowsHash returns SHA-256 over features, names of classes and image shape, in hexadecimal.
// Units and the order of classes do not count: no answer depends on them.
func rowsHash(set dataset.Set) string {
	named := dataset.Set{X: set.X, Image: set.Image}
	for _, y := range set.Y {
		named.Units = append(named.Units, set.Classes[y])
	}
	return fmt.Sprintf("%x", named.Hash())
}

// predictRows is how many rows have their features in memory at a time.
const predictRows = 2048

// Predictions does what [Model.Predict] does with probabilities.
func (m *Model) Predictions(ctx context.Context, set dataset.Set) ([]Prediction, error) {
	if err := m.fit(set); err != nil {
		return nil, err
	}
	predictions := make([]Prediction, 0, set.X.Rows)
	outputs := blas32.General{Cols: len(m.Classes), Stride: len(m.Classes), Data: make([]float32, min(predictRows, set.X.Rows)*len(m.Classes))}
	for from := 0; from < set.X.Rows; from += predictRows {
		block := dataset.Set{Name: set.Name, Image: set.Image, X: set.X}
		block.X.Rows = min(predictRows, set.X.Rows-from)
		block.X.Data = set.X.Data[from*set.X.Stride:]
		x, err := m.features(ctx, block)
		if err != nil {
			return nil, fmt.Errorf("recipe: %w", err)
		}
		outputs.Rows = x.Rows
		if err := m.network.Logits(ctx, outputs, x); err != nil {
			return nil, fmt.Errorf("recipe: %w", err)
		}
		for i := range x.Rows {
			p, err := predict(outputs.Data[i*outputs.Stride : i*outputs.Stride+outputs.Cols])
			if err != nil {
				return nil, fmt.Errorf("recipe: row %d: %w", from+i, err)
			}
			predictions = append(predictions, p)
		}
	}
	return predictions, nil
}

// fit checks that rows are what the model was trained on.
func (m *Model) fit(set dataset.Set) error {
	x := set.X
	switch {
	case set.Image != m.Image && m.Image == dataset.Shape{}:
		return fmt.Errorf("%w: it is for rows of %d columns, these are images of %dx%d", ErrRows, m.Columns, set.Image.Rows, set.Image.Cols)
	case set.Image != m.Image && set.Image == dataset.Shape{}:
		return fmt.Errorf("%w: it is for images of %dx%d, these are rows of %d columns", ErrRows, m.Image.Rows, m.Image.Cols, x.Cols)
	case set.Image != m.Image:
		return fmt.Errorf("%w: it is for images of %dx%d, these are %dx%d", ErrRows, m.Image.Rows, m.Image.Cols, set.Image.Rows, set.Image.Cols)
	case x.Cols != m.Columns:
		return fmt.Errorf("%w: it is for rows of %d columns, these have %d", ErrRows, m.Columns, x.Cols)
	}
	if err := dense.Check(x); err != nil {
		return fmt.Errorf("%w: %w", ErrRows, err)
	}
	for i := range x.Rows {
		for j, v := range dense.Row(x, i) {
			if !mathx.IsFinite(v) {
				return fmt.Errorf("%w: column %d of row %d is not finite", ErrRows, j+1, i+1)
			}
		}
	}
	return nil
}

func (m *Model) featureColumns() int {
	if m.transform != nil {
		return m.transform.Columns()
	}
	shape := m.Image
	if shape == (dataset.Shape{}) {
		shape = dataset.Shape{Rows: 1, Cols: m.Columns}
	}
	return m.fixed.Dim(shape)
}

func (m *Model) features(ctx context.Context, set dataset.Set) (blas32.General, error) {
	workers := runtime.GOMAXPROCS(0)
	if m.transform != nil {
		return m.transform.Apply(ctx, set, workers)
	}
	return features.Apply(ctx, set, m.fixed, workers)
}

// predict returns the largest output and its softmax, which cannot overflow: all exponents
// are 0 or below.
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

// Accuracy returns the share of rows of set whose class was predicted. Classes are compared
// by name, so the set may have some of the model's or others, which count as wrong;
// known is false where it shares none with the model, or has no rows or labels.
func (m *Model) Accuracy(classes []int, set dataset.Set) (accuracy float64, known bool) {
	of := make([]int, len(set.Classes)) // the model's number of a class
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
