package accountant

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// symmetric returns the elementary symmetric polynomials of degree 0 to k.
func symmetric(x []float64, k int) []float64 {
	e := make([]float64, k+1)
	e[0] = 1
	for _, r := range x {
		for j := k; j > 0; j-- {
			e[j] += r * e[j-1]
		}
	}
	return e
}

// severalDelta is the exact delta of k random steps of t, in both orders. The likelihood ratio is
// the elementary symmetric polynomial of degree k over the number of subsets, which is linear in
// the last ratio; so with all others fixed the mean over the last is that of a call or a put, and
// the others are a product of trapezoid rules.
func severalDelta(t, k, nodes int, sigma, epsilon float64) (forward, reverse float64) {
	const reach = 8.0
	step := (2*reach + 1/sigma) / float64(nodes)
	ratios, weights := make([]float64, nodes), make([]float64, nodes)
	for i := range ratios {
		z := -reach + (float64(i)+0.5)*step
		ratios[i] = math.Exp(z/sigma - 0.5/(sigma*sigma))
		weights[i] = math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * step
	}
	call := func(strike float64) float64 { // E (r - strike)_+
		if strike <= 0 {
			return 1 - strike
		}
		d := -math.Log(strike) * sigma
		return normalCDF(d+0.5/sigma) - strike*normalCDF(d-0.5/sigma)
	}
	put := func(strike float64) float64 { // E (strike - r)_+
		if strike <= 0 {
			return 0
		}
		d := -math.Log(strike) * sigma
		return strike*normalCDF(0.5/sigma-d) - normalCDF(-d-0.5/sigma)
	}
	subsets := choose(t, k)
	up, down := subsets*math.Exp(epsilon), subsets*math.Exp(-epsilon)
	others := make([]float64, 0, t)
	var over func(from, run int, weight float64) // multisets, with the number of their orders
	over = func(from, run int, weight float64) {
		if weight < 1e-18 {
			return
		}
		if left := t - 1 - len(others); left > 0 {
			for i := from; i < nodes; i++ {
				length := 1
				if i == from {
					length = run + 1
				}
				others = append(others, ratios[i])
				over(i, length, weight*weights[i]*float64(left)/float64(length))
				others = others[:len(others)-1]
			}
			return
		}
		e := symmetric(others, k) // the ratio is (e_k + e_(k-1) r) / subsets
		forward += weight * e[k-1] * call((up-e[k])/e[k-1]) / subsets
		reverse += weight * e[k-1] * put((down-e[k])/e[k-1]) / down
	}
	over(0, 0, 1)
	return forward, reverse
}

// lowerOf returns what the sum over the steps shows, in one order, computed as for a delta of e^depth.
func lowerOf(t *testing.T, s several, reverse bool, delta, depth float64) float64 {
	p := newPLD(t, PLDConfig{})
	below := &schedule{most: p.maxPoints(), logDelta: depth}
	require.NoError(t, below.add(pairKey{pairSeveral, float64(s.steps), s.sigma, float64(s.count)}, 1))
	v, err := p.oneOrder(t.Context(), below, reverse, target{deltaUp: delta, deltaLow: delta, gap: 1e-3, onlyLower: true})
	require.NoError(t, err)
	return v.lower
}

// k steps of t, for t to 6, against the exact law: both orders, computed both ways, are below it and
// near. So is the interval as a whole.
func TestSeveralIsBelowTheExactLaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		steps, count, nodes int
		sigma               float64
		epsilons            []float64
	}{
		{2, 1, 4000, 1, []float64{0.1, 3}}, {3, 2, 500, 1, []float64{0.2, 1, 4}}, {3, 2, 500, 0.4, []float64{3}}, {3, 2, 300, 5, []float64{0.1, 0.8}},
		{4, 2, 120, 1, []float64{0.3, 2}}, {4, 3, 120, 2, []float64{1}}, {5, 2, 60, 2, []float64{0.3, 1}}, {5, 3, 60, 1.5, []float64{0.5, 2}},
		{6, 3, 30, 3, []float64{0.2, 1}}, {6, 2, 30, 2.5, []float64{0.5}},
	} {
		s := several{int64(c.steps), int64(c.count), c.sigma}
		for _, eps := range c.epsilons {
			forward, back := severalDelta(c.steps, c.count, c.nodes, c.sigma, eps)
			for _, depth := range []float64{-1, -40} {
				for _, reverse := range []bool{false, true} {
					delta := forward
					if reverse {
						delta = back
					}
					if delta < 1e-9 {
						continue // quadrature says no more
					}
					got := lowerOf(t, s, reverse, delta, depth)
					assert.LessOrEqual(t, got, eps*(1+1e-9), "%+v reverse %v at %v", c, reverse, eps)
					assert.Greater(t, got, 0.8*eps-0.01, "%+v reverse %v at %v", c, reverse, eps)
				}
			}
			truth := math.Max(forward, back)
			p := newPLD(t, PLDConfig{Gap: 0.01})
			require.NoError(t, p.Compose(RandomAllocation{int64(c.count), int64(c.steps), Gaussian{c.sigma}}, 1))
			b, err := p.EpsilonContext(t.Context(), truth)
			require.NoError(t, err)
			assert.LessOrEqual(t, b.Lower, eps*(1+1e-9), "%+v at %v", c, eps)
			assert.GreaterOrEqual(t, b.Upper, eps*(1-1e-9), "%+v at %v", c, eps)
			d, err := p.DeltaContext(t.Context(), eps)
			require.NoError(t, err)
			assert.LessOrEqual(t, d.Lower, truth*(1+1e-9), "%+v at %v", c, eps)
			assert.GreaterOrEqual(t, d.Upper, truth*(1-1e-9), "%+v at %v", c, eps)
			assert.Greater(t, d.Lower, truth/2, "%+v at %v", c, eps)
		}
	}
}

