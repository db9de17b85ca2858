package student

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/trees"
)

const (
	logisticRegression = "logistic regression"
	randomForest       = "random forest"
	randomisedTrees    = "extremely randomised trees"
	kernelRidge        = "kernel ridge"
	labelSpreading     = "label spreading"
	denoising          = "ridge on its own answers"
)

// TableCandidates returns the students to compare on a table: logistic regression, two forests and a kernel
// ridge. If pool is not nil, the student of [Pool.Fit] is added. The candidates must then train on the rows
// of the pool.
func TableCandidates(pool *Pool) []Candidate {
	out := []Candidate{
		logistic(),
		supervised(randomForest, func(teachers.Dataset) teachers.Learner { return trees.Forest{} }),
		supervised(randomisedTrees, func(teachers.Dataset) teachers.Learner {
			return trees.Forest{Thresholds: trees.RandomThresholds}
		}),
		{Name: kernelRidge, Fit: fitKernelRidge},
	}
	if pool != nil {
		out = append(out, Candidate{Name: labelSpreading, Fit: pool.rough().fit})
	}
	return out
}

// ImageCandidates returns the students to compare on features of images. The first is the student of
// [Pool.Fit]. To save time, cross-validation trains this student with fewer landmarks, slightly less
// accurately. The others are a kernel ridge and a logistic regression. They train on labelled rows, projected
// if there are many columns.
func ImageCandidates(pool *Pool) []Candidate { return pool.imageCandidates(Matrix{}) }

func (p *Pool) imageCandidates(z Matrix) []Candidate {
	out := []Candidate{
		{Name: labelSpreading, Fit: p.fit, Try: p.rough().fit},
		p.projected(Candidate{Name: kernelRidge, Fit: fitKernelRidge}, z),
		p.projected(logistic(), z),
	}
	if z.Rows > 0 {
		out[0].Try, out[0].of = p.rough().fitProjected, z
	}
	return out
}

func (p *Pool) fit(ctx context.Context, _ Matrix, labels []int, classes int, _ *rand.Rand) (teachers.Classifier, error) {
	return p.Fit(ctx, labels, classes)
}

func (p *Pool) fitProjected(ctx context.Context, _ Matrix, labels []int, classes int, _ *rand.Rand) (teachers.Classifier, error) {
	c, err := p.Fit(ctx, labels, classes)
	if err != nil {
		return nil, err
	}
	return c.(*model).ofProjections(), nil
}

func logistic() Candidate {
	return supervised(logisticRegression, func(data teachers.Dataset) teachers.Learner {
		return teachers.Softmax{L2: 1 / float64(max(1, len(data.Y)))}
	})
}

func supervised(name string, learner func(teachers.Dataset) teachers.Learner) Candidate {
	fit := func(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
		data, err := labelledPart(x, labels, classes)
		if err != nil {
			return nil, err
		}
		return learner(data).Fit(ctx, data, rnd)
	}
	return Candidate{Name: name, Fit: fit}
}

const (
	kernelRidgeLambda = .1   // ridge penalty, relative to the kernel's diagonal of 1
	kernelRidgeRows   = 3000 // largest number of labels for a kernel ridge, since time grows with its cube
)

func fitKernelRidge(_ context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
	labelled, present, err := released(labels, x.Rows, classes)
	if err != nil {
		return nil, err
	}
	if len(labelled) > kernelRidgeRows {
		rnd.Shuffle(len(labelled), func(i, j int) { labelled[i], labelled[j] = labelled[j], labelled[i] })
		labelled = labelled[:kernelRidgeRows]
	}
	data := gather(x, labels, labelled, classes)
	if err := checkMatrix(data.X); err != nil {
		return nil, err
	}
	gamma := float32(1 / meanSquaredDistance(data.X))
	r := &ridge{rbf: dense.RBF{Gamma: gamma}, landmarks: data.X, norms: dense.SquaredNorms(data.X)}
	if err := r.interpolate(data.Y, columns(present, classes), len(present), kernelRidgeLambda); err != nil {
		return nil, err
	}
	return (&model{ridge: r}).of(classes, present), nil
}

func meanSquaredDistance(x Matrix) float64 {
	sum := 0.
	for j := range x.Cols {
		var mean, square float64
		for i := range x.Rows {
			v := float64(x.Data[i*x.Stride+j])
			mean += v / float64(x.Rows)
			square += v * v / float64(x.Rows)
		}
		sum += 2 * max(0, square-mean*mean)
	}
	if sum < 1e-30 || sum > 1e30 {
		return 1
	}
	return sum
}

