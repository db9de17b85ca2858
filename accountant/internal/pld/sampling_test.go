package pld

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/mathx"
)

// base is a symmetric pair (P, Q) with its hockey-stick divergence at e^x.
type base struct {
	pair       Pair
	divergence func(x float64) float64
}

func laplaceBase(noise float64) base {
	return base{Laplace(1 / noise), func(x float64) float64 {
		switch eps := 1 / noise; {
		case x >= eps:
			return 0
		case x <= -eps:
			return -math.Expm1(x)
		default:
			return -math.Expm1((x - eps) / 2)
		}
	}}
}

func gaussianBase(noise float64) base {
	return base{Gaussian(noise, 1), func(x float64) float64 {
		return math.Exp(mathx.LogNormalCDF(0.5/noise-x*noise)) - math.Exp(x+mathx.LogNormalCDF(-0.5/noise-x*noise))
	}}
}

// atomsBase sums over the outcomes of integer noise.
func atomsBase(p Pair, a *atoms) base {
	return base{p, func(x float64) (sum float64) {
		for i, logp := range a.logp {
			if l := a.loss(i); l > x {
				sum += math.Exp(logp) * -math.Expm1(x-l)
			}
		}
		return sum
	}}
}

func bases() []base {
	out := []base{laplaceBase(0.4), laplaceBase(1), laplaceBase(7), gaussianBase(1), gaussianBase(0.4), gaussianBase(6)}
	for _, c := range []struct {
		sigma       float64
		coordinates int
	}{{0.5, 1}, {1.3, 2}, {2, 3}, {4, 1}} {
		out = append(out, atomsBase(DiscreteGaussian(c.sigma, int64(c.coordinates)), discreteGaussian(c.sigma, c.coordinates)))
	}
	for _, c := range []struct {
		scale float64
		shift int64
	}{{0.5, 1}, {3, 5}, {1, 2}} {
		out = append(out, atomsBase(DiscreteLaplace(c.scale, c.shift), discreteLaplace(c.scale, c.shift)))
	}
	return out
}

// onSample is delta of ((1-q)Q + qP, Q) or, reverse, of (Q, (1-q)Q + qP): against e^x = 1-q + q e^y, (1-q)Q
// + qP - e^x Q = q (P - e^y Q).
func (b base) onSample(q, x float64, reverse bool) float64 {
	if !reverse {
		if y := mathx.LogUnmix(q, x); !math.IsInf(y, -1) {
			return q * b.divergence(y)
		}
		return -math.Expm1(x)
	}
	if y := mathx.LogUnmix(q, -x); !math.IsInf(y, -1) {
		return q * math.Exp(x+y) * b.divergence(-y)
	}
	return 0
}

// The laws of one step on either side of the exact delta, whatever the tilt and however coarse the grid, as
// TestLawsAtAnyTilt has it for Gaussian noise.
func TestSampledLawsAtAnyTilt(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(12, 6))
	checked, tight := 0, 0
	for _, b := range bases() {
		for try := range 6 {
			q := math.Pow(10, -4*rnd.Float64())
			key := b.pair.OnPoissonSample(q)
			if try%3 == 0 {
				key = b.pair.OnFixedSample(q)
			}
			reverse := try%3 == 1
			asked := &query{parts: componentsOf(t, sumOf(1, key), reverse), reverse: reverse}
			if key.kind == pairDrawnResponse || key.kind == pairSampled { // an upper bound, or tested there
				continue
			}
			asked.aimDelta(-math.Pow(10, 2*rnd.Float64()), 1e-3)
			c := &asked.parts[0]
			h := asked.spread * math.Pow(10, 0.5-2.5*rnd.Float64())
			c.aligned = c.aligned || rnd.IntN(2) == 0
			for _, up := range []bool{true, false} {
				law, err := c.law(t.Context(), h, asked.lambda, reverse, up, 1<<20)
				if err != nil || !law.sound() {
					continue
				}
				for i, l := range []*tilted{law, law.onto(3*law.h, asked.lambda, up), law.onto(2.7*law.h, asked.lambda, up), law.onto(20*law.h, asked.lambda, up)} {
					pr := newProfile(l, asked.lambda, up)
					for range 5 {
						eps := asked.center + (2*rnd.Float64()-1)*4*math.Max(h, asked.spread)
						want := b.onSample(q, eps, reverse)
						if key.drawn() {
							if eps = math.Abs(eps); eps > 0 {
								want = b.onSample(q, eps, false)
							}
						}
						if want < 1e-14 { // the sums over outcomes have rounding of their own
							continue
						}
						got := pr.delta(eps)
						if up {
							require.GreaterOrEqual(t, got, want*(1-1e-9)-1e-17, "%v h=%v law %d lambda=%v eps=%v reverse=%v", key, h, i, asked.lambda, eps, reverse)
						} else {
							require.LessOrEqual(t, got, want*(1+1e-9)+1e-17, "%v h=%v law %d lambda=%v eps=%v reverse=%v", key, h, i, asked.lambda, eps, reverse)
						}
						checked++
						if math.Abs(got/want-1) < 0.1 {
							tight++
						}
					}
				}
			}
		}
	}
	t.Logf("%d comparisons, %d within a tenth", checked, tight)
	require.Greater(t, tight, checked/4)
}
