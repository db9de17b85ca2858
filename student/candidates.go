package student

import (
	"context"
	"math/rand/v2"

	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/trees"
)

// Names of the candidates for tables.
const (
	LogisticRegression = "logistic regression"
	RandomForest       = "random forest"
	RandomisedTrees    = "extremely randomised trees"
	LabelSpreading     = "label spreading"
)

// TableCandidates are the students worth comparing on a table: logistic
// regression, whose ridge is 1 over all labels together, and two forests; and if pool is not nil, the student of [Pool.Fit]. x must then be the
// rows that pool was learnt from. Trees want columns of different kinds; spreading
// wants near rows to share a class.
func TableCandidates(pool *Pool) []Candidate {
	supervised := func(name string, learner func(labels int) teachers.Learner) Candidate {
		fit := func(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
			n := 0
			for _, y := range labels {
				if y != Unlabelled {
					n++
				}
			}
			return Supervised(ctx, learner(n), x, labels, classes, rnd)
		}
		return Candidate{Name: name, Fit: fit}
	}
	out := []Candidate{
		supervised(LogisticRegression, func(labels int) teachers.Learner {
			return teachers.Softmax{L2: 1 / float64(max(1, labels))}
		}),
		supervised(RandomForest, func(int) teachers.Learner { return trees.Forest{} }),
		supervised(RandomisedTrees, func(int) teachers.Learner { return trees.Forest{Thresholds: trees.RandomThresholds} }),
	}
	if pool != nil {
		rough := pool.rough()
		out = append(out, Candidate{Name: LabelSpreading, Fit: func(ctx context.Context, _ Matrix, labels []int, classes int, _ *rand.Rand) (teachers.Classifier, error) {
			return rough.Fit(ctx, labels, classes)
		}})
	}
	return out
}

// roughLandmarks span the classifier of a table's label spreading. With more it
// follows the errors of spread labels: what is right for images is not for tables.
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
