package accountant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// exactEpsilon is the rule of Canonne, Kamath, Steinke 2020, or of Mironov 2017.
func exactEpsilon(c Conversion, a, r, delta float64) float64 {
	x := num(a)
	less := x.sub(num(1))
	eps := num(r).sub(num(delta).log().div(less))
	if c == Improved {
		eps = eps.add(less.div(x).log()).sub(x.log().div(less))
	}
	return math.Max(0, eps.float())
}

// exactLogDelta is the same rule, solved for delta.
func exactLogDelta(c Conversion, a, r, eps float64) float64 {
	x := num(a)
	less := x.sub(num(1))
	log := less.mul(num(r).sub(num(eps)))
	if c == Improved {
		log = log.add(less.mul(less.div(x).log())).sub(x.log())
	}
	return math.Min(0, log.float())
}

// Whatever the order, a conversion is never below the rule in 96 digits.
func TestConversionsNeverBelowExact(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(8, *seed))
	log := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rnd.Float64()*math.Log(hi/lo)) }
	for range Cases(exactCases, 1500) {
		a, rho, delta := 1+log(1e-6, 1e7), log(1e-20, 10), log(1e-15, 0.999)
		c := Conversion(rnd.IntN(2))
		r := newRDP(t, RDPConfig{Orders: []float64{a}, Conversion: c})
		require.NoError(t, r.Compose(WithFailure{ZCDP{rho}, 1e-18}, 1)) // no zero by Bretagnolle and Huber
		divergences, failure, err := r.RDP([]float64{a})
		require.NoError(t, err)
		left := num(delta).sub(num(failure)).float() * (1 + 1e-15)
		b := epsAt(t, r, delta)
		truth := exactEpsilon(c, a, divergences[0], math.Min(left, delta))
		require.GreaterOrEqual(t, b.Upper, truth*(1-1e-15), "%v order %v rho %v delta %v", c, a, rho, delta)
		require.LessOrEqual(t, b.Upper, truth*(1+1e-12)+1e-12*(divergences[0]+30/(a-1)), "%v order %v rho %v delta %v", c, a, rho, delta)

		eps := log(1e-9, 50)
		d := deltaAt(t, r, eps)
		require.GreaterOrEqual(t, d.Upper, math.Exp(exactLogDelta(c, a, num(a).mul(num(rho)).float(), eps))*(1-1e-15), "%v order %v rho %v epsilon %v", c, a, rho, eps)

		z := testkit.Must(NewZCDP(AddRemove, Improved))
		require.NoError(t, z.Compose(ZCDP{rho}, 1))
		b = epsAt(t, z, delta)
		if b.Order > 1+1e-9 && b.Upper > 0 { // any order is valid, so the answer may be checked at its own
			require.GreaterOrEqual(t, b.Upper, exactEpsilon(Improved, b.Order, num(b.Order).mul(num(rho)).float(), delta)*(1-1e-12), "rho %v delta %v", rho, delta)
		}
	}
}

// exactNormalCDF is the Taylor series of the error function, which leaves 30 digits of the tail at -10.
func exactNormalCDF(x exact) exact {
	square := x.mul(x).div(num(2))
	term, sum := x, x
	for k := 1; k < 2000; k++ {
		term = term.mul(square).div(num(float64(k))).neg()
		next := term.div(num(float64(2*k + 1)))
		if next.v.Sign() == 0 || next.v.MantExp(nil) < -precision {
			break
		}
		sum = sum.add(next)
	}
	// sqrt(2 pi) from the value of the series at a point where the tail is nothing
	return num(0.5).add(sum.div(sqrtTwoPi))
}

// sqrtTwoPi by Machin's formula.
var sqrtTwoPi = func() exact {
	arctan := func(inverse float64) exact {
		x := num(1).div(num(inverse))
		sum, power := num(0), x
		for k := 0; k < 300; k++ {
			term := power.div(num(float64(2*k + 1)))
			if k%2 == 1 {
				term = term.neg()
			}
			sum, power = sum.add(term), power.mul(x).mul(x)
		}
		return sum
	}
	pi := num(4).mul(num(4).mul(arctan(5)).sub(arctan(239)))
	return num(2).mul(pi).log().div(num(2)).exp()
}()

// The closed form of Gaussian noise brackets the exact answer: n releases of any noise to 1e9 and any count
// to 9e15.
func TestGaussianIntervalContainsExact(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(9, *seed))
	log := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + rnd.Float64()*math.Log(hi/lo)) }
	for range Cases(exactCases, 1500) / 15 {
		noise, delta := log(0.3, 1e9), log(1e-15, 0.3)
		count := int64(math.Max(1, math.Min(9e15, log(1e-9, 40)*noise*noise)))
		p := newPLD(t, PLDConfig{Relation: AddRemove}, Repeated{Gaussian{noise}, count})
		b := epsAt(t, p, delta)
		mu := num(float64(count)).log().div(num(2)).exp().div(num(noise))
		exactDelta := func(eps float64) exact {
			c := num(eps).div(mu)
			half := mu.div(num(2))
			return exactNormalCDF(half.sub(c)).sub(num(eps).exp().mul(exactNormalCDF(half.add(c).neg())))
		}
		require.LessOrEqual(t, exactDelta(b.Upper).v.Cmp(num(delta).v), 0, "%v x %v delta %v: %v", noise, count, delta, b)
		if b.Lower > 0 {
			require.GreaterOrEqual(t, exactDelta(b.Lower).v.Cmp(num(delta).v), 0, "%v x %v delta %v: %v", noise, count, delta, b)
		}
		d := deltaAt(t, p, b.Upper)
		truth := exactDelta(b.Upper).float()
		require.GreaterOrEqual(t, d.Upper, truth, "%v x %v epsilon %v", noise, count, b.Upper)
		require.LessOrEqual(t, d.Lower, truth, "%v x %v epsilon %v", noise, count, b.Upper)
	}
}
