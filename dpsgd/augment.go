package dpsgd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/rng"
)

// Transform draws random views of a record, for example a shifted or mirrored image.
type Transform interface {
	// Draw chooses a transformation with public randomness. The returned function writes the transformed row
	// src to dst. The contents of dst depend only on this choice and on src. Both slices have one element per
	// column of X.
	Draw(rnd *rand.Rand) func(dst, src []float32)
	// Check returns an error if data cannot be transformed.
	Check(data Data) error
	// Fingerprint identifies all settings of the transform.
	Fingerprint() []byte
}

// Augment returns a model that trains on several views of every record (augmentation multiplicity, De et al.
// 2022). The model clips the mean of the gradients of a record's views. So a record's contribution has the
// same bound as without views, and the charge is the same.
//
// All records of a step use the same transformations. These depend only on seed and on the model's parameters
// at this step. The seed and the parameters are public, so a contribution depends only on public state and on
// one record. A resumed run uses the same views.
//
// The loss of a record is the mean over its views. Groups and predictions come from model.
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

func (a *augmented) Check(data Data) error {
	return cmp.Or(a.transform.Check(data), a.Model.Check(data))
}

func (a *augmented) Fingerprint() []byte {
	own, way := a.Model.Fingerprint(), a.transform.Fingerprint()
	b := fmt.Appendf(nil, "augment %d %d %T %d %T %d ", a.views, a.seed, a.Model, len(own), a.transform, len(way))
	return append(append(b, own...), way...)
}

func (a *augmented) Groups() []int { return groupsOf(a.Model) }

func (a *augmented) Predict(ctx context.Context, dst []int, data Data) error {
	p, ok := a.Model.(Predictor)
	if !ok {
		return fmt.Errorf("dpsgd: a %T does not predict", a.Model)
	}
	return p.Predict(ctx, dst, data)
}

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
	draws []func(dst, src []float32) // of the step, one per view
	rows  []int                      // 0, 1, ... views-1
	views Data                       // of one record
}

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

func (w *augmentedWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) Tally {
	return w.addMeans(sum, rows, clip, func(r int) (Data, []int) {
		w.load(data, r)
		return w.views, w.rows
	})
}

func (w *augmentedWorker) load(data Data, r int) {
	n, v := len(w.rows), &w.views
	if v.X.Cols != data.X.Cols {
		v.X = dense.New(n, data.X.Cols)
	}
	if data.Targets.Rows == 0 {
		v.Targets = blas32.General{}
	} else if v.Targets.Cols != data.Targets.Cols {
		v.Targets = dense.New(n, data.Targets.Cols)
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

// Shift moves images by a random number of pixels, vertically and horizontally. Pixels that enter at a border
// are zero. A row of the data is one image of Planes x Rows x Cols pixels. All planes move together.
type Shift struct {
	Planes, Rows, Cols int
	By                 int // largest shift in each direction, in pixels, at least 0
	// Flip mirrors left and right with probability one half.
	Flip bool
}

func (s Shift) Check(data Data) error {
	switch {
	case s.Planes < 1 || s.Rows < 1 || s.Cols < 1:
		return errors.New("dpsgd: Shift needs positive Planes, Rows and Cols")
	case s.By < 0 || s.By >= min(s.Rows, s.Cols):
		return fmt.Errorf("dpsgd: Shift.By is %d, must be at least 0 and less than the image is wide and high", s.By)
	case s.Planes*s.Rows*s.Cols != data.X.Cols:
		return fmt.Errorf("dpsgd: Shift is for %d x %d x %d pixels, the data has %d columns", s.Planes, s.Rows, s.Cols, data.X.Cols)
	}
	return nil
}

func (s Shift) Fingerprint() []byte { return fmt.Appendf(nil, "%+v", s) }

func (s Shift) Draw(rnd *rand.Rand) func(dst, src []float32) {
	down, right := rnd.IntN(2*s.By+1)-s.By, rnd.IntN(2*s.By+1)-s.By
	flip := s.Flip && rnd.IntN(2) == 1
	return func(dst, src []float32) { s.move(dst, src, down, right, flip) }
}

func (s Shift) move(dst, src []float32, down, right int, flip bool) {
	clear(dst)
	for y := max(0, down); y < min(s.Rows, s.Rows+down); y++ {
		for p := range s.Planes {
			to := dst[(p*s.Rows+y)*s.Cols:][:s.Cols]
			from := src[(p*s.Rows+y-down)*s.Cols:][:s.Cols]
			if right >= 0 {
				copy(to[right:], from)
			} else {
				copy(to, from[-right:])
			}
			if flip {
				slices.Reverse(to)
			}
		}
	}
}
