package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The lower end is useful where few steps of many are taken, with each kind of noise, and never less than
// what the sum of the outputs shows.
func TestSeveralIsNear(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		k, steps                       int64
		sigma, delta, share, of, least float64
	}{
		{k: 10, steps: 10000, sigma: 1, delta: 1e-5, share: 0.997}, {k: 10, steps: 10000, sigma: 1, delta: 1e-12, share: 0.99},
		{k: 3, steps: 300, sigma: 0.5, delta: 1e-6, share: 0.85}, {k: 2, steps: 1000000, sigma: 2, delta: 1e-5, share: 0.98},
		{k: 30, steps: 100, sigma: 5, delta: 1e-5, share: 0.98}, {k: 99, steps: 100, sigma: 2, delta: 1e-5, share: 0.99}, {k: 10, steps: 100, sigma: 1e5, delta: 1e-9, share: 0},
		{k: 10, steps: 100, sigma: 0.04, delta: 1e-5, share: 0}, {k: 5, steps: 1 << 40, sigma: 1, delta: 1e-5, share: 0},
	} {
		if skipped(i, 3) {
			continue
		}
		b, _ := intervalOf(t, c.delta, RandomAllocation{c.k, c.steps, Gaussian{c.sigma}})
		assert.GreaterOrEqual(t, b.Lower, c.share*b.Upper, "%+v: %v", c, b)
		sum, err := GaussianEpsilon(c.sigma*math.Sqrt(float64(c.steps))/float64(c.k), c.delta)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, b.Lower, sum*(1-1e-9), "%+v", c)
	}
	// With other events, and little memory.
	for _, memory := range []int64{1 << 20, 0} {
		p := newPLD(t, PLDConfig{MaxMemory: memory}, Repeated{RandomAllocation{4, 100, Gaussian{2}}, 3}, Repeated{PoissonSampled{0.1, Gaussian{2}}, 20}, Laplace{5})
		b := epsAt(t, p, 1e-6)
		assert.LessOrEqual(t, b.Lower, b.Upper)
		assert.Greater(t, b.Lower, 0.9*b.Upper, "%d bytes: %+v", memory, b)
	}
}
