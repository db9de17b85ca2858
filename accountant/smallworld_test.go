package accountant

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pate-go/pate/internal/testkit"
)

func product(p, q []float64) []float64 {
	var out []float64
	for _, x := range p {
		for _, y := range q {
			out = append(out, x*y)
		}
	}
	return out
}

func law(n int, mass func(k float64) float64) []float64 {
	p, sum := make([]float64, 2*n+1), 0.0
	for k := -n; k <= n; k++ {
		p[k+n] = mass(float64(k))
		sum += p[k+n]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

func shift(p []float64, s int) []float64 {
	q := make([]float64, len(p))
	for i := range q {
		j := i - s
		if j < 0 || j >= len(p) {
			j = (j + len(p)) % len(p)
		}
		q[i] = p[j]
	}
	return q
}

var smallOrders = []float64{1.01, 1.1, 1.5, 2, 2.5, 3, 4.7, 8, 16, 64}

func TestSmallWorldCurves(t *testing.T) {
	for name, world := range map[string]struct {
		event Event
		p, q  []float64
		tight bool
	}{
		"randomised response":           {RandomizedResponse{1}, []float64{1 / (1 + math.E), math.E / (1 + math.E)}, []float64{math.E / (1 + math.E), 1 / (1 + math.E)}, true},
		"pure DP holds a skewed law":    {PureDP{1}, []float64{0.2, 0.8}, []float64{0.2 / 2, 0.9}, false},
		"exponential mechanism":         {ExponentialMechanism{0.8}, []float64{0.5, 0.5}, []float64{1 / (1 + math.Exp(0.8)), 1 / (1 + math.Exp(-0.8))}, false},
		"discrete Laplace by 1":         {DiscreteLaplace{2, 1}, law(400, func(k float64) float64 { return math.Exp(-math.Abs(k) / 2) }), nil, true},
		"discrete Laplace by 3":         {DiscreteLaplace{2, 3}, law(400, func(k float64) float64 { return math.Exp(-math.Abs(k) / 2) }), nil, true},
		"discrete Gaussian by 1":        {DiscreteGaussian{1.3, 1}, law(25, func(k float64) float64 { return math.Exp(-k * k / (2 * 1.69)) }), nil, false},
		"discrete Gaussian by 2":        {DiscreteGaussian{0.7, 2}, law(20, func(k float64) float64 { return math.Exp(-k * k / (2 * 0.49)) }), nil, false},
		"discrete Gaussian wide, by 10": {DiscreteGaussian{5, 10}, law(150, func(k float64) float64 { return math.Exp(-k * k / 50) }), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := curveOf(world.event)
			q := world.q
			if q == nil {
				switch e := world.event.(type) {
				case DiscreteLaplace:
					q = shift(world.p, int(e.Sensitivity))
				case DiscreteGaussian:
					q = shift(world.p, int(e.Sensitivity))
				}
			}
			// The table ends where the noise has no mass left; high orders would weigh its seam.
			for _, a := range smallOrders {
				if a > 8 && world.q == nil {
					continue
				}
				for _, d := range []float64{testkit.Renyi(world.p, q, a), testkit.Renyi(q, world.p, a)} {
					assert.LessOrEqual(t, d, c(a)*(1+1e-9), "order %v", a)
				}
				if world.tight {
					assert.InEpsilon(t, testkit.Renyi(world.p, q, a), c(a), 1e-9, "order %v", a)
				}
			}
		})
	}
}

func TestSmallWorldComposition(t *testing.T) {
	p, q := []float64{0.25, 0.75}, []float64{0.75, 0.25} // epsilon log 3
	lap := law(60, func(k float64) float64 { return math.Exp(-math.Abs(k) / 1.5) })
	account := newRDP(t, RDPConfig{}, Repeated{RandomizedResponse{math.Log(3)}, 3}, DiscreteLaplace{1.5, 1})
	one, other := lap, shift(lap, 1)
	for range 3 {
		one, other = product(one, p), product(other, q)
	}
	for _, eps := range []float64{0, 0.3, 1, 2, 3, 3.9} {
		b := deltaAt(t, account, eps)
		exact := testkit.HockeyStick(one, other, eps)
		assert.LessOrEqual(t, exact, b.Upper, "epsilon %v", eps)
		assert.Less(t, b.Upper, 20*exact+1e-9, "epsilon %v: not useless either", eps)
		assert.Greater(t, b.Upper, 0.0)
	}
	assert.Zero(t, deltaAt(t, account, 3*math.Log(3)+1/1.5+1e-9).Upper)
}

// A stability release on neighbours with different answers: one has the label "a" at distance 0, the other
// "b". Outputs: a, b, fail.
func TestSmallWorldMStab(t *testing.T) {
	const eps, threshold = 0.5, 10
	release := func(d float64) float64 { // P[d + Lap(1/eps) > threshold], d <= threshold
		return 0.5 * math.Exp(-eps*(threshold-d))
	}
	for name, pair := range map[string][2][]float64{
		"different answers": {{release(0), 0, 1 - release(0)}, {0, release(0), 1 - release(0)}},
		"same answer":       {{release(4), 0, 1 - release(4)}, {release(5), 0, 1 - release(5)}},
	} {
		one, other := pair[0], pair[1]
		a := newRDP(t, RDPConfig{}, Repeated{MStab{eps, threshold}, 2})
		p2, q2 := product(one, one), product(other, other)
		for _, e := range []float64{0, 0.2, 0.5, 1, 2} {
			b := deltaAt(t, a, e)
			assert.LessOrEqual(t, testkit.HockeyStick(p2, q2, e), b.Upper, "%s at %v", name, e)
			assert.LessOrEqual(t, testkit.HockeyStick(q2, p2, e), b.Upper, "%s at %v", name, e)
		}
		b := testkit.Must(a.Epsilon(context.Background(), math.Exp(-eps*threshold)*0.9)) // below the failure of two runs
		assert.True(t, math.IsInf(b.Upper, 1), "no finite epsilon below the failure probability")
		b = epsAt(t, a, math.Exp(-eps*threshold)*1.1)
		assert.LessOrEqual(t, b.Upper, 2*eps)
	}
}

func TestSmallWorldStableSVT(t *testing.T) {
	e := StableSVT{B1: 2, B2: 3, Threshold: 4, Failures: 1}
	// transcript i < 3: query i fails after i releases; 3: all released. Where the answers differ (distance
	// 0 under both) a release separates the two.
	transcripts := func(d []int, side int) map[[2]int]float64 {
		r1, r2 := math.Exp(-1/e.B1), math.Exp(-1/e.B2)
		out := map[[2]int]float64{}
		for rho := 0; rho < 400; rho++ {
			p := (1 - r1) * math.Pow(r1, float64(rho))
			seen := 0
			for i, di := range d {
				room := di - int(e.Threshold) + rho
				pass := 0.0
				if room > 0 {
					pass = 1 - math.Pow(r2, float64(room))
				}
				out[[2]int{i, seen}] += p * (1 - pass)
				p *= pass
				if di == 0 {
					seen = 1 + side
				}
			}
			out[[2]int{len(d), seen}] += p
		}
		return out
	}
	a := newRDP(t, RDPConfig{}, e)
	for _, pair := range [][2][]int{
		{{0, 5, 3}, {0, 6, 2}}, {{7, 1, 4}, {6, 2, 5}}, {{0, 0, 0}, {0, 0, 0}}, {{5, 5, 0}, {6, 6, 0}}, {{1, 8, 8}, {2, 7, 7}},
	} {
		one, other := transcripts(pair[0], 0), transcripts(pair[1], 1)
		for _, eps := range []float64{0, 0.3, 0.7, 1.1, 1.17} {
			exact, reverse := 0.0, 0.0
			for k, p := range one {
				exact += math.Max(0, p-math.Exp(eps)*other[k])
			}
			for k, p := range other {
				reverse += math.Max(0, p-math.Exp(eps)*one[k])
			}
			assert.LessOrEqual(t, math.Max(exact, reverse), deltaAt(t, a, eps).Upper+1e-12, "%v at %v", pair, eps)
		}
	}
}

func TestNegativeControls(t *testing.T) {
	t.Run("integer orders alone are loose when epsilon is large", func(t *testing.T) {
		var integers []float64
		for a := 2.0; a <= 64; a++ {
			integers = append(integers, a)
		}
		free := epsilonOf(t, RDPConfig{}, 1e-5, sgd(0.2, 1, 2000)).Upper
		assert.InDelta(t, 106.9, free, 0.1)
		assert.Greater(t, epsilonOf(t, RDPConfig{Orders: integers}, 1e-5, sgd(0.2, 1, 2000)).Upper, 1.2*free)
	})
	t.Run("classic is not improved", func(t *testing.T) {
		improved := epsilonOf(t, RDPConfig{}, 1e-5, sgd(0.01, 4, 10000)).Upper
		classic := epsilonOf(t, RDPConfig{Conversion: Classic}, 1e-5, sgd(0.01, 4, 10000)).Upper
		assert.Greater(t, relErr(classic, improved), 0.1)
	})
	t.Run("1-p cancels", func(t *testing.T) {
		exact := testkit.Must(GaussianDelta(1, 7))
		phi := func(x float64) float64 { return 1 - 0.5*math.Erfc(x/math.Sqrt2) }
		naive := phi(0.5-7) - math.Exp(7)*phi(-0.5-7)
		assert.Greater(t, relErr(naive, exact), 1e-6)
	})
	t.Run("log of the whole moment cancels", func(t *testing.T) {
		const q, sigma = 1e-6, 4.0
		naive := math.Log((1-q)*(1-q) + 2*(1-q)*q + q*q*math.Exp(1/(sigma*sigma)))
		assert.Greater(t, relErr(naive, sampledGaussianCurve(q, sigma)(2)), 1e-6)
	})
	t.Run("a curve halved is seen by enumeration", func(t *testing.T) {
		p, q := []float64{0.25, 0.75}, []float64{0.75, 0.25}
		assert.Greater(t, testkit.Renyi(p, q, 2), pureCurve(math.Log(3)/2)(2))
	})
}
