package accountant

import (
	"fmt"
	"math"
	"testing"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// argmaxLaw is the law of the noisy argmax of counts, ties to the first.
func argmaxLaw(counts []int, noise []float64) []float64 {
	reach := len(noise) / 2
	below := func(x int) (sum float64) { // P[Z <= x]
		for i := 0; i <= x+reach && i < len(noise); i++ {
			sum += noise[i]
		}
		return sum
	}
	law := make([]float64, len(counts))
	for c, n := range counts {
		for i, p := range noise {
			for d, m := range counts {
				if d != c {
					top := n + i - reach - m
					if d < c {
						top--
					}
					p *= below(top)
				}
			}
			law[c] += p
		}
	}
	return law
}

// lawPair is two laws on one space.
type lawPair struct{ p, q []float64 }

func (w lawPair) times(v lawPair) lawPair {
	return lawPair{product(w.p, v.p), product(w.q, v.q)}
}

// delta is the hockey-stick divergence at epsilon, the worse of both orders.
func (w lawPair) delta(eps float64) float64 { return testkit.EitherHockeyStick(w.p, w.q, eps) }

// votePairs are the laws of one query for every histogram of 4 teachers and 3 classes and every vote that
// moves.
func votePairs(law func(counts []int) []float64) (pairs []lawPair) {
	for a := 0; a <= 4; a++ {
		for b := 0; a+b <= 4; b++ {
			counts := []int{a, b, 4 - a - b}
			for from := range counts {
				for to := range counts {
					if from == to || counts[from] == 0 {
						continue
					}
					moved := append([]int(nil), counts...)
					moved[from]--
					moved[to]++
					pairs = append(pairs, lawPair{law(counts), law(moved)})
				}
			}
		}
	}
	return pairs
}

// Integer noise on votes: what PLD and RDP claim is never below exact enumeration, one query and three, and
// the attained side never above it.
func TestDiscreteVotesAgainstEnumeration(t *testing.T) {
	const reach = 60
	gaussian := func(sigma float64) []float64 {
		return law(reach, func(x float64) float64 { return math.Exp(-x * x / (2 * sigma * sigma)) })
	}
	laplace := func(scale float64) []float64 {
		return law(reach, func(x float64) float64 { return math.Exp(-math.Abs(x) / scale) })
	}
	type world struct {
		event Event
		pairs []lawPair
	}
	var worlds []world
	for _, sigma := range []float64{0.4, 1, 3} {
		noise := gaussian(sigma)
		worlds = append(worlds, world{GNMax{Sigma: sigma, Discrete: true},
			votePairs(func(c []int) []float64 { return argmaxLaw(c, noise) })})
		above := func(count int) []float64 { // count + noise >= 2
			p := 0.0
			for i, m := range noise {
				if count+i-reach >= 2 {
					p += m
				}
			}
			return []float64{p, 1 - p}
		}
		var pairs []lawPair
		for count := range 5 {
			pairs = append(pairs, lawPair{above(count), above(count + 1)})
		}
		worlds = append(worlds, world{Threshold{Sigma: sigma, Discrete: true}, pairs})
		noise = laplace(sigma)
		worlds = append(worlds, world{LNMax{Scale: sigma, Discrete: true},
			votePairs(func(c []int) []float64 { return argmaxLaw(c, noise) })})
	}
	closest := 0.0
	for _, w := range worlds {
		for _, queries := range []int64{1, 3} {
			name := fmt.Sprintf("%d of %+v", queries, w.event)
			p := newPLD(t, PLDConfig{Relation: ReplaceOne}, Repeated{w.event, queries})
			r := newRDP(t, RDPConfig{Relation: ReplaceOne}, Repeated{w.event, queries})
			for _, eps := range []float64{0, 0.3, 1, 2.5} {
				worst := 0.0
				for _, pair := range w.pairs { // the same neighbours at every query
					all := pair
					for range queries - 1 {
						all = all.times(pair)
					}
					worst = math.Max(worst, all.delta(eps))
				}
				got := deltaAt(t, p, eps)
				require.GreaterOrEqual(t, got.Upper, worst*(1-1e-12)-1e-14, "%s at %v", name, eps)
				require.LessOrEqual(t, got.Lower, worst*(1+1e-12)+1e-14, "%s at %v", name, eps)
				rb := deltaAt(t, r, eps)
				require.GreaterOrEqual(t, rb.Upper, worst*(1-1e-12)-1e-14, "%s at %v by RDP", name, eps)
				if got.Upper > 1e-6 {
					closest = math.Max(closest, worst/got.Upper)
				}
			}
		}
	}
	t.Logf("exact delta is at most %.4f of the claim", closest)
	assert.Greater(t, closest, 0.9, "the claim is not just large")
}

// The pair of continuous noise does not hold integer noise: at sigma 0.5 it claims a total variation of
// 0.683, and the threshold bit alone has 0.787.
func TestContinuousNoiseSoldAsDiscrete(t *testing.T) {
	p0 := 1 / (1 + 2*(math.Exp(-2)+math.Exp(-8)+math.Exp(-18))) // P[Z >= 0] - P[Z >= 1]
	claim := func(e Event) float64 {
		p := newPLD(t, PLDConfig{Relation: ReplaceOne}, e)
		return deltaAt(t, p, 0).Upper
	}
	assert.Less(t, claim(Threshold{Sigma: 0.5}), p0, "the control is broken")
	assert.GreaterOrEqual(t, claim(Threshold{Sigma: 0.5, Discrete: true}), p0-1e-8)
	// Nor does the closed form of Gaussian noise that the theorems may use for continuous noise.
	o := testkit.Must(NewOptimal(ReplaceOne))
	require.NoError(t, o.Compose(Threshold{Sigma: 0.5, Discrete: true}, 1))
	for _, delta := range []float64{0.1, 0.5, 0.7} {
		b := epsAt(t, o, delta)
		bit := lawPair{[]float64{(1 + p0) / 2, (1 - p0) / 2}, []float64{(1 - p0) / 2, (1 + p0) / 2}}
		assert.LessOrEqual(t, bit.delta(b.Upper), delta)
	}
}

// A pure mechanism on a Poisson sample, against the two outcomes of a sampled randomised response, composed
// exactly.
func TestSampledPureAgainstEnumeration(t *testing.T) {
	for _, c := range []struct{ q, eps float64 }{{0.01, 1}, {0.5, 0.1}, {0.3, 3}, {0.001, 8}, {0.9, 20}, {1e-9, 0.5}} {
		hi, lo := 1/(1+math.Exp(-c.eps)), 1/(1+math.Exp(c.eps))
		with, without := []float64{lo + c.q*(hi-lo), hi - c.q*(hi-lo)}, []float64{lo, hi}
		one := lawPair{with, without}
		event := PoissonSampled{c.q, RandomizedResponse{c.eps}}
		for _, a := range []float64{1.01, 1.5, 2, 8, 40.5, 600} {
			got, _ := rdpAt(t, a, event)
			largest := 0.0
			for _, pair := range []lawPair{one, {without, with}} {
				want := testkit.Renyi(pair.p, pair.q, a)
				if math.IsInf(want, 1) { // beyond float64 here
					largest = math.NaN()
				} else if want > 1e-9 {
					require.GreaterOrEqual(t, got, want*(1-1e-6), "%+v order %v", c, a)
					largest = math.Max(largest, want)
				}
			}
			if largest > 0 {
				require.InEpsilon(t, largest, got, 1e-6, "%+v order %v", c, a)
			}
		}
		all := one
		for range 3 {
			all = all.times(one)
		}
		p := newPLD(t, PLDConfig{}, Repeated{event, 4})
		for _, eps := range []float64{0, 0.01, 0.1, 0.5, 2} {
			got := deltaAt(t, p, eps)
			want := all.delta(eps)
			require.GreaterOrEqual(t, got.Upper, want-1e-14, "%+v at %v", c, eps)
			require.LessOrEqual(t, got.Lower, want+1e-14, "%+v at %v", c, eps)
			require.LessOrEqual(t, got.Upper-got.Lower, 1e-3*want+1e-9, "%+v at %v", c, eps)
		}
	}
}
