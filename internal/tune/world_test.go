package tune

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// world is one run on two neighbouring data sets: outcomes by their score, worst first.
type world struct {
	event accountant.Event
	p, q  []float64
}

// randomWorld returns two laws that are within the event of each other.
func randomWorld(r *rand.Rand) world {
	m := 2 + r.IntN(5)
	if r.IntN(3) == 0 { // a noised number that is seen through m cells, at a place of chance
		sigma, at := []float64{1, 2, 4}[r.IntN(3)], 6*r.Float64()-3
		w := world{event: accountant.Gaussian{NoiseMultiplier: sigma}}
		below := func(x, mean float64) float64 { return math.Erfc((mean-x)/sigma/math.Sqrt2) / 2 }
		lastP, lastQ := 0.0, 0.0
		for k := 1; k <= m; k++ {
			p, q := 1.0, 1.0
			if k < m {
				x := at + sigma*(float64(k)-float64(m)/2)
				p, q = below(x, 0), below(x, 1)
			}
			w.p, w.q = append(w.p, p-lastP), append(w.q, q-lastQ)
			lastP, lastQ = p, q
		}
		return w
	}
	eps := []float64{0.1, 0.5, 1, 2}[r.IntN(4)]
	w := world{event: accountant.PureDP{Epsilon: eps}, p: make([]float64, m), q: make([]float64, m)}
	for k := range m {
		w.p[k] = math.Exp(8 * (r.Float64() - 1))
	}
	if r.IntN(2) == 0 { // a bad outcome takes what the others gain and lose
		w.p[0] += 2 * math.Exp(eps)
	}
	scale(w.p)
	rest := 1.0
	for k := m - 1; k > 0; k-- {
		w.q[k] = w.p[k] * math.Exp(eps*float64(2*r.IntN(2)-1))
		rest -= w.q[k]
	}
	if w.q[0] = rest; rest > 0 && math.Abs(math.Log(rest/w.p[0])) <= eps {
		return w
	}
	for k := range m {
		w.q[k] = w.p[k] * math.Exp(eps*(float64(r.IntN(2))-0.5))
	}
	scale(w.q)
	return w
}

func scale(p []float64) {
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	for k := range p {
		p[k] /= sum
	}
}

// best returns the law of what a search releases: nothing, or the best of its runs.
func best(l Law, p []float64) []float64 {
	out := []float64{l.Missed(1)}
	above := 1.0 // probability of a better outcome than those before
	last := out[0]
	for _, x := range p {
		above = math.Max(0, above-x)
		missed := l.Missed(above)
		out, last = append(out, math.Max(0, missed-last)), missed
	}
	return out
}

// claims are deltas of events, each computed once.
type claims map[string]float64

func (c claims) of(t *testing.T, e accountant.Event, eps float64) float64 {
	t.Helper()
	name := fmt.Sprintf("%#v %v", e, eps)
	if delta, known := c[name]; known {
		return delta
	}
	account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove}))
	require.NoError(t, account.Compose(e, 1))
	b := testkit.Must(account.Delta(context.Background(), eps))
	c[name] = b.Upper
	return b.Upper
}

// What a search releases, listed with its exact law on both of two neighbours, is never further apart than
// its event claims.
func TestSearchesAreWithinTheirClaim(t *testing.T) {
	r, said := rand.New(rand.NewPCG(1, 2)), claims{}
	nearest := 0.0
	for range 3000 {
		w := randomWorld(r)
		for _, l := range []Law{{Mean: 0.5}, {Mean: 15}, {Eta: 1, Gamma: 0.1}, {Gamma: 0.02}, {Eta: -0.5, Gamma: 0.01}} {
			p, q := best(l, w.p), best(l, w.q)
			for _, eps := range []float64{0, 1, 4} {
				truth, said := testkit.EitherHockeyStick(p, q, eps), said.of(t, l.Event(w.event), eps)
				require.LessOrEqual(t, truth, said*(1+1e-9)+1e-12, "%+v %+v at %v", l, w, eps)
				if said > 0 {
					nearest = math.Max(nearest, truth/said)
				}
			}
		}
	}
	require.Greater(t, nearest, 0.1, "worlds that are nowhere near the claim test nothing")
	t.Logf("nearest to a claim: %.2f of its delta", nearest)
}

// Searches that are run otherwise than they are charged are found out by some world.
func TestOtherSearchesAreNot(t *testing.T) {
	const n = 20
	poisson, geometric := Law{Mean: n}, Law{Eta: 1, Gamma: 1.0 / n}
	same := func(e accountant.Event) accountant.Event { return e }
	argmax := func(p []float64) []float64 { // of n runs
		var out []float64
		below, last := 0.0, 0.0
		for _, x := range p {
			below += x
			out = append(out, math.Pow(below, n)-last)
			last = math.Pow(below, n)
		}
		return out
	}
	for name, c := range map[string]struct {
		charged func(accountant.Event) accountant.Event
		law     func(p []float64) []float64
	}{
		"the best of n full runs, charged as one": {same, argmax},
		"n runs, and no number of chance":         {poisson.Event, argmax},
		"all runs are shown": {poisson.Event, func(p []float64) []float64 { // how many of n were the best outcome
			return binomial(n, p[len(p)-1])
		}},
		"runs until one is good, charged as one": {same, func(p []float64) []float64 { // two outcomes are good
			good := p[len(p)-1] + p[len(p)-2]
			return []float64{p[len(p)-2] / good, p[len(p)-1] / good}
		}},
		"runs until one is good, their number shown": {geometric.Event, func(p []float64) []float64 {
			var out []float64
			for rest := 1.0; len(out) < 2000; rest *= 1 - p[len(p)-1] {
				out = append(out, rest*p[len(p)-1])
			}
			return out
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r, said := rand.New(rand.NewPCG(3, 4)), claims{}
			refuted := 0
			for range 300 {
				w := randomWorld(r)
				p, q := c.law(w.p), c.law(w.q)
				for _, eps := range []float64{1, 4, 8} {
					if testkit.EitherHockeyStick(p, q, eps) > 1.01*said.of(t, c.charged(w.event), eps)+1e-9 {
						refuted++
						break
					}
				}
			}
			require.Positive(t, refuted)
		})
	}
}

func binomial(n int, p float64) []float64 {
	out, c := []float64{}, 1.0
	for k := 0; k <= n; k++ {
		out = append(out, c*math.Pow(p, float64(k))*math.Pow(1-p, float64(n-k)))
		c = c * float64(n-k) / float64(k+1)
	}
	return out
}
