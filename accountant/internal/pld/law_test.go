package pld

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/testkit"
)

// oneStepDelta is the delta of one step at the loss of z, by quadrature of a positive integrand from its
// zero at z: relative accuracy at any size.
func oneStepDelta(m mixture, z float64, reverse bool) float64 {
	scale := math.Log(m.q) + m.exponent(z) // q e^u, of which the ratio moves
	sign, shift := 1.0, 0.0
	if reverse {
		sign, shift = -1, -m.loss(z)
	}
	sum := 0.0
	for piece := range 150 + int(10*math.Max(0, -sign*z)+10/m.sigma) {
		for _, node := range gaussLegendre8 {
			t := 0.1 * (float64(piece) + node[0])
			x := z + sign*t
			d := math.Log(math.Abs(math.Expm1(sign * t / m.sigma)))
			sum += 0.1 * node[1] * math.Exp(scale+d+shift+mathx.LogNormalPDF(x))
		}
	}
	return sum
}

func TestLawsAtAnyTilt(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	checked, tight := 0, 0
	for range 150 {
		m := mixture{math.Pow(10, -4*rnd.Float64()), math.Pow(10, 2*rnd.Float64()-0.5)}
		kind := pairSampled
		if rnd.IntN(3) == 0 {
			m.q, kind = 1, pairGaussian
		}
		reverse := kind == pairSampled && rnd.IntN(2) == 0
		s := &Sum{}
		s.Add(Pair{kind, m.q, m.sigma, 1}, 1)
		q := &query{parts: componentsOf(t, s, reverse), reverse: reverse}
		q.aimDelta(-math.Pow(10, 2.7*rnd.Float64()), 1e-3)
		h := q.spread * math.Pow(10, 0.5-2.5*rnd.Float64())
		for _, up := range []bool{true, false} {
			law, err := q.parts[0].law(t.Context(), h, q.lambda, reverse, up, 1<<20)
			if err != nil || !law.sound() {
				continue
			}
			for i, l := range []*tilted{law, law.onto(3*h, q.lambda, up), law.onto(2.7*h, q.lambda, up), law.onto(20*h, q.lambda, up)} {
				pr := newProfile(l, q.lambda, up)
				for range 5 {
					at := q.center + (2*rnd.Float64()-1)*4*math.Max(h, q.spread)
					if reverse {
						at = -at
					}
					z := m.at(at)
					if math.IsInf(z, -1) || math.Abs(z) > 100 {
						continue
					}
					eps := m.loss(z)
					if reverse {
						eps = -eps
					}
					want := oneStepDelta(m, z, reverse)
					if want < 1e-290 {
						continue
					}
					got := pr.delta(eps)
					if up {
						require.GreaterOrEqual(t, got, want*(1-1e-9), "%v h=%v law %d lambda=%v eps=%v reverse=%v", m, h, i, q.lambda, eps, reverse)
					} else {
						require.LessOrEqual(t, got, want*(1+1e-9), "%v h=%v law %d lambda=%v eps=%v reverse=%v", m, h, i, q.lambda, eps, reverse)
					}
					checked++
					if math.Abs(got/want-1) < 0.1 {
						tight++
					}
				}
			}
		}
	}
	t.Logf("%d comparisons, %d within a tenth", checked, tight)
	require.Greater(t, tight, checked/10)
}

func TestExponentialLawsAtAnyTilt(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 9))
	for range 300 {
		e := exponential{math.Pow(10, 2*rnd.Float64()-1.5), rnd.IntN(2) == 0}
		kind := pairRange
		if e.atoms {
			kind = pairLaplace
		}
		s := &Sum{}
		s.Add(Pair{kind, e.epsilon, 0, 0}, 1)
		c := componentsOf(t, s, false)[0]
		lambda := math.Pow(10, 3*rnd.Float64()-1)
		h := e.epsilon / float64(1+rnd.IntN(300))
		for _, up := range []bool{true, false} {
			law := testkit.Must(c.law(t.Context(), h, lambda, false, up, 1<<20))
			for i, l := range []*tilted{law, law.onto(3*h, lambda, up), law.onto(1.7*h, lambda, up)} {
				if !l.sound() {
					continue
				}
				pr := newProfile(l, lambda, up)
				for range 5 {
					eps := e.epsilon * rnd.Float64()
					want := -math.Expm1((eps - e.epsilon) / 2)
					if !e.atoms {
						want = math.Exp(eps-e.epsilon) * math.Pow(math.Expm1((e.epsilon-eps)/2), 2) / -math.Expm1(-e.epsilon)
					}
					got := pr.delta(eps)
					if up {
						require.GreaterOrEqual(t, got, want*(1-1e-9), "%v h=%v law %d lambda=%v eps=%v", e, h, i, lambda, eps)
					} else {
						require.LessOrEqual(t, got, want*(1+1e-9), "%v h=%v law %d lambda=%v eps=%v", e, h, i, lambda, eps)
					}
				}
			}
		}
	}
}

