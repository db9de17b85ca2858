package aggregate

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// orders at which divergences are compared, from 1.1 to 64, and the largest log-ratio.
func orders() []float64 {
	var out []float64
	for a := 1.1; a < 64; a *= 1.06 {
		out = append(out, a)
	}
	return append(out, 2, 3, 4, 8, 16, 32, 64, 1024, math.Inf(1))
}

// charged is what an account is charged for an event, at each order.
func charged(t require.TestingT, e accountant.Event, orders []float64) []float64 {
	account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.ReplaceOne}))
	require.NoError(t, account.Compose(e, 1))
	curve, failure := testkit.Must2(account.RDP(orders))
	require.Zero(t, failure)
	return curve
}

// claims are the deltas two accounts claim for an event, at each epsilon; equal events are accounted
// once. Privacy loss distributions take long: they are asked for every third event, and for none under the race
// detector, but for all with -long. Where they are not asked they claim 1.
type claims struct {
	epsilons []float64
	known    map[string][2][]float64
}

func newClaims(epsilons []float64) claims { return claims{epsilons, map[string][2][]float64{}} }

func (c claims) of(t *testing.T, e accountant.Event) (byRDP, byPLD []float64) {
	key := fmt.Sprintf("%#v", e)
	if _, ok := c.known[key]; !ok {
		rdp := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.ReplaceOne}))
		pld := testkit.Must(accountant.NewPLD(accountant.PLDConfig{Relation: accountant.ReplaceOne}))
		var deltas [2][]float64
		for i, account := range []accountant.Accountant{rdp, pld} {
			require.NoError(t, account.Compose(e, 1))
			for _, epsilon := range c.epsilons {
				b := accountant.Bound{Upper: 1}
				if i == 0 || !testkit.Race && (*long || len(c.known)%3 == 0) {
					b = testkit.Must(account.Delta(context.Background(), epsilon))
				}
				deltas[i] = append(deltas[i], b.Upper)
			}
		}
		c.known[key] = deltas
	}
	return c.known[key][0], c.known[key][1]
}

// exceeds reports at how many points the truth is above the claim, beyond rounding, and the largest ratio.
func exceeds(truth, claim []float64) (times int, ratio float64) {
	for i, d := range truth {
		if d > claim[i]*(1+1e-9)+1e-12 {
			times++
		}
		if claim[i] > 1e-9 { // below, rounding is all there is
			ratio = max(ratio, d/claim[i])
		}
	}
	return times, ratio
}

// A case is a mechanism on one query, its law and what it is charged.
type worldCase struct {
	name  string
	event accountant.Event
	law   lawFunc
	// claim is the divergence of order a as written in the literature; nil if the account charges less.
	claim func(a float64) float64
}

func worldCases(t *testing.T, classes int) []worldCase {
	var cases []worldCase
	add := func(name string, event accountant.Event, law lawFunc, claim func(a float64) float64) {
		cases = append(cases, worldCase{name, event, law, claim})
	}
	for _, sigma := range []float64{0.3, 1, 2.5, 10} {
		m, claim := gnmax(t, sigma), func(a float64) float64 { return a / sigma / sigma }
		add(fmt.Sprintf("gnmax %g", sigma), m.Event(), m.Law, claim)
	}
	for _, scale := range []float64{0.4, 1, 3, 10} {
		pure := func(a float64) float64 {
			if math.IsInf(a, 1) {
				return 2 / scale
			}
			return math.NaN()
		}
		l, e, p := lnmax(t, scale), exponential(t, scale), permuteAndFlip(t, scale)
		add(fmt.Sprintf("lnmax %g", scale), l.Event(), l.Law, pure)
		add(fmt.Sprintf("lnmax %g, continuous", scale), accountant.LNMax{Scale: scale}, l.ContinuousLaw, pure)
		add(fmt.Sprintf("exponential %g", scale), e.Event(), e.Law, pure)
		add(fmt.Sprintf("permute-and-flip %g", scale), p.Event(), p.Law, pure)
	}
	predictions := [][]float64{{0.5, 0.5}, {0.7, 0.3}, {0, 1}}
	if classes == 3 {
		predictions = [][]float64{{0.34, 0.33, 0.33}, {0.7, 0.2, 0.1}, {0, 1, 0}}
	}
	for _, c := range []struct{ threshold, sigma1, sigma2 float64 }{{3, 1, 1}, {4.5, 3, 1}, {2, 0.7, 4}, {5, 2, 2}, {12, 1, 1}, {0, 1, 2}} {
		m := confident(t, c.threshold, c.sigma1, c.sigma2)
		claim := func(a float64) float64 { return a/(2*c.sigma1*c.sigma1) + a/(c.sigma2*c.sigma2) }
		add(fmt.Sprint("confident ", c), m.Event(), m.Law, claim)
		for _, p := range predictions {
			m := interactive(t, 6, c.threshold, c.sigma1, c.sigma2, p)
			add(fmt.Sprint("interactive ", c, p), m.Event(), m.Law, claim)
		}
	}
	return cases
}