// The masses of a sum on a small lattice, each within the bounds that a tilt gives, against sums of
// positive products. Where outcomes are rarer than the rounding of a transform the bounds are what counts.
func TestSeveralBoundsEveryMass(t *testing.T) {
	t.Parallel()
	for _, s := range []several{{4, 1, 1}, {5, 2, 0.5}, {9, 3, 2}} {
		f := s.term(800, -1)
		m := mixture{float64(s.count) / float64(s.steps), s.sigma}
		z := math.Inf(-1)
		for i := range f.none { // masses of f by the normal law itself
			end := m.at(f.h * (float64(f.lo+i) + 0.5))
			if i == len(f.none)-1 {
				end = math.Inf(1)
			}
			assert.InDelta(t, normalCDF(end)-normalCDF(z), f.none[i], 1e-13)
			assert.InDelta(t, normalCDF(end-1/s.sigma)-normalCDF(z-1/s.sigma), f.one[i], 1e-13)
			z = end
		}
		exact := func(count int64) []float64 {
			sum := []float64{1}
			for i := range s.steps {
				p := f.none
				if i < count {
					p = f.one
				}
				next := make([]float64, len(sum)+len(p)-1)
				for a, x := range sum {
					for b, y := range p {
						next[a+b] += x * y
					}
				}
				sum = next
			}
			return sum
		}
		c := &convolver{ctx: context.Background(), maxLength: 1 << 16, accuracy: 1e-16}
		for _, count := range []int64{0, s.count} {
			want, lo := exact(count), f.lo*int(s.steps)
			total := 0.0
			for _, x := range want {
				total += x
			}
			require.InDelta(t, 1, total, 1e-12, "nothing is left out")
			rare := 0
			for _, lambda := range []float64{-3, 0, 1, 4} {
				law, ok := s.sum(c, f, lambda, count)
				require.True(t, ok)
				known := 0
				for i := 0; i+1 < len(want); i += 2 {
					truth := math.Log(want[i] + want[i+1])
					least, most := law.least(lo+i, 2), law.most(lo+i, 2)
					require.LessOrEqual(t, least, truth+2e-14, "%+v tilt %v count %d", s, lambda, count)
					require.GreaterOrEqual(t, most, truth-2e-14, "%+v tilt %v count %d", s, lambda, count)
					switch {
					case most-least < 1e-9:
						known++
					case math.IsInf(least, -1):
						rare++
					}
				}
				assert.Greater(t, known, 5, "%+v tilt %v", s, lambda)
			}
			assert.Greater(t, rare, 20, "%+v count %d", s, count)
		}
	}
}

// Each order of the pair has the first law rounded down and the second up.
func TestSeveralRoundsBothLaws(t *testing.T) {
	t.Parallel()
	for _, s := range []several{{4, 2, 1}, {50, 3, 0.7}, {1000, 40, 2}} {
		for _, depth := range []float64{-1, -60} {
			for _, reverse := range []bool{false, true} {
				o := s.outcomes(t.Context(), reverse, depth, 1<<19)
				p, q := 0.0, 0.0
				for i, l := range o.loss {
					p, q = p+math.Exp(o.logp[i]), q+math.Exp(o.logp[i]-l)
				}
				first, second := p, q
				if reverse {
					first, second = q, p
				}
				assert.Less(t, first, 1.0, "%+v", s)
				assert.Greater(t, first, 1-1e-8, "%+v", s)
				if !reverse || s.sigma > 1 { // where the second law is, the first is too
					assert.Greater(t, second, 1.0, "%+v", s)
				}
			}
		}
	}
}

