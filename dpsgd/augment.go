package dpsgd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/rng"
)

// Transform draws random views of a record: an image moved or mirrored, say.
type Transform interface {
	// Draw picks a transformation from public randomness. The function it returns sets dst
	// to the view of src. Both have the columns of the data. The view depends on what was
	// drawn and on the contents of src, and on nothing else.
	Draw(rnd *rand.Rand) func(dst, src []float32)
	// Check returns an error that says what makes data unusable.
	Check(data Data) error
	// Fingerprint returns bytes that name every setting.
	Fingerprint() []byte
}

// Augment returns a model that is trained on several views of every record (augmentation
// multiplicity; De et al. 2022). The gradient of a record is the mean of the gradients of
// its views, and this mean is clipped. So a record's share of the sum is bounded as without
// views, and the charge is the same. Clipping each view and adding them up would cost views
// times the sensitivity.
//
// The transformations of a step are the same for all records. They come from public
// randomness: a function of the seed and of the parameters, which were released. So what a
// record contributes stays a function of public state and of that record alone, and an
// interrupted run meets the same views. Time grows with views. Memory does not grow with
// the batch.
//
// The losses in a Tally are means over the views. The groups are those of model, if it has
// any. Prediction is that of model.
func Augment(model Model, views int, transform Transform, seed uint64) (Model, error) {
	if model == nil || transform == nil {
		return nil, errors.New("dpsgd: augmentation needs a model and a transform")
	}
	if views < 1 || views > MaxRows {
		return nil, fmt.Errorf("dpsgd: %d views of a record, must be in [1, %d]", views, MaxRows)
	}
	return &augmented{Model: model, views: views, transform: transform, seed: seed}, nil
}

type augmented struct {
	Model
	views     int
	transform Transform
	seed      uint64
}

// Check implements [Model].
func (a *augmented) Check(data Data) error {
	return firstError(a.transform.Check(data), a.Model.Check(data))
}

// Fingerprint implements [Model].
func (a *augmented) Fingerprint() []byte {
	own, way := a.Model.Fingerprint(), a.transform.Fingerprint()
	b := fmt.Appendf(nil, "augment %d %d %T %d %T %d ", a.views, a.seed, a.Model, len(own), a.transform, len(way))
	return append(append(b, own...), way...)
}

// Groups implements [Grouped]. A model without groups is one group.
func (a *augmented) Groups() []int { return groupsOf(a.Model) }

// Predict implements [Predictor].
func (a *augmented) Predict(ctx context.Context, dst []int, x blas32.General) error {
	p, ok := a.Model.(Predictor)
	if !ok {
		return fmt.Errorf("dpsgd: a %T does not predict", a.Model)
	}
	return p.Predict(ctx, dst, x)
}

// Worker implements [Model].
func (a *augmented) Worker() Worker {
	w := &augmentedWorker{model: a, meanWorker: newMeanWorker(a.Model)}
	for i := range a.views {
		w.rows = append(w.rows, i)
	}
	return w
}

type augmentedWorker struct {
	meanWorker
	model *augmented
	draws []func(dst, src []float32) // of the step, one a view
	rows  []int                      // 0, 1, ... views-1
	views Data                       // of one record
}

// Start implements [Worker].
func (w *augmentedWorker) Start() {
	w.inner.Start()
	h := sha256.Sum256(sealed.Append(nil, w.model.Parameters()))
	key := rng.SeedKey(w.model.seed).DeriveBytes("augment", h[:])
	w.draws = w.draws[:0]
	for view := range w.model.views {
		rnd := rand.New(key.Derive("view", uint64(view)).Stream())
		w.draws = append(w.draws, w.model.transform.Draw(rnd))
	}
}

// AddClipped implements [Worker]; see meanWorker.
func (w *augmentedWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally {
	return w.addMeans(sum, rows, clip, func(r int) (Data, []int) {
		w.load(data, r)
		return w.views, w.rows
	})
}

// load fills in the views of record r.
func (w *augmentedWorker) load(data Data, r int) {
	n := len(w.rows)
	v := &w.views
	if v.X.Cols != data.X.Cols {
		v.X = blas32.General{Rows: n, Cols: data.X.Cols, Stride: data.X.Cols, Data: make([]float32, n*data.X.Cols)}
	}
	if c := data.Targets.Cols; data.Targets.Rows == 0 {
		v.Targets = blas32.General{}
	} else if v.Targets.Cols != c {
		v.Targets = blas32.General{Rows: n, Cols: c, Stride: c, Data: make([]float32, n*c)}
	}
	v.Y = v.Y[:0]
	for i, draw := range w.draws {
		draw(dense.Row(v.X, i), dense.Row(data.X, r))
		if data.Targets.Rows > 0 {
			copy(dense.Row(v.Targets, i), dense.Row(data.Targets, r))
		}
		if len(data.Y) > 0 {
			v.Y = append(v.Y, data.Y[r])
		}
	}
}
