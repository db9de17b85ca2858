package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/mathx"
)

// quantised is the law of a real output seen through cells: what it tells is told by the output itself, so
// it lower-bounds the truth, closely for fine cells.
func quantised(cdf func(x float64) float64, lo, hi float64, cells int) []float64 {
	law := []float64{cdf(lo)}
	for i := range cells {
		a, b := lo+(hi-lo)*float64(i)/float64(cells), lo+(hi-lo)*float64(i+1)/float64(cells)
		law = append(law, cdf(b)-cdf(a))
	}
	return append(law, 1-cdf(hi))
}

func normalCDF(x float64) float64 { return math.Exp(mathx.LogNormalCDF(x)) }

func laplaceCDF(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}

// firstAbove is the law of where AboveThreshold with one answer halts on these queries against the
// threshold 0, by Simpson's rule over the threshold noise.
func firstAbove(e AboveThreshold, queries []float64) []float64 {
	law := make([]float64, len(queries)+1)
	for i := range law {
		law[i] = simpson(func(r float64) float64 {
			p := math.Exp(-math.Abs(r)*e.Epsilon1) * e.Epsilon1 / 2
			for j, q := range queries {
				below := laplaceCDF((r - q) * e.Epsilon2 / 2)
				switch {
				case j < i:
					p *= below
				case j == i:
					p *= 1 - below
				}
			}
			return p
		}, -40/e.Epsilon1, 40/e.Epsilon1)
	}
	return law
}

// One account of everything: a step of DP-SGD, a noisy argmax, a Laplace release, a stability release and a
// sparse vector, all on the same two neighbours, against the product of their output laws.
func TestCompositionOfEverything(t *testing.T) {
	t.Parallel()
	const q, sigma, votes, multiplier = 0.2, 1.5, 3.0, 2.0
	stable := MStab{Epsilon: 0.8, Threshold: 4}
	sparse := AboveThreshold{Epsilon1: 0.5, Epsilon2: 0.7, Answers: 1}
	events := []Event{
		Repeated{PoissonSampled{q, Gaussian{sigma}}, 1}, GNMax{Sigma: votes}, Laplace{multiplier}, stable, sparse,
	}
	step := lawPair{
		quantised(func(x float64) float64 { return (1-q)*normalCDF(x/sigma) + q*normalCDF((x-1)/sigma) }, -4*sigma, 1+5*sigma, 40),
		quantised(func(x float64) float64 { return normalCDF(x / sigma) }, -4*sigma, 1+5*sigma, 40),
	}
	winner := func(gap float64) []float64 { // two classes
		p := normalCDF(gap / math.Sqrt2 / votes)
		return []float64{p, 1 - p}
	}
	laplace := lawPair{
		quantised(func(x float64) float64 { return laplaceCDF(x / multiplier) }, 0, 1, 20),
		quantised(func(x float64) float64 { return laplaceCDF((x - 1) / multiplier) }, 0, 1, 20),
	}
	release := func(distance float64, outcome int) []float64 { // one of two answers, or none
		p := 1 - laplaceCDF((stable.Threshold-distance)*stable.Epsilon)
		law := []float64{0, 0, 1 - p}
		law[outcome] = p
		return law
	}
	stability := map[string]lawPair{
		"the answer stays":   {release(3, 0), release(2, 0)},
		"the answer changes": {release(0, 0), release(0, 1)},
	}
	above := lawPair{firstAbove(sparse, []float64{-2, -1, 0}), firstAbove(sparse, []float64{-3, 0, 1})}

	account := func(events ...Event) (*PLD, *RDP) {
		p := newPLD(t, PLDConfig{})
		r := newRDP(t, RDPConfig{})
		for _, e := range events {
			require.NoError(t, p.Compose(e, 1))
			require.NoError(t, r.Compose(e, 1))
		}
		return p, r
	}
	byPLD, byRDP := account(events...)
	forgetful, _ := account(events[0], events[1], events[2], PureDP{stable.Epsilon}, sparse)
	caught := false
	for name, release := range stability {
		all := step.times(lawPair{winner(1), winner(-1)}).times(laplace).times(release).times(above)
		for _, eps := range []float64{0, 0.5, 1, 2, 3, 4} {
			truth := all.delta(eps)
			p := deltaAt(t, byPLD, eps)
			r := deltaAt(t, byRDP, eps)
			require.GreaterOrEqual(t, p.Upper, truth, "%s at %v", name, eps)
			require.GreaterOrEqual(t, r.Upper, truth, "%s at %v", name, eps)
			require.LessOrEqual(t, p.Upper, r.Upper)
			wrong := deltaAt(t, forgetful, eps)
			caught = caught || wrong.Upper < truth
			t.Logf("%s, epsilon %v: exact delta %.3g, claimed %.3g by PLD, %.3g by RDP", name, eps, truth, p.Upper, r.Upper)
		}
	}
	assert.True(t, caught, "without the failure probability of the stability release the claim is false")
}
