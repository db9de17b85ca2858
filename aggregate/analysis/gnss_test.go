package analysis

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// normalDivergence integrates the divergence of order a of N(m, s^2) from N(n, r^2).
func normalDivergence(m, s, n, r, a float64) float64 {
	// The integrand is a Gaussian itself; its width and centre are those of the
	// product p^a q^{1-a}.
	precision := a/(s*s) + (1-a)/(r*r)
	if precision <= 0 {
		return math.Inf(1)
	}
	width := 1 / math.Sqrt(precision)
	centre := (a*m/(s*s) + (1-a)*n/(r*r)) / precision
	log := func(x float64) float64 {
		p := -(x-m)*(x-m)/(2*s*s) - math.Log(s)
		q := -(x-n)*(x-n)/(2*r*r) - math.Log(r)
		return a*p + (1-a)*q - math.Log(2*math.Pi)/2
	}
	top, sum := log(centre), 0.0
	const step = 0.1
	for i := -120; i <= 120; i++ {
		sum += math.Exp(log(centre+float64(i)*step*width) - top)
	}
	return (top + math.Log(sum*step*width)) / (a - 1)
}

// TestCostOfGNSSIsTheWorstPair: no pair that a smooth sensitivity allows has a
// larger divergence, and one has that divergence.
func TestCostOfGNSSIsTheWorstPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := GNSS{
			Beta:    rapid.Float64Range(0.001, 0.2).Draw(t, "beta"),
			SigmaSS: rapid.Float64Range(0.5, 20).Draw(t, "sigma"),
			Margin:  rapid.Float64Range(0, 4).Draw(t, "margin"),
		}
		limit := -1 / math.Expm1(-2*g.Beta)
		a := rapid.Float64Range(1.01, limit*0.999).Draw(t, "order")
		claim := g.RDP(a)
		pair := func(shrink, distance float64) float64 {
			// f + S SigmaSS (Z + Margin) on data with S = 1 and with S' = e^-shrink.
			other := math.Exp(-shrink)
			return normalDivergence(g.Margin*g.SigmaSS, g.SigmaSS, other*g.Margin*g.SigmaSS-distance, other*g.SigmaSS, a)
		}
		most := math.Exp(-g.Beta)
		require.InEpsilon(t, pair(g.Beta, most), claim, 1e-8)
		shrink := rapid.Float64Range(-g.Beta, g.Beta).Draw(t, "shrink")
		distance := rapid.Float64Range(-1, 1).Draw(t, "distance") * math.Min(1, math.Exp(-shrink))
		require.LessOrEqual(t, pair(shrink, distance), claim*(1+1e-9))
	})
}

// TestThePublishedCostOfGNSSIsTooSmall: at the parameters of a published analysis
// two normal laws that the smooth sensitivity allows differ by far more.
func TestThePublishedCostOfGNSSIsTooSmall(t *testing.T) {
	const a, beta, sigma = 17, 0.48 / 17, 7.703
	printed := printedGNSS(beta, sigma, a)
	shrunk := math.Exp(-beta)
	exact := normalDivergence(0, sigma, shrunk, shrunk*sigma, a)
	t.Logf("published %.4f, divergence %.4f", printed, exact)
	require.Greater(t, exact, 4*printed)
	require.InEpsilon(t, exact, GNSS{Beta: beta, SigmaSS: sigma}.RDP(a), 1e-9)
	require.True(t, math.IsInf(GNSS{Beta: 0.05, SigmaSS: 1}.RDP(11), 1))
	require.Less(t, GNSS{Beta: 0.24 / 17, SigmaSS: sigma}.RDP(a), printedGNSS(0.24/17, sigma, a))
}

func TestGNSSRefusesBadParameters(t *testing.T) {
	for _, g := range []GNSS{{}, {Beta: 1}, {SigmaSS: 1}, {1, 1, -1}, {math.NaN(), 1, 0}, {1, math.Inf(1), 0}, {1, 1, math.NaN()}} {
		require.Error(t, g.Validate(), "%+v", g)
	}
	require.NoError(t, GNSS{0.01, 5, 2}.Validate())
}