// Intervals of 20 to 100 steps hold what is sampled. A record's steps are drawn, and their noise
// moved further; each interval end may be 5 standard errors off, which happens once in 3 million.
func TestSeveralHoldsWhatIsSampled(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(3, 14))
	for _, c := range []struct {
		steps, count         int
		sigma, epsilon, move float64
	}{{20, 3, 1, 2, 0.3}, {20, 10, 3, 2, 0.1}, {50, 2, 0.7, 2, 0.7}, {100, 5, 1, 1.2, 0.4}, {100, 40, 4, 3, 0.1}, {60, 3, 0.5, 9, 0.5}} {
		const samples = 20000
		mean, square := 0.0, 0.0
		ratios := make([]float64, c.steps)
		for range samples {
			log := 0.0 // of the weight
			for i := range ratios {
				z := rnd.NormFloat64()
				if i < c.count {
					log -= c.move*z + c.move*c.move/2
					z += 1/c.sigma + c.move
				}
				ratios[i] = math.Exp(z/c.sigma - 0.5/(c.sigma*c.sigma))
			}
			loss := math.Log(symmetric(ratios, c.count)[c.count] / choose(c.steps, c.count))
			if loss > c.epsilon {
				x := -math.Expm1(c.epsilon-loss) * math.Exp(log)
				mean += x / samples
				square += x * x / samples
			}
		}
		far := 5 * math.Sqrt((square-mean*mean)/samples)
		p := newPLD(t, PLDConfig{Gap: 0.02})
		require.NoError(t, p.Compose(RandomAllocation{int64(c.count), int64(c.steps), Gaussian{c.sigma}}, 1))
		d, err := p.DeltaContext(t.Context(), c.epsilon)
		require.NoError(t, err)
		assert.LessOrEqual(t, d.Lower, mean+far, "%+v", c)
		assert.GreaterOrEqual(t, d.Upper, mean-far, "%+v", c)
		t.Logf("%+v: %.3g to %.3g, sampled %.3g ± %.2g", c, d.Lower, d.Upper, mean, far/5)
	}
}

// The lower end is useful where few steps of many are taken, with each kind of noise, and never less
// than what the sum of the outputs shows.
func TestSeveralIsNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k, steps                       int64
		sigma, delta, share, of, least float64
	}{
		{k: 10, steps: 10000, sigma: 1, delta: 1e-5, share: 0.997}, {k: 10, steps: 10000, sigma: 1, delta: 1e-12, share: 0.99},
		{k: 3, steps: 300, sigma: 0.5, delta: 1e-6, share: 0.85}, {k: 2, steps: 1000000, sigma: 2, delta: 1e-5, share: 0.98},
		{k: 30, steps: 100, sigma: 5, delta: 1e-5, share: 0.98}, {k: 99, steps: 100, sigma: 2, delta: 1e-5, share: 0.99}, {k: 10, steps: 100, sigma: 1e5, delta: 1e-9, share: 0},
		{k: 10, steps: 100, sigma: 0.04, delta: 1e-5, share: 0}, {k: 5, steps: 1 << 40, sigma: 1, delta: 1e-5, share: 0},
	} {
		b, _ := intervalOf(t, c.delta, RandomAllocation{c.k, c.steps, Gaussian{c.sigma}})
		assert.GreaterOrEqual(t, b.Lower, c.share*b.Upper, "%+v: %v", c, b.Bound)
		sum, err := GaussianEpsilon(c.sigma*math.Sqrt(float64(c.steps))/float64(c.k), c.delta)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, b.Lower, sum*(1-1e-9), "%+v", c)
	}
	// With other events, and little memory.
	for _, memory := range []int64{1 << 20, 0} {
		p := newPLD(t, PLDConfig{MaxMemory: memory})
		require.NoError(t, p.Compose(RandomAllocation{4, 100, Gaussian{2}}, 3))
		require.NoError(t, p.Compose(PoissonSampled{0.1, Gaussian{2}}, 20))
		require.NoError(t, p.Compose(Laplace{5}, 1))
		b, err := p.EpsilonContext(t.Context(), 1e-6)
		require.NoError(t, err)
		assert.LessOrEqual(t, b.Lower, b.Upper)
		assert.Greater(t, b.Lower, 0.9*b.Upper, "%d bytes: %+v", memory, b)
		require.Less(t, several{7, 3, 1}.outcomes(t.Context(), false, -20, 16).loss[0], 1e-9, "hardly a lattice")
	}
}
