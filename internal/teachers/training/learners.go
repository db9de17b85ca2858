package training

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/golearn"
	"github.com/pate-go/pate/teachers/trees"
)

// Learners of teachers.
const (
	Forest      = "forest"        // half a random forest, half extremely randomised trees
	ExtraTrees  = "extra-trees"   // extremely randomised trees
	RandomTrees = "random-forest" // best thresholds
	Booster     = "booster"       // gradient-boosted trees
	KernelRidge = "kernel-ridge"
	Softmax     = "softmax"
	BernoulliNB = "bernoulli-nb" // golearn
	BaggedID3   = "bagged-id3"   // golearn
	KNN         = "knn"          // golearn, only in builds with cgo
	DPSGDModel  = "dpsgd"        // a teacher that is itself private for its own records
)

func Learners() []string {
	return []string{KernelRidge, Softmax, Forest, ExtraTrees, RandomTrees, Booster, BernoulliNB, BaggedID3, KNN, DPSGDModel}
}

// OfGolearn reports whether a learner works with hundreds of features but not thousands.
func OfGolearn(learner string) bool {
	return slices.Contains([]string{BernoulliNB, BaggedID3, KNN}, learner)
}

// OnTrees reports whether a learner grows trees.
func OnTrees(learner string) bool {
	return slices.Contains([]string{Forest, ExtraTrees, RandomTrees, Booster}, learner)
}

// Kernel width and ridge of the teachers, for columns of standard deviation 1: gamma is per column, so that
// it suits any number of columns. Chosen on the development split of MNIST; accuracy is flat between half and
// twice of either.
const (
	kernelGammaPerColumn = 0.5
	kernelLambda         = 0.05
)

// Each DP-SGD teacher has this budget for its own share.
const (
	teacherEpsilon = 8
	teacherDelta   = 1e-5
)

// NewLearner makes a learner for rows of this many columns. Image is the shape of rows that are images,
// otherwise zero.
func NewLearner(ctx context.Context, name string, columns int, image dataset.Shape) (teachers.Learner, error) {
	pool := golearn.Pooling{}
	if image.Rows%2 == 0 && image.Cols%2 == 0 && image.Pixels() == columns && columns > 0 && image.Planes() == 1 {
		pool = golearn.Pooling{Rows: image.Rows, Cols: image.Cols, Size: 2}
	}
	switch name {
	case DPSGDModel:
		return dpsgdLearner(ctx)
	case KNN:
		learner, err := golearn.NewKNN(3, pool)
		if err != nil {
			return nil, fmt.Errorf("training: %w", err)
		}
		return learner, nil
	}
	learner, known := map[string]teachers.Learner{
		Forest:      mixedForest{trees.Forest{Trees: 50}, trees.Forest{Trees: 50, Thresholds: trees.RandomThresholds}},
		ExtraTrees:  trees.Forest{Thresholds: trees.RandomThresholds},
		RandomTrees: trees.Forest{},
		Booster:     trees.Booster{},
		KernelRidge: teachers.KernelRidge{Gamma: kernelGammaPerColumn / float64(columns), Lambda: kernelLambda},
		Softmax:     teachers.Softmax{},
		BernoulliNB: golearn.BernoulliNB{Pool: pool}, // threshold 0: above the row's mean, or the public column's mean
		BaggedID3:   golearn.BaggedID3{Pool: pool},
	}[name]
	if !known {
		return nil, fmt.Errorf("training: learner %q is not one of %s", name, strings.Join(Learners(), ", "))
	}
	return learner, nil
}

func dpsgdLearner(ctx context.Context) (teachers.Learner, error) {
	cfg := dpsgd.Config{SamplingProbability: 0.25, ClipNorm: 0.1, Steps: 80, LearningRate: 2, Optimizer: optim.Config{Momentum: 0.9}}
	target := accountant.Target{Epsilon: teacherEpsilon, Delta: teacherDelta}
	account := accountant.RDPConfig{Relation: accountant.AddRemove}.NewAccount
	noise, _, err := accountant.CalibrateNoise(ctx, account, target, func(noise float64) (accountant.Event, error) {
		cfg.NoiseMultiplier = noise
		return cfg.Event(), nil
	})
	if err != nil {
		return nil, fmt.Errorf("training: noise of DP-SGD teachers: %w", err)
	}
	cfg.NoiseMultiplier = noise
	return teachers.DPSGD{Config: cfg, Epsilon: teacherEpsilon, Delta: teacherDelta}, nil
}