func TestCellsKeepTheirMasses(t *testing.T) {
	t.Parallel()
	for _, m := range []mixture{{0.01, 1}, {0.5, 0.3}, {1e-5, 1}, {1, 2}, {0.9, 0.02}} {
		for _, reverse := range []bool{false, true} {
			s := &Sum{}
			s.Add(Pair{pairSampled, m.q, m.sigma, 0}, 1)
			c := componentsOf(t, s, reverse)[0]
			for _, up := range []bool{true, false} {
				for _, h := range []float64{1e-2, 1e-3} {
					if m.q == 1 && reverse {
						continue
					}
					law := testkit.Must(c.law(t.Context(), h, 0, reverse, up, 1<<26))
					var sumP, sumQ float64
					for i, x := range law.p {
						x *= math.Exp(law.logM)
						sumP += x
						sumQ += x * math.Exp(-law.loss(i))
					}
					sumP += law.inf
					if up {
						assert.InDelta(t, 1, sumP, 1e-11, "%v", m)
						assert.LessOrEqual(t, sumQ, 1+1e-11)
					} else {
						assert.LessOrEqual(t, sumP, 1+1e-11)
						assert.LessOrEqual(t, sumQ, 1+1e-11)
						assert.Greater(t, sumP, 0.9)
					}
					pr := newProfile(law, 0, up)
					for _, eps := range []float64{0, 0.004, 0.3, 1.7} { // one step, exactly
						want := exactSampledDelta(m, eps, reverse)
						if up {
							assert.GreaterOrEqual(t, pr.delta(eps), want-1e-15, "%v %v", m, eps)
						} else {
							assert.LessOrEqual(t, pr.delta(eps), want+1e-15, "%v %v", m, eps)
						}
					}
				}
			}
		}
	}
}

func exactSampledDelta(m mixture, eps float64, reverse bool) float64 {
	if reverse {
		z := m.at(-eps)
		if math.IsInf(z, -1) {
			return 0
		}
		return math.Exp(mathx.LogNormalCDF(z)) - math.Exp(eps+m.logHeadP(z))
	}
	z := m.at(eps)
	return math.Exp(m.logTailP(z)) - math.Exp(eps+mathx.LogNormalCDF(-z))
}

func TestDrawnLawSumsToOne(t *testing.T) {
	for _, m := range []mixture{{0.01, 1}, {0.3, 0.4}, {0.9, 3}} {
		law := drawnMixture{m}.roughLaw(1/m.sigma + 42)
		sum := 0.0
		for _, w := range law.logw {
			sum += math.Exp(w)
		}
		require.InDelta(t, 1, sum, 1e-9, "%+v", m)
	}
}

func TestPureIsTheLargestLossOfAnOrder(t *testing.T) {
	t.Parallel()
	for _, k := range []Pair{
		{pairSampledResponse, 0.3, 1.5, 0}, {pairSampledLaplace, 0.3, 1.5, 0}, {pairSampledDiscreteLaplace, 0.3, 2, 3},
		{pairDrawnResponse, 0.3, 1.5, 0}, {pairDrawnDiscreteLaplace, 0.3, 2, 3}, {pairLaplace, 1.5, 0, 0}, {pairRange, 1.5, 0, 0},
		{pairResponse, 1.5, 0, 0}, {pairKary, 1.5, 4, 0}, {pairDiscreteLaplace, 2, 3, 0}, {pairSampled, 0.3, 1, 0}, {pairSampledDiscreteGaussian, 0.3, 1, 1},
	} {
		for _, reverse := range []bool{false, true} {
			s := &Sum{}
			s.Add(k, 1)
			losses := componentsOf(t, s, reverse)[0].roughLaw.loss
			largest := losses[len(losses)-1]
			require.GreaterOrEqual(t, s.Pure(reverse)*(1+1e-12), largest, "%+v reverse %v", k, reverse)
			if !math.IsInf(s.Pure(reverse), 1) {
				require.InEpsilon(t, s.Pure(reverse), largest, 0.01, "%+v reverse %v", k, reverse)
			}
		}
	}
}

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
