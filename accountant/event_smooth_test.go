package accountant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// normalDivergence is the divergence of order a of N(0, 1) from N(mean, sd^2), by quadrature.
func normalDivergence(a, mean, sd float64) float64 {
	log := func(x float64) float64 { // of p^a q^(1-a)
		z := (x - mean) / sd
		return -a*x*x/2 - (1-a)*(z*z/2+math.Log(sd)) - math.Log(2*math.Pi)/2
	}
	c := a + (1-a)/(sd*sd) // the integrand is a normal density of precision c around peak
	peak := (1 - a) * mean / (sd * sd) / c
	top := log(peak)
	width := 12 / math.Sqrt(c)
	return (math.Log(simpson(func(x float64) float64 { return math.Exp(log(x) - top) }, peak-width, peak+width)) + top) / (a - 1)
}

// The curve is never below the divergence of two releases that smooth sensitivity allows, whichever of the
// two bounds is the larger, and reached by the worst.
func TestGNSSAgainstQuadrature(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(23, 1))
	closest := 0.0
	for range 200 {
		a := 1 + math.Exp(4*rnd.Float64()-1)
		e := GNSS{Beta: rnd.Float64() * 0.49 / a, Sigma: math.Exp(3 * rnd.Float64()), Margin: 3 * rnd.Float64() * float64(rnd.IntN(2))}
		claim := e.curve()(a)
		if math.IsInf(claim, 1) {
			continue
		}
		for _, t0 := range []float64{-e.Beta, -e.Beta / 2, 0, e.Beta / 2, e.Beta} {
			ratio := math.Exp(t0) // of the two smooth bounds; noise in units of the first
			shift := math.Min(1, ratio)/e.Sigma + e.Margin*math.Abs(1-ratio)
			truth := normalDivergence(a, shift, ratio)
			require.LessOrEqual(t, truth, claim*(1+1e-7)+1e-9, "%+v order %v ratio e^%v", e, a, t0)
			closest = math.Max(closest, truth/claim)
		}
	}
	assert.InDelta(t, 1, closest, 1e-6)
}

// The cost printed in the paper, at the parameters its code chooses, is below the divergence of two laws
// that smooth sensitivity allows.
func TestPrintedGNSSCostIsNoBound(t *testing.T) {
	const a, beta, sigma = 17, .02824, 7.703
	printed := a*math.Exp(2*beta)/(sigma*sigma) + (beta*a-math.Log(1-2*a*beta)/2)/(a-1)
	truth := normalDivergence(a, math.Exp(-beta)/sigma, math.Exp(-beta))
	assert.InDelta(t, 0.434, printed, 1e-3)
	assert.Greater(t, truth, 4*printed)
	assert.InEpsilon(t, truth, GNSS{beta, sigma, 0}.curve()(a), 1e-7)
}