const roughLandmarks = 300

func (p *Pool) rough() *Pool {
	rough := *p
	rough.landmarks = nil
	step := max(1, len(p.landmarks)/roughLandmarks)
	for i := 0; i < len(p.landmarks); i += step {
		rough.landmarks = append(rough.landmarks, p.landmarks[i])
	}
	rough.config.Progress = func(Progress) {}
	return &rough
}

const projectFrom = 4

// Projected returns the number of features from which image candidates learn. For long rows, this is the
// number of principal directions.
func Projected(columns int) int {
	if columns >= projectFrom*defaultComponents {
		return defaultComponents
	}
	return columns
}

func (p *Pool) projected(c Candidate, z Matrix) Candidate {
	if len(p.projection.mean) < projectFrom*p.projection.directions.Cols {
		return c
	}
	fit := c.Fit
	if z.Rows > 0 {
		c.Try, c.of = fit, z
	}
	c.Fit = func(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
		z := z
		if z.Rows == 0 {
			data, err := labelledPart(x, labels, classes)
			if err != nil {
				return nil, err
			}
			if z, err = p.projection.apply(ctx, data.X); err != nil {
				return nil, err
			}
			labels = data.Y
		}
		m, err := fit(ctx, z, labels, classes, rnd)
		if err != nil {
			return nil, err
		}
		return &projectedModel{p.projection, m.(member)}, nil
	}
	return c
}

type projectedModel struct {
	projection *projection
	of         member
}

func (m *projectedModel) Predict(dst []int, x Matrix) error {
	return m.answer(dst, x, func(z Matrix) error { return m.of.Predict(dst, z) })
}

func (m *projectedModel) Scores(dst, x Matrix) error {
	return m.answer(make([]int, x.Rows), x, func(z Matrix) error { return m.of.Scores(dst, z) })
}

func (m *projectedModel) answer(dst []int, x Matrix, of func(z Matrix) error) error {
	if err := teachers.ValidateQueries(dst, x, len(m.projection.mean)); err != nil {
		return err
	}
	z, err := m.projection.apply(context.Background(), x)
	if err != nil {
		return err
	}
	if err := of(z); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}

func (m *projectedModel) Plain() *plain.Model {
	// A kernel model includes the projection. A linear model has weights of the original features. Unlike the
	// model, the data do not clip features that are far from the pool's mean.
	p, of := m.projection, m.of.(plain.Describer).Plain()
	if k := of.Kernel; k != nil {
		p.describe(k)
	}
	if l := of.Linear; l != nil {
		for k, onto := range l.Weights {
			weights := make([]float64, len(p.mean))
			for i := range weights {
				for j, d := range dense.Row(p.directions, i) {
					weights[i] += float64(d) * onto[j]
				}
				weights[i] *= p.scale
				l.Bias[k] -= weights[i] * p.mean[i]
			}
			l.Weights[k] = weights
		}
	}
	return of
}

func (m *model) Plain() *plain.Model {
	p, r := m.projection, m.ridge
	k := &plain.Kernel{
		Classes: slices.Clone(m.Present), Gamma: float64(r.rbf.Gamma),
		Coefficients: plain.Widen(r.coef.Data, r.coef.Rows, r.coef.Cols, r.coef.Stride), Intercept: plain.Wide(r.mean),
	}
	if p != nil {
		p.describe(k)
	}
	if m.metric.Rows > 0 {
		for i, row := range k.Directions {
			mapped := make([]float64, m.metric.Cols)
			for a, v := range row {
				for b, w := range dense.Row(m.metric, a) {
					mapped[b] += v * float64(w)
				}
			}
			k.Directions[i] = mapped
		}
	}
	k.Landmarks = plain.Widen(r.landmarks.Data, r.landmarks.Rows, r.landmarks.Cols, r.landmarks.Stride)
	return &plain.Model{Kernel: k}
}

func (p *projection) describe(k *plain.Kernel) {
	k.Centre, k.Scale, k.Limit = slices.Clone(p.mean), p.scale, far
	k.Directions = plain.Widen(p.directions.Data, p.directions.Rows, p.directions.Cols, p.directions.Stride)
}

func (m *mixture) Plain() *plain.Model {
	mean := &plain.Mean{Doubt: doubt}
	for k, member := range m.members {
		d, ok := member.(plain.Describer)
		if !ok {
			return nil
		}
		mean.Members = append(mean.Members, plain.Member{Name: m.names[k], Power: m.powers[k], Weight: m.weights[k], Model: *d.Plain()})
	}
	return &plain.Model{Mean: mean}
}
