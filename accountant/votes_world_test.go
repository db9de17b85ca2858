package accountant

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/testkit"
)

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

type lawPair struct{ p, q []float64 }

func (w lawPair) times(v lawPair) lawPair {
	return lawPair{product(w.p, v.p), product(w.q, v.q)}
}

func (w lawPair) delta(eps float64) float64 { return testkit.EitherHockeyStick(w.p, w.q, eps) }

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
		return deltaAt(t, newPLD(t, PLDConfig{Relation: ReplaceOne}, e), 0).Upper
	}
	assert.Less(t, claim(Threshold{Sigma: 0.5}), p0, "the control is broken")
	assert.GreaterOrEqual(t, claim(Threshold{Sigma: 0.5, Discrete: true}), p0-1e-8)
	o := testkit.Must(NewOptimal(ReplaceOne))
	require.NoError(t, o.Compose(Threshold{Sigma: 0.5, Discrete: true}, 1))
	for _, delta := range []float64{0.1, 0.5, 0.7} {
		b := epsAt(t, o, delta)
		bit := lawPair{[]float64{(1 + p0) / 2, (1 - p0) / 2}, []float64{(1 - p0) / 2, (1 + p0) / 2}}
		assert.LessOrEqual(t, bit.delta(b.Upper), delta)
	}
}

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
			caught = caught || deltaAt(t, forgetful, eps).Upper < truth
			t.Logf("%s, epsilon %v: exact delta %.3g, claimed %.3g by PLD, %.3g by RDP", name, eps, truth, p.Upper, r.Upper)
		}
	}
	assert.True(t, caught, "without the failure probability of the stability release the claim is false")
}

// A vote that takes part with probability q and moves from one count to another: the divergence of both
// noisy counts, over all pairs of integers. A charge for a single count is half of it.
func TestSampledDiscreteVotesMoveTwoCounts(t *testing.T) {
	const sigma, q, reach = 2.0, 0.2, 40
	noise := law(reach+1, func(x float64) float64 { return math.Exp(-x * x / (2 * sigma * sigma)) })
	at := func(x int) float64 { return noise[x+reach+1] }
	for _, a := range []float64{2, 3, 5, 16} {
		moment := 0.0
		for x := -reach; x <= reach; x++ {
			for y := -reach; y <= reach; y++ {
				without := at(x) * at(y)
				with := (1-q)*without + q*at(x-1)*at(y+1)
				moment += math.Pow(with/without, a) * without
			}
		}
		truth := math.Log(moment) / (a - 1)
		claim, failure := rdpAt(t, a, PoissonSampled{q, GNMax{Sigma: sigma, Discrete: true}})
		require.Zero(t, failure)
		assert.GreaterOrEqual(t, claim, truth*(1-1e-12), "order %v", a)
		assert.InEpsilon(t, truth, claim, 1e-6, "order %v", a)
	}
}

// A group of up to 2^c records costs 3^c times the divergence of one at the 2^c-fold order: three triangle
// inequalities per doubling (Mironov 2017, Proposition 2).
func TestGroupsOfASampleCostThreePerDoubling(t *testing.T) {
	sample := PoissonSampled{0.001, Gaussian{4}}
	for _, c := range []struct {
		size            int64
		doublings, cost float64
	}{{2, 1, 3}, {3, 2, 9}, {4, 2, 9}, {5, 3, 27}, {8, 3, 27}} {
		for _, a := range []float64{2, 2.5, 8} {
			got, _ := rdpAt(t, a, Group{c.size, sample})
			want, _ := rdpAt(t, a*math.Exp2(c.doublings), Repeated{sample, int64(c.cost)})
			assert.InEpsilon(t, want, got, 1e-12, "groups of %d, order %v", c.size, a)
		}
	}
}
