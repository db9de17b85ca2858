package teachertest_test

import (
	"testing"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/teachertest"
)

func TestKernelRidge(t *testing.T) {
	teachertest.TestLearner(t, func() teachers.Learner { return teachers.KernelRidge{Gamma: .05, Lambda: .1} }, teachertest.Options{})
}

func TestSoftmax(t *testing.T) {
	teachertest.TestLearner(t, func() teachers.Learner { return teachers.Softmax{} }, teachertest.Options{})
}

func TestDPSGD(t *testing.T) {
	cfg := dpsgd.Config{SamplingProbability: 0.5, NoiseMultiplier: 1, ClipNorm: 1, Steps: 60, LearningRate: 2}
	teachertest.TestLearner(t, func() teachers.Learner { return teachers.DPSGD{Config: cfg, Epsilon: 100, Delta: 1e-5} }, teachertest.Options{})
	cfg.NonPrivate, cfg.NoiseMultiplier = true, 0
	t.Run("non-private", func(t *testing.T) {
		teachertest.TestLearner(t, func() teachers.Learner { return teachers.DPSGD{Config: cfg} }, teachertest.Options{})
	})
}