// mixedForest is half a random forest and half a forest with random thresholds. The first is better by 9
// points of accuracy on a table of log-normal columns, the second by 3 points on letter, whose columns have
// no long tails. Both together are at most 1.5 points worse than the better half there, and better than both
// on Adult.
type mixedForest struct{ Best, Random trees.Forest }

func (mixedForest) Reproducible() bool { return true }

func (l mixedForest) Fit(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	var halves [2]teachers.Scorer
	for i, forest := range []trees.Forest{l.Best, l.Random} {
		c, err := forest.Fit(ctx, data, rnd)
		if err != nil {
			return nil, err
		}
		scorer, ok := c.(teachers.Scorer)
		if !ok {
			return nil, fmt.Errorf("training: %T has no scores", c)
		}
		halves[i] = scorer
	}
	classes := make([]int, data.Classes)
	for c := range classes {
		classes[c] = c
	}
	return &teachers.ScoreModel{Name: "training", Features: data.X.Cols, Classes: data.Classes, Present: classes,
		Score: func(sum, x teachers.Matrix) error { // sum of the two mean frequencies
			more := dense.New(sum.Rows, sum.Cols)
			if err := errors.Join(halves[0].Scores(sum, x), halves[1].Scores(more, x)); err != nil {
				return err
			}
			for i, v := range more.Data {
				sum.Data[i] += v
			}
			return nil
		}}, nil
}

// defaultTeachers is the number of teachers if no number of private units is public. For a few thousand units
// it leaves each teacher enough to learn from, and for more units it costs little: on MNIST 250, 500 and 1000
// teachers give equal results, on optdigits 100 are better than 50 and 150.
const defaultTeachers = 100

// TeachersFor returns the number of teachers for a number of private units: about 2 sqrt(n) teachers, at
// least 200 if each still gets 20 units. For a given noise the number of answers grows with the square of the
// number of teachers, so more and weaker teachers are worth it as long as most agree: on development splits,
// at an epsilon of 2 and the same number of answers, 87 % of the answers are right with 200 teachers of
// optdigits and 85 % with 100, 60 % with 200 teachers of letter and 53 % with 100; on MNIST 500 teachers get
// four times the answers of 250, 95 % of them right instead of 96 %. The number of units must be public, or
// declared.
func TeachersFor(units int) int {
	root := 10 * int(math.Ceil(2*math.Sqrt(float64(units))/10))
	return min(units, max(2, root, min(200, units/20)))
}

func (j Job) teachers() (n int, reason string) {
	switch {
	case j.Teachers > 0:
		return j.Teachers, "as given"
	case j.Size > 0:
		n = TeachersFor(j.Size)
		return n, fmt.Sprintf("for about %d private units, as declared: %d for each", j.Size, j.Size/n)
	}
	return defaultTeachers, "the default: the number of private units is private and is not looked at; --size tells it in public"
}

// DefaultFeatures returns the features for teachers, by the kind and shape of rows and by the learner.
func DefaultFeatures(kind dataset.Kind, image dataset.Shape, learner string) string {
	if image.Rows > 0 && OfGolearn(learner) && image.Planes() == 1 {
		return features.NameDeskewed
	}
	return features.For(kind, image)
}

// DefaultLearner returns the learner for tables, images or other features, and the reason. For tables it is
// the learner with the least loss in its worst case: on development splits of letter, optdigits, abalone,
// Adult and Diabetes forests, boosters and kernel ridge are within a point or two of each other, with kernel
// ridge ahead, but on tables with long tails or rare classes kernel ridge is behind by ten points.
func DefaultLearner(table bool, image dataset.Shape) (learner, reason string) {
	switch {
	case table:
		return Forest, "for tables"
	case image != dataset.Shape{}:
		return KernelRidge, "for images"
	}
	return KernelRidge, "for features"
}