// Every histogram of at most six votes for at most three classes and every
// neighbour of it, in both directions: no divergence exceeds what is charged, at
// any order, and no hockey-stick divergence the delta that is claimed.
func TestSmallWorlds(t *testing.T) {
	orders := orders()
	epsilons := []float64{0, 0.05, 0.2, 0.5, 1, 2, 4, 7}
	claims := newClaims(epsilons)
	for _, classes := range []int{2, 3} {
		w := smallWorld(6, classes)
		for _, c := range worldCases(t, classes) {
			t.Run(fmt.Sprintf("%d classes/%s", classes, c.name), func(t *testing.T) {
				pairs := w.neighbours(t, c.law)
				charge := charged(t, c.event, orders)
				for i, a := range orders {
					if claim := c.claim(a); !math.IsNaN(claim) && !math.IsInf(claim, 1) {
						require.InEpsilon(t, claim, charge[i], 1e-9)
					}
				}
				times, divergence := exceeds(worst(pairs, orders, renyi), charge)
				require.Zero(t, times)

				truth := worst(pairs, epsilons, hockeyStick)
				byRDP, byPLD := claims.of(t, c.event)
				times, deltaRDP := exceeds(truth, byRDP)
				require.Zero(t, times)
				times, deltaPLD := exceeds(truth, byPLD)
				require.Zero(t, times)
				t.Logf("largest share of the claim: divergence %.4f, delta by RDP %.4f, by PLD %.4f", divergence, deltaRDP, deltaPLD)
			})
		}
	}
}

// Charged wrongly, mechanisms must be found out, or the test above could not fail.
func TestSmallWorldsControls(t *testing.T) {
	gaussian := func(sigma float64) accountant.Event { return accountant.GNMax{Sigma: sigma, Discrete: true} }
	threshold := func(sigma float64) accountant.Event {
		return accountant.Threshold{Sigma: sigma, Discrete: true}
	}
	orders := orders()
	for _, c := range []struct {
		name  string
		law   lawFunc
		claim accountant.Event
	}{
		{"gnmax 1 with sensitivity 1", gnmax(t, 1).Law, threshold(1)},
		{"gnmax 2.5 with sensitivity 1", gnmax(t, 2.5).Law, threshold(2.5)},
		{"lnmax 1 sold as gamma", lnmax(t, 1).Law, accountant.PureDP{Epsilon: 1}},
		{"lnmax 3 sold as gamma", lnmax(t, 3).Law, accountant.PureDP{Epsilon: 1.0 / 3}},
		{"lnmax 1, continuous, sold as gamma", lnmax(t, 1).ContinuousLaw, accountant.PureDP{Epsilon: 1}},
		{"permute-and-flip 10 as exponential", permuteAndFlip(t, 10).Law, accountant.ExponentialMechanism{Epsilon: 0.2}},
		{"permute-and-flip 1 as exponential", permuteAndFlip(t, 1).Law, accountant.ExponentialMechanism{Epsilon: 2}},
		{"permute-and-flip 1 as if votes only appeared", permuteAndFlip(t, 1).Law, accountant.PureDP{Epsilon: 1}},
		{"exponential 3 as if votes only appeared", exponential(t, 3).Law, accountant.ExponentialMechanism{Epsilon: 1.0 / 3}},
		{"confident, test free", confident(t, 5, 1, 5).Law, gaussian(5)},
		{"confident, answer free", confident(t, 1, 5, 1).Law, threshold(5)},
		{"interactive, test free", func(h Histogram) (Law, error) {
			return interactive(t, 6, 2, 1, 5, []float64{0.2, 0.8, 0}[:h.Classes()]).Law(h)
		}, gaussian(5)},
		{"interactive, answer free", func(h Histogram) (Law, error) {
			return interactive(t, 6, -2, 5, 1, []float64{0.2, 0.8, 0}[:h.Classes()]).Law(h)
		}, threshold(5)},
	} {
		for _, classes := range []int{2, 3} {
			pairs := smallWorld(6, classes).neighbours(t, c.law)
			times, ratio := exceeds(worst(pairs, orders, renyi), charged(t, c.claim, orders))
			t.Logf("%s, %d classes: %d of %d orders, largest ratio %.4f", c.name, classes, times, len(orders), ratio)
			require.Positive(t, times, "%s, %d classes", c.name, classes)
		}
	}
}

