package teachers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/pate-go/pate/internal/dense"
)

// Softmax is multinomial logistic regression. From zero, L-BFGS minimises
//
//	(1/n) Σ -log p(yᵢ | xᵢ) + L2/2 (|W|² + |b|²),  p(c | x) ∝ exp(W_c x + b_c)
//
// The problem is strictly convex, so the data determine the model. The learner uses no random numbers and is
// Reproducible. Softmax never predicts a class that is missing from the training data.
type Softmax struct {
	L2         float64 // weight of the penalty, for a loss averaged over examples; positive, 0 means 1e-3
	Iterations int     // maximum number of steps, 0 means 100
}

const gradientTolerance = 1e-4

func (Softmax) Reproducible() bool { return true }

func (l Softmax) Fit(ctx context.Context, data Dataset, _ *rand.Rand) (Classifier, error) {
	l.L2, l.Iterations = cmp.Or(l.L2, 1e-3), cmp.Or(l.Iterations, 100)
	if !(l.L2 > 0) || math.IsInf(l.L2, 1) {
		return nil, fmt.Errorf("teachers: Softmax.L2 is %v, want a positive number", l.L2)
	}
	if l.Iterations < 0 {
		return nil, fmt.Errorf("teachers: Softmax.Iterations is %d, want a positive number", l.Iterations)
	}
	if c, err := begin(ctx, "softmax", data); c != nil || err != nil {
		return c, err
	}
	present, index := dense.Present[int](data.Y, data.Classes)
	loss := newSoftmaxLoss(data.X, index, len(present), l.L2)
	w := make([]float64, len(present)*(data.X.Cols+1))
	if err := minimise(ctx, loss.valueGradient, w, l.Iterations, gradientTolerance); err != nil {
		return nil, fmt.Errorf("teachers: softmax: %w", err)
	}
	loss.load(w)
	m := &softmaxModel{w: loss.w, bias: loss.bias}
	m.ScoreModel = ScoreModel{Name: "teachers", Features: data.X.Cols, Classes: data.Classes, Present: present, Score: m.score}
	return m, nil
}

type softmaxLoss struct {
	x     Matrix
	y     []int
	l2    float64
	w     Matrix // classes x features
	bias  []float32
	delta Matrix // examples x classes; first logits, then p - onehot
	dw    Matrix
	dbias []float64
}

func newSoftmaxLoss(x Matrix, y []int, classes int, l2 float64) *softmaxLoss {
	return &softmaxLoss{
		x: x, y: y, l2: l2,
		w: dense.New(classes, x.Cols), bias: make([]float32, classes),
		delta: dense.New(x.Rows, classes),
		dw:    dense.New(classes, x.Cols), dbias: make([]float64, classes),
	}
}

func (s *softmaxLoss) load(w []float64) {
	for i := range s.w.Data {
		s.w.Data[i] = float32(w[i])
	}
	for i := range s.bias {
		s.bias[i] = float32(w[len(s.w.Data)+i])
	}
}

func (s *softmaxLoss) valueGradient(grad, w []float64) float64 {
	s.load(w)
	dense.MulBT(s.delta, s.x, s.w)
	clear(s.dbias)
	var loss float64
	for i, y := range s.y {
		d := dense.Row(s.delta, i)
		for c := range d {
			d[c] += s.bias[c]
		}
		top := d[dense.Argmax(d)]
		own := float64(d[y] - top)
		softmaxRow(d)
		// The loss is log Σ exp(d - top) - own = -log p_y. If p_y underflows to 0, use the finite value -own.
		if d[y] > 0 {
			own = math.Log(float64(d[y]))
		}
		loss -= own
		d[y]--
		for c, v := range d {
			s.dbias[c] += float64(v)
		}
	}
	clear(s.dw.Data)
	dense.AddATB(s.dw, s.delta, s.x)
	n := float64(s.x.Rows)
	loss /= n
	for i, v := range s.dw.Data {
		grad[i] = float64(v)/n + s.l2*w[i]
	}
	for c, v := range s.dbias {
		k := len(s.dw.Data) + c
		grad[k] = v/n + s.l2*w[k]
	}
	var square float64
	for _, v := range w {
		square += v * v
	}
	return loss + s.l2/2*square
}

type softmaxModel struct {
	ScoreModel
	w    Matrix
	bias []float32
}

func (m *softmaxModel) score(dst, x Matrix) error {
	dense.MulBT(dst, x, m.w)
	for i := range dst.Rows {
		d := dense.Row(dst, i)
		for c := range d {
			d[c] += m.bias[c]
		}
		softmaxRow(d)
	}
	return nil
}

// minimise minimises a convex function by limited-memory BFGS, starting at x and overwriting x.
func minimise(ctx context.Context, f func(grad, x []float64) float64, x []float64, steps int, tolerance float64) error {
	// The function f returns its value at x and sets grad to its gradient. The descent ends when the largest
	// gradient entry is at most tolerance times its first value, when rounding keeps f from decreasing, or
	// after the given number of steps. It fails only if ctx ends.
	at, grad := slices.Clone(x), make([]float64, len(x))
	value := f(grad, at)
	move := func(to []float64) {
		if !slices.Equal(at, to) {
			copy(at, to)
			value = f(grad, at)
		}
	}
	problem := optimize.Problem{
		Func: func(to []float64) float64 { move(to); return value },
		Grad: func(dst, to []float64) { move(to); copy(dst, grad) },
		Status: func() (optimize.Status, error) {
			if err := ctx.Err(); err != nil {
				return optimize.Failure, err
			}
			return optimize.NotTerminated, nil
		},
	}
	settings := &optimize.Settings{
		MajorIterations: steps, Converger: optimize.NeverTerminate{},
		GradientThreshold: tolerance * floats.Norm(grad, math.Inf(1)),
	}
	end, _ := optimize.Minimize(problem, x, settings, &optimize.LBFGS{GradStopThreshold: math.NaN()})
	if end != nil {
		copy(x, end.X)
	}
	return ctx.Err()
}
