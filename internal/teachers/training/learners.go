package training

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/optim"
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
	DPSGDModel  = "dpsgd"        // a teacher that is itself private towards its own records
)

// Learners lists the names.
func Learners() []string {
	return []string{KernelRidge, Softmax, Forest, ExtraTrees, RandomTrees, Booster, BernoulliNB, BaggedID3, KNN, DPSGDModel}
}

// OfGolearn reports whether a learner is for hundreds of features, not thousands.
func OfGolearn(learner string) bool {
	return slices.Contains([]string{BernoulliNB, BaggedID3, KNN}, learner)
}

// OnTrees reports whether a learner grows trees.
func OnTrees(learner string) bool {
	return slices.Contains([]string{Forest, ExtraTrees, RandomTrees, Booster}, learner)
}

// Kernel width and ridge of the teachers, for columns of standard deviation 1: gamma is per column, so that
// it fits any number. Chosen on the development split of MNIST; accuracy is flat between half and
// twice of both.
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
	case Forest:
		return newMixedForest(), nil
	case ExtraTrees:
		return trees.Forest{Thresholds: trees.RandomThresholds}, nil
	case RandomTrees:
		return trees.Forest{}, nil
	case Booster:
		return trees.Booster{}, nil
	case KernelRidge:
		return teachers.KernelRidge{Gamma: kernelGammaPerColumn / float64(columns), Lambda: kernelLambda}, nil
	case Softmax:
		return teachers.Softmax{}, nil
	case BernoulliNB: // threshold 0: above the row's mean, or the public column's
		return golearn.BernoulliNB{Pool: pool}, nil
	case BaggedID3:
		return golearn.BaggedID3{Pool: pool}, nil
	case KNN:
		learner, err := golearn.NewKNN(3, pool)
		if err != nil {
			return nil, fmt.Errorf("training: %w", err)
		}
		return learner, nil
	case DPSGDModel:
		return dpsgdLearner(ctx)
	default:
		return nil, fmt.Errorf("training: learner %q is not one of %s", name, strings.Join(Learners(), ", "))
	}
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
