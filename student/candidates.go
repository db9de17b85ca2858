package student

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/dense"
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

// TableCandidates returns the students worth comparing on a table: logistic regression, whose ridge is 1 over
// all labels together, two forests and a kernel ridge; and if pool is not nil, the student of [Pool.Fit]. x
// must then be the rows that pool was learnt from. Trees suit columns of different kinds; spreading suits
// pools in which near rows share a class.
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

// ImageCandidates returns the students worth comparing on features of images: first of all the student of
// [Pool.Fit], and to be sure a kernel ridge and logistic regression on the labelled rows, of many columns on
// their projections. The first is judged by one with fewer landmarks, which takes a tenth of the time and is
// a little worse.
func ImageCandidates(pool *Pool) []Candidate { return pool.imageCandidates(Matrix{}) }

// imageCandidates returns ImageCandidates that are tried on z, the projections of all rows with labels,
// unless it has no rows.
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

// fit is [Pool.Fit], on the features of the pool.
func (p *Pool) fit(ctx context.Context, _ Matrix, labels []int, classes int, _ *rand.Rand) (teachers.Classifier, error) {
	return p.Fit(ctx, labels, classes)
}

// fitProjected is [Pool.Fit] for rows that are projected already.
func (p *Pool) fitProjected(ctx context.Context, _ Matrix, labels []int, classes int, _ *rand.Rand) (teachers.Classifier, error) {
	c, err := p.Fit(ctx, labels, classes)
	if err != nil {
		return nil, err
	}
	m := *c.(*model)
	m.projection = nil
	return m.of(m.Classes, m.Present), nil
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

// Supervised trains learner on the rows of x that have a released label. The argument labels has one entry
// per row of x, a class or [Unlabelled]. Without any label the error is [ErrNoLabels].
func Supervised(ctx context.Context, learner teachers.Learner, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
	data, err := labelledPart(x, labels, classes)
	if err != nil {
		return nil, err
	}
	c, err := learner.Fit(ctx, data, rnd)
	if err != nil {
		return nil, fmt.Errorf("student: %w", err)
	}
	return c, nil
}

const (
	kernelRidgeLambda = .1   // in units of the kernel, whose diagonal is 1
	kernelRidgeRows   = 3000 // bounds the labels of a kernel ridge, whose time grows with their cube
)

// fitKernelRidge trains a kernel ridge whose width is the mean distance of two labelled
// rows. Of very many labels it takes a random part.
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

// meanSquaredDistance returns the mean squared distance of two rows of x, 1 if all are equal.
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

// roughLandmarks span the classifier of a table's label spreading. With more landmarks, as for images, it
// would follow the errors of spread labels.
const roughLandmarks = 300

// rough returns the pool with fewer landmarks and without progress.
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
