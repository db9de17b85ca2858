package teachertest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/testkit"
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

// broken is a sound learner with one promise broken.
type broken struct {
	before func(ctx context.Context, d *teachers.Dataset) (context.Context, error)
	after  func(d teachers.Dataset, good teachers.Classifier, dst []int, x teachers.Matrix) error
}

func (broken) Reproducible() bool { return true }

func (b broken) Fit(ctx context.Context, d teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	if b.before != nil {
		var err error
		if ctx, err = b.before(ctx, &d); err != nil {
			return nil, err
		}
	}
	good, err := teachers.KernelRidge{Gamma: .05, Lambda: .1}.Fit(ctx, d, rnd)
	if err == nil && b.after != nil {
		return predictFunc(func(dst []int, x teachers.Matrix) error { return b.after(d, good, dst, x) }), nil
	}
	return good, err
}

type predictFunc func(dst []int, x teachers.Matrix) error

func (f predictFunc) Predict(dst []int, x teachers.Matrix) error { return f(dst, x) }

// fits breaks what happens to the data of a fit.
func fits(change func(d *teachers.Dataset) error) broken {
	return broken{before: func(ctx context.Context, d *teachers.Dataset) (context.Context, error) { return ctx, change(d) }}
}

// answers breaks the answers of a sound model.
func answers(change func(d teachers.Dataset, dst []int)) broken {
	return broken{after: func(d teachers.Dataset, good teachers.Classifier, dst []int, x teachers.Matrix) error {
		err := good.Predict(dst, x)
		if err == nil {
			change(d, dst)
		}
		return err
	}}
}

func brokenLearners() map[string]teachers.Learner {
	var calls atomic.Int64
	return map[string]teachers.Learner{
		"always the commonest": answers(func(d teachers.Dataset, dst []int) {
			if _, single := teachers.Constant(d); !single && d.X.Rows >= 30 {
				clear(dst)
			}
		}),
		"scales its data in place": fits(func(d *teachers.Dataset) error {
			for i := range d.X.Data {
				d.X.Data[i] *= 0.999
			}
			return nil
		}),
		"keeps the labels": answers(func(d teachers.Dataset, dst []int) {
			if len(d.Y) > 50 && len(dst) > 50 && d.Y[0] == 2 && d.Y[1] == 2 && d.Y[2] == 2 {
				copy(dst, slices.Repeat([]int{2}, 10))
			}
		}),
		"ignores the stride": fits(func(d *teachers.Dataset) error {
			d.X.Stride = d.X.Cols
			return nil
		}),
		"lets NaN in": fits(func(d *teachers.Dataset) error {
			d.X.Data = slices.Clone(d.X.Data)
			for i, v := range d.X.Data {
				if v != v {
					d.X.Data[i] = 0
				}
			}
			return nil
		}),
		"indexes before it looks": broken{after: func(_ teachers.Dataset, good teachers.Classifier, dst []int, x teachers.Matrix) error {
			if x.Rows > 0 {
				_ = dst[x.Rows-1]
			}
			return good.Predict(dst, x)
		}},
		"fails on an empty share": fits(func(d *teachers.Dataset) error {
			if d.X.Rows == 0 {
				return errors.New("no data")
			}
			return nil
		}),
		"answers beside a single class": answers(func(d teachers.Dataset, dst []int) {
			if _, single := teachers.Constant(d); single && len(dst) > 0 {
				dst[0] = 0
			}
		}),
		"hears no cancellation": broken{before: func(context.Context, *teachers.Dataset) (context.Context, error) {
			return context.Background(), nil
		}},
		"slow to stop": fits(func(d *teachers.Dataset) error {
			if d.X.Rows > 1000 {
				time.Sleep(3 * time.Second)
			}
			return nil
		}),
		"does not repeat itself": answers(func(_ teachers.Dataset, dst []int) {
			if turn := int(calls.Add(1)); len(dst) > 50 {
				dst[turn%50] = turn % 2
			}
		}),
		"answers by position": answers(func(_ teachers.Dataset, dst []int) {
			if len(dst) == 1 {
				dst[0] = (dst[0] + 1) % 2
			}
		}),
		"forgets a row": broken{after: func(_ teachers.Dataset, good teachers.Classifier, dst []int, x teachers.Matrix) error {
			if len(dst) < 2 || len(dst) != x.Rows {
				return good.Predict(dst, x)
			}
			x.Rows--
			return good.Predict(dst[:len(dst)-1], x)
		}},
	}
}

const brokenVariable = "TEACHERTEST_BROKEN"

// TestBrokenLearner checks one broken learner. The next test runs it in processes of its own.
func TestBrokenLearner(t *testing.T) {
	name := os.Getenv(brokenVariable)
	if name == "" {
		t.Skip("run by TestKitCatchesBrokenLearners")
	}
	learner, ok := brokenLearners()[name]
	if !ok {
		t.Skip("unknown")
	}
	teachertest.TestLearner(t, func() teachers.Learner { return learner }, teachertest.Options{})
}

func TestKitCatchesBrokenLearners(t *testing.T) {
	for name := range brokenLearners() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestBrokenLearner$", "-test.count=1")
			cmd.Env = append(os.Environ(), brokenVariable+"="+name)
			out, err := cmd.CombinedOutput()
			testkit.ErrorAs[*exec.ExitError](t, err, "the kit passed it:\n%s", out)
			require.Contains(t, string(out), "--- FAIL: TestBrokenLearner")
			require.NotContains(t, string(out), "panic:")
		})
	}
}
