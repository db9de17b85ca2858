package teachertest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/teachertest"
)

// broken is a sound learner with one promise broken.
type broken struct {
	before func(ctx context.Context, d *teachers.Dataset, rnd *rand.Rand) (context.Context, error)
	after  func(d teachers.Dataset, good teachers.Classifier) teachers.Classifier
}

func (broken) Reproducible() bool { return true }

func (b broken) Fit(ctx context.Context, d teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	if b.before != nil {
		var err error
		if ctx, err = b.before(ctx, &d, rnd); err != nil {
			return nil, err
		}
	}
	good, err := teachers.KernelRidge{Gamma: .05, Lambda: .1}.Fit(ctx, d, rnd)
	if err == nil && b.after != nil {
		return b.after(d, good), nil
	}
	return good, err
}

type predictFunc func(dst []int, x teachers.Matrix) error

func (f predictFunc) Predict(dst []int, x teachers.Matrix) error { return f(dst, x) }

func brokenLearners() map[string]teachers.Learner {
	var calls atomic.Int64
	return map[string]teachers.Learner{
		"always the commonest": broken{after: func(d teachers.Dataset, good teachers.Classifier) teachers.Classifier {
			return predictFunc(func(dst []int, x teachers.Matrix) error {
				if err := good.Predict(dst, x); err != nil || d.X.Rows < 30 {
					return err
				}
				if c, ok := teachers.Constant(d); ok {
					return c.Predict(dst, x)
				}
				clear(dst)
				return nil
			})
		}},
		"scales its data in place": broken{before: func(ctx context.Context, d *teachers.Dataset, _ *rand.Rand) (context.Context, error) {
			for i := range d.X.Data {
				d.X.Data[i] *= 0.999
			}
			return ctx, nil
		}},
		"keeps the labels": broken{after: func(d teachers.Dataset, good teachers.Classifier) teachers.Classifier {
			return predictFunc(func(dst []int, x teachers.Matrix) error {
				err := good.Predict(dst, x)
				if err == nil && len(d.Y) > 50 && len(dst) > 50 && d.Y[0] == 2 && d.Y[1] == 2 && d.Y[2] == 2 {
					for i := range 10 {
						dst[i] = 2
					}
				}
				return err
			})
		}},
		"ignores the stride": broken{before: func(ctx context.Context, d *teachers.Dataset, _ *rand.Rand) (context.Context, error) {
			d.X.Stride = d.X.Cols
			return ctx, nil
		}},
		"lets NaN in": broken{before: func(ctx context.Context, d *teachers.Dataset, _ *rand.Rand) (context.Context, error) {
			own := make([]float32, len(d.X.Data))
			for i, v := range d.X.Data {
				if v == v {
					own[i] = v
				}
			}
			d.X.Data = own
			return ctx, nil
		}},
		"indexes before it looks": broken{after: func(_ teachers.Dataset, good teachers.Classifier) teachers.Classifier {
			return predictFunc(func(dst []int, x teachers.Matrix) error {
				if x.Rows > 0 {
					_ = dst[x.Rows-1]
				}
				return good.Predict(dst, x)
			})
		}},
		"fails on an empty share": broken{before: func(ctx context.Context, d *teachers.Dataset, _ *rand.Rand) (context.Context, error) {
			if d.X.Rows == 0 {
				return ctx, errors.New("no data")
			}
			return ctx, nil
		}},
		"answers beside a single class": broken{after: func(d teachers.Dataset, good teachers.Classifier) teachers.Classifier {
			return predictFunc(func(dst []int, x teachers.Matrix) error {
				err := good.Predict(dst, x)
				if _, single := teachers.Constant(d); err == nil && single && len(dst) > 0 {
					dst[0] = 0
				}
				return err
			})
		}},
		"hears no cancellation": broken{before: func(context.Context, *teachers.Dataset, *rand.Rand) (context.Context, error) {
			return context.Background(), nil
		}},
		"slow to stop": broken{before: func(ctx context.Context, d *teachers.Dataset, _ *rand.Rand) (context.Context, error) {
			if d.X.Rows > 1000 {
				time.Sleep(3 * time.Second)
			}
			return ctx, nil
		}},
		"does not repeat itself": broken{after: func(_ teachers.Dataset, good teachers.Classifier) teachers.Classifier {
			turn := int(calls.Add(1))
			return predictFunc(func(dst []int, x teachers.Matrix) error {
				err := good.Predict(dst, x)
				if err == nil && len(dst) > 50 {
					dst[turn%50] = turn % 2
				}
				return err
			})
		}},
		"answers by position": broken{after: func(_ teachers.Dataset, good teachers.Classifier) teachers.Classifier {
			return predictFunc(func(dst []int, x teachers.Matrix) error {
				err := good.Predict(dst, x)
				if err == nil && len(dst) == 1 {
					dst[0] = (dst[0] + 1) % 2
				}
				return err
			})
		}},
		"forgets a row": broken{after: func(_ teachers.Dataset, good teachers.Classifier) teachers.Classifier {
			return predictFunc(func(dst []int, x teachers.Matrix) error {
				if len(dst) < 2 || len(dst) != x.Rows {
					return good.Predict(dst, x)
				}
				x.Rows--
				return good.Predict(dst[:len(dst)-1], x)
			})
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
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the kit passed it:\n%s", out)
			require.Contains(t, string(out), "--- FAIL: TestBrokenLearner")
			require.NotContains(t, string(out), "panic:")
		})
	}
}