// A world is histograms, and every ordered pair of neighbours among them.
type world struct {
	histograms [][]int
	edges      [][]int
}

// smallWorld is every way so many teachers can vote or abstain: one of them votes otherwise, stops or starts voting.
func smallWorld(teachers, classes int) world {
	all := testkit.Histograms(teachers, classes)
	return world{all, testkit.Neighbours(all, true)}
}

type lawFunc = func(Histogram) (Law, error)

// neighbours are the laws of every pair of w.
func (w world) neighbours(t require.TestingT, law lawFunc) [][2]Law {
	laws := make([]Law, len(w.histograms))
	for i, c := range w.histograms {
		laws[i] = testkit.Must(law(histogram(t, c...)))
	}
	var pairs [][2]Law
	for i, edges := range w.edges {
		for _, j := range edges {
			pairs = append(pairs, [2]Law{laws[i], laws[j]})
		}
	}
	return pairs
}

// worst is the largest value over all pairs, for each x.
func worst(pairs [][2]Law, xs []float64, divergence func(x float64, p, q Law) float64) []float64 {
	out := make([]float64, len(xs))
	for _, pair := range pairs {
		for i, x := range xs {
			out[i] = max(out[i], divergence(x, pair[0], pair[1]))
		}
	}
	return out
}

// outcomes calls f with the two log probabilities of every answer, declining included.
func outcomes(p, q Law, f func(lp, lq float64)) {
	for i := range p.LogLabels {
		f(p.LogLabels[i], q.LogLabels[i])
	}
	f(p.LogDeclined, q.LogDeclined)
}

// renyi is D_a(p || q).
func renyi(a float64, p, q Law) float64 {
	if math.IsInf(a, 1) {
		return logRatio(p, q)
	}
	sum := newLogSums(1)
	outcomes(p, q, func(lp, lq float64) {
		if !math.IsInf(lp, -1) {
			sum[0].add(a*lp + (1-a)*lq)
		}
	})
	return sum[0].log() / (a - 1)
}

// logRatio is the largest log-ratio of p to q.
func logRatio(p, q Law) float64 {
	largest := math.Inf(-1)
	outcomes(p, q, func(lp, lq float64) {
		if !math.IsInf(lp, -1) {
			largest = max(largest, lp-lq)
		}
	})
	return largest
}

// hockeyStick is the least delta for which p is (epsilon, delta)-close to q.
func hockeyStick(epsilon float64, p, q Law) float64 {
	delta := 0.0
	outcomes(p, q, func(lp, lq float64) {
		if lp > lq+epsilon {
			delta -= math.Exp(lp) * math.Expm1(lq+epsilon-lp)
		}
	})
	return delta
}
