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

const (
	Forest      = "forest"        // half random forest, half extremely randomised trees
	ExtraTrees  = "extra-trees"   // extremely randomised trees
	RandomTrees = "random-forest" // trees with the best thresholds
	Booster     = "booster"       // gradient-boosted trees
	KernelRidge = "kernel-ridge"
	Softmax     = "softmax"
	BernoulliNB = "bernoulli-nb" // golearn
	BaggedID3   = "bagged-id3"   // golearn
	KNN         = "knn"          // golearn, only in builds with cgo
	DPSGDModel  = "dpsgd"        // DP-SGD, private for the teacher's own records
)

func Learners() []string {
	return []string{KernelRidge, Softmax, Forest, ExtraTrees, RandomTrees, Booster, BernoulliNB, BaggedID3, KNN, DPSGDModel}
}

// OfGolearn reports whether golearn provides the learner.
func OfGolearn(learner string) bool {
	return slices.Contains([]string{BernoulliNB, BaggedID3, KNN}, learner)
}

func OnTrees(learner string) bool {
	return slices.Contains([]string{Forest, ExtraTrees, RandomTrees, Booster}, learner)
}

// kernelGammaPerColumn, divided by the number of columns, is the Gamma of KernelRidge. The values were chosen
// on the development split of MNIST.
const (
	kernelGammaPerColumn = 0.5
	kernelLambda         = 0.05
)

const (
	teacherEpsilon = 8
	teacherDelta   = 1e-5
)

// NewLearner returns the named learner for rows with the given number of columns. If rows are images, `image`
// is a row's shape, otherwise zero.
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
		BernoulliNB: golearn.BernoulliNB{Pool: pool}, // threshold 0 is the mean of the image or of the public column
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

// On a table of log-normal columns, the random forest is better by 9 points of accuracy. On letter, extremely
// randomised trees are better by 3 points. On both tables the average is at most 1.5 points worse than the
// better forest. On Adult the average is better than both.

// mixedForest averages a random forest and extremely randomised trees.
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
	return &teachers.ScoreModel{Name: "training", Features: data.X.Cols, Classes: data.Classes, Present: classes, Rows: 2000,
		Score: func(sum, x teachers.Matrix) error { // sum of the mean frequencies of both forests
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

// With a few thousand units each teacher has enough data. With more units the loss is small: on MNIST, 250,
// 500 and 1000 teachers are equally good. On optdigits, 100 teachers are better than 50 and 150.

const defaultTeachers = 100

// TeachersFor returns the number of teachers, about max(2 sqrt(units), min(200, units/20)). The number
// `units` of private units must be public.
func TeachersFor(units int) int {
	// At equal noise, and if most teachers agree, the number of answers grows with the square of the number
	// of teachers. On development splits at epsilon 2, 200 teachers give more right answers than 100
	// teachers, at equal numbers of answers: 87 % instead of 85 % on optdigits, and 60 % instead of 53 % on
	// letter. On MNIST, 500 teachers give four times as many answers as 250 teachers, and 95 % of them are
	// right instead of 96 %.
	root := 10 * int(math.Ceil(2*math.Sqrt(float64(units))/10))
	return min(units, max(2, root, min(200, units/20)))
}

func (j Job) teachers() (n int, reason string) {
	switch {
	case j.Teachers > 0:
		return j.Teachers, "as given"
	case j.Size > 0:
		n = TeachersFor(j.Size)
		return n, fmt.Sprintf("from --size %d: %d private units for each teacher", j.Size, j.Size/n)
	}
	return defaultTeachers, "the default, because the number of private units is private; --size declares a public number"
}

func DefaultFeatures(kind dataset.Kind, image dataset.Shape, learner string) string {
	if image.Rows > 0 && OfGolearn(learner) && image.Planes() == 1 {
		return features.NameDeskewed
	}
	return features.For(kind, image)
}

// DefaultLearner returns the default learner, and the reason as text. The default for tables is Forest.
// Kernel ridge is a point or two better on development splits of letter, optdigits, abalone, Adult and
// Diabetes. But kernel ridge is ten points worse on tables with long tails or rare classes.
func DefaultLearner(table bool, image dataset.Shape) (learner, reason string) {
	switch {
	case table:
		return Forest, "for tables"
	case image != dataset.Shape{}:
		return KernelRidge, "for images"
	}
	return KernelRidge, "for features"
}
