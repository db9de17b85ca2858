package pld_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/testkit"
)

func newPLD(t testing.TB, cfg accountant.PLDConfig) *accountant.PLD {
	t.Helper()
	return testkit.Must(accountant.NewPLD(cfg))
}

func normalCDF(x float64) float64 { return math.Exp(mathx.LogNormalCDF(x)) }

func allocation(k, steps int64, sigma float64) accountant.Event {
	return accountant.RandomAllocation{K: k, Steps: steps, Event: accountant.Gaussian{NoiseMultiplier: sigma}}
}

func choose(n, k int) float64 {
	out := 1.0
	for i := range k {
		out *= float64(n-i) / float64(i+1)
	}
	return out
}

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

// severalDelta is the exact delta of k random steps of t, in both orders. The likelihood ratio is the
// elementary symmetric polynomial of degree k over the number of subsets, which is linear in the last
// ratio; so with all others fixed the mean over the last is that of a call or a put, and the others are a
// product of trapezoid rules.
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
					got := pld.LowerOf(t, int64(c.steps), int64(c.count), c.sigma, reverse, delta, depth)
					assert.LessOrEqual(t, got, eps*(1+1e-9), "%+v reverse %v at %v", c, reverse, eps)
					assert.Greater(t, got, 0.8*eps-0.01, "%+v reverse %v at %v", c, reverse, eps)
				}
			}
			truth := math.Max(forward, back)
			p := newPLD(t, accountant.PLDConfig{Relation: accountant.AddRemove, Gap: 0.01})
			require.NoError(t, p.Compose(allocation(int64(c.count), int64(c.steps), c.sigma), 1))
			b := testkit.Must(p.Epsilon(t.Context(), truth))
			assert.LessOrEqual(t, b.Lower, eps*(1+1e-9), "%+v at %v", c, eps)
			assert.GreaterOrEqual(t, b.Upper, eps*(1-1e-9), "%+v at %v", c, eps)
			d := testkit.Must(p.Delta(t.Context(), eps))
			assert.LessOrEqual(t, d.Lower, truth*(1+1e-9), "%+v at %v", c, eps)
			assert.GreaterOrEqual(t, d.Upper, truth*(1-1e-9), "%+v at %v", c, eps)
			assert.Greater(t, d.Lower, truth/2, "%+v at %v", c, eps)
		}
	}
}

// Intervals of 20 to 100 steps hold what is sampled. A record's steps are drawn, and their noise moved
// further; each interval end may be 5 standard errors off, which happens once in 3 million.
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
		p := newPLD(t, accountant.PLDConfig{Relation: accountant.AddRemove, Gap: 0.02})
		require.NoError(t, p.Compose(allocation(int64(c.count), int64(c.steps), c.sigma), 1))
		d := testkit.Must(p.Delta(t.Context(), c.epsilon))
		assert.LessOrEqual(t, d.Lower, mean+far, "%+v", c)
		assert.GreaterOrEqual(t, d.Upper, mean-far, "%+v", c)
		t.Logf("%+v: %.3g to %.3g, sampled %.3g ± %.2g", c, d.Lower, d.Upper, mean, far/5)
	}
}

func TestAllocationContainsTheExactLaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		steps, nodes int
		sigma        float64
		epsilons     []float64
	}{
		{2, 4000, 1, []float64{0.1, 1, 3}}, {2, 4000, 0.4, []float64{1, 5}}, {2, 4000, 8, []float64{0.01, 0.2}},
		{3, 500, 0.7, []float64{0.3, 2}}, {3, 500, 2, []float64{0.3, 1}},
		{4, 120, 1.5, []float64{0.2, 1}}, {5, 60, 2, []float64{0.5}}, {6, 30, 3, []float64{0.2}},
	} {
		for _, eps := range c.epsilons {
			truth := math.Max(severalDelta(c.steps, 1, c.nodes, c.sigma, eps))
			for _, e := range []accountant.Event{
				allocation(1, int64(c.steps), c.sigma),
				accountant.BallsInBins{Bins: int64(c.steps), Epochs: 9, Event: accountant.Gaussian{NoiseMultiplier: 3 * c.sigma}},
			}[c.steps%2 : c.steps%2+1] {
				p := newPLD(t, accountant.PLDConfig{Relation: accountant.AddRemove})
				require.NoError(t, p.Compose(e, 1))
				d := testkit.Must(p.Delta(t.Context(), eps))
				assert.GreaterOrEqual(t, d.Upper, truth*(1-1e-9), "%+v at %v", e, eps)
				assert.LessOrEqual(t, d.Lower, truth*(1+1e-9), "%+v at %v", e, eps)
				assert.InEpsilon(t, truth, d.Upper, 0.02, "%+v at %v", e, eps)
				assert.InEpsilon(t, truth, d.Lower, 0.02, "%+v at %v", e, eps)
				b := testkit.Must(p.Epsilon(t.Context(), truth))
				assert.GreaterOrEqual(t, b.Upper, eps*(1-1e-9), "%+v", e)
				assert.LessOrEqual(t, b.Lower, eps*(1+1e-9), "%+v", e)
				assert.LessOrEqual(t, b.Upper-b.Lower, 1e-3, "%+v", e)
				r := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove}))
				require.NoError(t, r.Compose(e, 1))
				assert.GreaterOrEqual(t, testkit.Must(r.Delta(context.Background(), eps)).Upper, truth)
			}
		}
	}
}
