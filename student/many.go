package student

import (
	"context"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// manyLabels is how many labels of images a student learns from by fitMany. Fewer are spread
// along the graph, and other students are compared with that.
const manyLabels = MaxSpread / 2

// manyHeldBack is the share of labels that tell which ridge the others need.
const manyHeldBack = .2

// manyRidges are the ridges compared: the first is right where labels are, the last where
// half of them are wrong.
func manyRidges() []float64 { return []float64{ridgeLambda, 1, 10, 30} }

// fitMany trains on so many labels that errors among them even out, though half of the labels
// may be wrong. A kernel ridge of all of them answers for the whole pool; its ridge is the one
// that predicts labels best that were held back. From these answers, which are right far more
// often than the labels, follow the directions that vary within classes, and the student
// learns from the answers where these are shrunk.
func (p *Pool) fitMany(ctx context.Context, _ Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
	labelled, present, err := released(labels, p.Len(), classes)
	if err != nil {
		return nil, err
	}
	column := columns(present, classes)
	targets := func(rows []int) []int {
		out := make([]int, p.Len())
		for i := range out {
			out[i] = Unlabelled
		}
		for _, i := range rows {
			out[i] = column[labels[i]]
		}
		return out
	}
	all := targets(labelled)
	order := make([]int, len(labelled))
	for i, place := range rnd.Perm(len(labelled)) {
		order[i] = labelled[place]
	}
	held := order[:int(manyHeldBack*float64(len(order)))]
	lambda, err := p.chooseRidge(ctx, targets(order[len(held):]), all, held, len(present))
	if err != nil {
		return nil, err
	}
	noisy, err := fitRidges(ctx, p.z, all, p.landmarks, p.graph.width, len(present), []float64{lambda})
	if err != nil {
		return nil, err
	}
	answers, err := noisy[0].answers(ctx, p.z)
	if err != nil {
		return nil, err
	}
	m := &model{projection: p.projection, classes: classes, present: present}
	if m.metric, err = withinClass(p.z, answers, len(present)); err != nil {
		return nil, err
	}
	z := dense.New(p.z.Rows, p.z.Cols)
	dense.MulAB(z, p.z, m.metric)
	ranked, err := p.neighbours.rank(ctx, z, p.config.Neighbours)
	if err != nil {
		return nil, err
	}
	m.ridge, err = fitRidge(ctx, z, answers, p.landmarks, ranked.width(p.config.Neighbours), len(present))
	return m, err
}

// chooseRidge returns the ridge under which a classifier of half the landmarks, trained on
// some targets, predicts most of those of the rows held back.
func (p *Pool) chooseRidge(ctx context.Context, train, all, held []int, classes int) (float64, error) {
	var half []int
	for i := 0; i < len(p.landmarks); i += 2 {
		half = append(half, p.landmarks[i])
	}
	lambdas := manyRidges()
	fitted, err := fitRidges(ctx, p.z, train, half, p.graph.width, classes, lambdas)
	if err != nil {
		return 0, err
	}
	asked := dense.Pick(p.z, held)
	best, most := 0, -1
	for k, r := range fitted {
		answers, err := r.answers(ctx, asked)
		if err != nil {
			return 0, err
		}
		right := 0
		for i, row := range held {
			if answers[i] == all[row] {
				right++
			}
		}
		if right > most {
			best, most = k, right
		}
	}
	return lambdas[best], nil
}

// answers returns the column with the largest score for every row of z.
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

// named returns how many rows have a label.
func named(labels []int) int {
	n := 0
	for _, y := range labels {
		if y != Unlabelled {
			n++
		}
	}
	return n
}
