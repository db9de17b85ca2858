package student

import (
	"context"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

const denoiseFrom = MaxSpread / 2

const denoiseHeldBack = .2

func denoiseRidges() []float64 { return []float64{ridgeLambda, 1, 10, 30} }

func (p *Pool) fitDenoised(ctx context.Context, _ Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
	// A kernel ridge on all labels, with the ridge parameter that is best for held-out labels, predicts the
	// whole pool. These predictions are right far more often than the labels, so the student and its metric
	// are trained on the predictions.
	labelled, present, err := released(labels, p.Len(), classes)
	if err != nil {
		return nil, err
	}
	column := columns(present, classes)
	order, targets := make([]int, len(labelled)), make([]int, len(labelled))
	for i, place := range rnd.Perm(len(labelled)) {
		order[i] = labelled[place]
		targets[i] = column[labels[order[i]]]
	}
	noisy, err := p.fitNoisy(ctx, dense.Pick(p.z, order), targets, len(present))
	if err != nil {
		return nil, err
	}
	answers, err := noisy.answers(ctx, p.z)
	if err != nil {
		return nil, err
	}
	m := &model{projection: p.projection}
	if m.metric, err = withinClass(p.z, answers, len(present)); err != nil {
		return nil, err
	}
	z := dense.New(p.z.Rows, p.z.Cols)
	dense.MulAB(z, p.z, m.metric)
	ranked, err := p.neighbours.rank(ctx, z, p.config.Neighbours)
	if err != nil {
		return nil, err
	}
	if m.ridge, err = fitRidge(ctx, z, answers, p.landmarks, ranked.width(p.config.Neighbours), len(present)); err != nil {
		return nil, err
	}
	return m.of(classes, present), nil
}

func (p *Pool) fitNoisy(ctx context.Context, z Matrix, targets []int, classes int) (*ridge, error) {
	sums := newRidgeSums(dense.Pick(p.z, p.landmarks), targets, p.graph.width, classes)
	n := int(denoiseHeldBack * float64(z.Rows))
	if err := sums.add(ctx, dense.Rows(z, n, z.Rows), targets[n:]); err != nil {
		return nil, err
	}
	lambdas := denoiseRidges()
	fitted, err := sums.half().solve(lambdas)
	if err != nil {
		return nil, err
	}
	held := dense.Rows(z, 0, n)
	best, most := 0, -1
	for k, r := range fitted {
		answers, err := r.answers(ctx, held)
		if err != nil {
			return nil, err
		}
		right := 0
		for i, answer := range answers {
			if answer == targets[i] {
				right++
			}
		}
		if right > most {
			best, most = k, right
		}
	}
	if err := sums.add(ctx, held, targets[:n]); err != nil {
		return nil, err
	}
	if fitted, err = sums.solve(lambdas[best : best+1]); err != nil {
		return nil, err
	}
	return fitted[0], nil
}

func (r *ridge) answers(ctx context.Context, z Matrix) ([]int, error) {
	scores, err := r.scores(ctx, z)
	if err != nil {
		return nil, err
	}
	out := make([]int, z.Rows)
	for i := range out {
		out[i] = dense.Argmax(dense.Row(scores, i))
	}
	return out, nil
}

func named(labels []int) int {
	n := 0
	for _, y := range labels {
		if y != Unlabelled {
			n++
		}
	}
	return n
}
