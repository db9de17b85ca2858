package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

// Randomised responses that now and then give themselves away, all outcomes enumerated: no accountant may
// say less than the truth, optimal says it, and the better theorem is never above the weaker.
func TestAccountantsAgainstEnumeration(t *testing.T) {
	worst := 0.0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		p, q := []float64{1}, []float64{1}
		accounts := newAccounts(t, AddRemove)
		delete(accounts, "pld") // has its own
		for range n {
			eps := rapid.SampledFrom([]float64{0.1, 0.2, 0.5, 1, 2.5}).Draw(t, "eps")
			delta := rapid.SampledFrom([]float64{0, 0, 1e-6, 1e-3, 0.01}).Draw(t, "delta")
			for name, a := range accounts {
				if name != "moments" {
					require.NoError(t, a.Compose(WithFailure{RandomizedResponse{eps}, delta}, 1))
				}
			}
			yes := (1 - delta) / (1 + math.Exp(-eps))
			p, q = product(p, []float64{delta, yes, 1 - delta - yes, 0}), product(q, []float64{0, 1 - delta - yes, yes, delta})
		}
		at := rapid.SampledFrom([]float64{0, 0.1, 0.5, 1, 2, 4}).Draw(t, "at")
		truth := testkit.HockeyStick(p, q, at)
		delta := map[string]float64{}
		for name, a := range accounts {
			if name == "moments" {
				continue
			}
			b := deltaAt(t, a, at)
			delta[name] = b.Upper
			require.GreaterOrEqual(t, b.Upper, truth*(1-1e-13)-1e-15, name)
			if truth > 1e-12 {
				require.GreaterOrEqual(t, epsAt(t, a, truth*(1-1e-9)).Upper, at*(1-1e-6)-1e-6, name)
			}
		}
		if truth > 1e-12 {
			// epsilon is rounded up, so at a kink delta moves by as much
			require.InDelta(t, truth, delta["optimal"], 1e-9*truth+1e-12)
			worst = math.Max(worst, delta["optimal"]/truth)
		}
		require.LessOrEqual(t, delta["optimal"], delta["advanced"]*(1+1e-12))
		require.LessOrEqual(t, delta["advanced"], delta["basic"]*(1+1e-12))
	})
	t.Logf("worst ratio of optimal to the enumeration: 1 + %.1g", worst-1)
}

// Every subset of every small data set of bits: their noisy sum, by discrete Laplace noise, seen through a
// random subset.
func TestWithoutReplacementSmallWorld(t *testing.T) {
	const far = 60
	for _, scale := range []float64{0.5, 1, 3} {
		noisy := func(sum int, into []float64, weight float64) {
			r := math.Exp(-1 / scale)
			for x := -far; x <= far; x++ {
				into[x+far] += weight * (1 - r) / (1 + r) * math.Pow(r, math.Abs(float64(x-sum)))
			}
		}
		for n := 2; n <= 6; n++ {
			for m := 1; m <= n; m++ {
				law := func(ones int) []float64 { // hypergeometric mixture
					out := make([]float64, 2*far+1)
					for k := 0; k <= m; k++ {
						w := choose(ones, k) * choose(n-ones, m-k) / choose(n, m)
						noisy(k, out, w)
					}
					return out
				}
				c := withoutReplacementCurveOf(t, SampledWithoutReplacement{int64(m), int64(n), DiscreteLaplace{scale, 1}})
				g := newAccounts(t, ReplaceOne)["optimal"]
				require.NoError(t, g.Compose(SampledWithoutReplacement{int64(m), int64(n), DiscreteLaplace{scale, 1}}, 1))
				b := epsAt(t, g, 0)
				for ones := range n {
					p, q := law(ones), law(ones+1)
					for _, pair := range [][2][]float64{{p, q}, {q, p}} {
						for _, a := range []float64{1.5, 2, 3, 4.5, 10} {
							assert.LessOrEqual(t, testkit.Renyi(pair[0], pair[1], a), c(a)*(1+1e-9), "n=%d m=%d ones=%d a=%v", n, m, ones, a)
						}
						assert.LessOrEqual(t, testkit.HockeyStick(pair[0], pair[1], b.Upper), 1e-12)
					}
				}
			}
		}
	}
}

// Two subsets of one small data set of bits, each sum with noise of its own, under both relations: a bit is
// replaced, or is there in the larger data only.
func TestWithoutReplacementTwice(t *testing.T) {
	t.Parallel()
	const far = 40
	caught := false
	for _, c := range []struct {
		inner Event
		mass  func(k float64) float64
	}{
		{DiscreteLaplace{1.5, 1}, func(k float64) float64 { return math.Exp(-math.Abs(k) / 1.5) }},
		{DiscreteLaplace{0.6, 1}, func(k float64) float64 { return math.Exp(-math.Abs(k) / 0.6) }},
		{DiscreteGaussian{1.2, 1}, func(k float64) float64 { return math.Exp(-k * k / 2.88) }},
	} {
		noise := law(far, c.mass)
		output := func(n, m, ones int) []float64 {
			out := make([]float64, len(noise))
			for k := 0; k <= m; k++ {
				w := choose(ones, k) * choose(n-ones, m-k) / choose(n, m)
				for i, p := range shift(noise, k) {
					out[i] += w * p
				}
			}
			return product(out, out)
		}
		for _, size := range [][2]int{{3, 1}, {4, 2}, {5, 2}, {5, 4}} {
			n, m := size[0], size[1]
			for _, relation := range []Relation{ReplaceOne, AddRemove} {
				if _, gaussian := c.inner.(DiscreteGaussian); relation == AddRemove && (gaussian || m == n) {
					continue // replacing one moves the sum by two: no pair is known
				}
				claim := func(population int) *PLD {
					p := newPLD(t, PLDConfig{Relation: relation}, Repeated{SampledWithoutReplacement{int64(m), int64(population), c.inner}, 2})
					return p
				}
				p, half := claim(n), claim(2*n)
				for ones := range n {
					one, other := output(n, m, ones+1), output(n, m, ones)
					if relation == AddRemove {
						other = output(n-1, m, ones)
					}
					for _, eps := range []float64{0, 0.2, 0.7, 1.2} {
						b := deltaAt(t, p, eps)
						worst := math.Max(testkit.HockeyStick(one, other, eps), testkit.HockeyStick(other, one, eps))
						require.GreaterOrEqual(t, b.Upper, worst-1e-12, "%v %v %d of %d, %d ones, epsilon %v", relation, c.inner, m, n, ones, eps)
						caught = caught || relation == ReplaceOne && deltaAt(t, half, eps).Upper < worst
					}
				}
			}
		}
	}
	assert.True(t, caught, "at half the probability the claim is false")
}

func withoutReplacementCurveOf(t *testing.T, e Event) curve {
	terms := testkit.Must(parse(e, 1, ReplaceOne))
	return terms.total()
}

func choose(n, k int) float64 {
	if k < 0 || k > n {
		return 0
	}
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// A batch of at most two of a few records, each adding one to a sum with Gaussian noise: both laws
// integrated, the claim must hold both ways.
func TestTruncatedPoissonSmallWorld(t *testing.T) {
	const step = 0.01
	for _, n := range []int{3, 6} {
		for _, q := range []float64{0.02, 0.2} {
			for _, sigma := range []float64{0.7, 2} {
				// D has n records; its neighbour lacks the only one of value 1.
				var p, r []float64
				for x := -9 * sigma; x < 1+9*sigma; x += step {
					in := 0.0 // chance that the record is in the batch
					for k := 0; k < n; k++ {
						w := choose(n-1, k) * math.Pow(q, float64(k)) * math.Pow(1-q, float64(n-1-k))
						in += w * q * math.Min(1, 2/float64(k+1))
					}
					f0 := math.Exp(-x*x/(2*sigma*sigma)) / sigma / math.Sqrt(2*math.Pi) * step
					f1 := math.Exp(-(x-1)*(x-1)/(2*sigma*sigma)) / sigma / math.Sqrt(2*math.Pi) * step
					p, r = append(p, (1-in)*f0+in*f1), append(r, f0)
				}
				for _, a := range []Accountant{newRDP(t, RDPConfig{}), newPLD(t, PLDConfig{})} {
					require.NoError(t, a.Compose(TruncatedPoisson{q, 2, int64(n), Gaussian{sigma}}, 1))
					for _, eps := range []float64{0, 0.1, 0.5, 1} {
						b := deltaAt(t, a, eps)
						assert.GreaterOrEqual(t, b.Upper, testkit.HockeyStick(p, r, eps))
						assert.GreaterOrEqual(t, b.Upper, testkit.HockeyStick(r, p, eps))
					}
				}
			}
		}
	}
	free := TruncatedPoisson{0.5, 7, 7, Gaussian{1}}
	assert.Zero(t, free.Failure(), "a cap that no batch reaches without the record costs nothing")
}

// The best of a random number of coin flips: the law of the winner is the probability generating function
// of the number of runs.
func TestSelectionSmallWorld(t *testing.T) {
	t.Parallel()
	negativeBinomial := func(eta, gamma float64) func(x float64) float64 {
		return func(x float64) float64 {
			if eta == 0 {
				return math.Log1p(-(1-gamma)*x) / math.Log(gamma)
			}
			return (math.Pow(1-(1-gamma)*x, -eta) - 1) / (math.Pow(gamma, -eta) - 1)
		}
	}
	tightest := 0.0
	for _, eps := range []float64{0.05, 0.3, 1, 2} {
		for _, eta := range []float64{-0.5, 0, 0.5, 1, 4} {
			for _, gamma := range []float64{1e-4, 0.01, 0.3, 0.9} {
				pgf := negativeBinomial(eta, gamma)
				c := selected{eta: eta, gamma: gamma, rel: AddRemove, inner: string(mustJSON(t, PureDP{eps}))}.curve()
				for low := 1e-6; low < 0.9; low *= 1.7 { // chances of a good run, eps apart at most
					high := math.Min(low*math.Exp(eps), 1-(1-low)*math.Exp(-eps))
					p, q := []float64{pgf(1 - low), 1 - pgf(1-low)}, []float64{pgf(1 - high), 1 - pgf(1-high)}
					for _, a := range []float64{1.5, 2, 4, 16, 50} {
						d := math.Max(testkit.Renyi(p, q, a), testkit.Renyi(q, p, a))
						assert.LessOrEqual(t, d, c(a)*(1+1e-6)+1e-12, "eps=%v eta=%v gamma=%v low=%v a=%v", eps, eta, gamma, low, a)
						tightest = math.Max(tightest, d/c(a))
					}
				}
				if gamma < 0.1 {
					continue // the chance of no good run underflows below
				}
				pc := selected{mean: 1 / gamma, rel: AddRemove, inner: string(mustJSON(t, PureDP{eps}))}.curve()
				for low := 1e-6; low < 0.9; low *= 1.7 {
					high := math.Min(low*math.Exp(eps), 1-(1-low)*math.Exp(-eps))
					law := func(x float64) []float64 { // nothing; bad; good
						none := math.Exp(-1 / gamma)
						bad := math.Exp(-x/gamma) - none
						return []float64{none, math.Max(bad, 1e-300), 1 - none - bad}
					}
					for _, a := range []float64{1.5, 2, 4, 16} {
						d := math.Max(testkit.Renyi(law(low), law(high), a), testkit.Renyi(law(high), law(low), a))
						assert.LessOrEqual(t, d, pc(a)*(1+1e-6)+1e-12, "poisson eps=%v gamma=%v low=%v a=%v", eps, gamma, low, a)
					}
				}
			}
		}
	}
	t.Logf("largest share of the bound reached %.3f", tightest)
}

func mustJSON(t *testing.T, e Event) []byte {
	return testkit.Must(MarshalEvent(e))
}

func TestGroup(t *testing.T) {
	a := []float64{1.5, 2, 7, 40}
	for name, c := range map[string]struct{ got, want Event }{
		"integers":    {Group{4, DiscreteGaussian{10, 1.5}}, DiscreteGaussian{10, 6}},
		"noise":       {Group{3, Gaussian{6}}, Gaussian{2}},
		"votes":       {Group{4, GNMax{Sigma: 40}}, GNMax{Sigma: 10}},
		"rho":         {Group{3, ZCDP{0.1}}, ZCDP{0.9}},
		"pure":        {Group{5, RandomizedResponse{0.1}}, PureDP{0.5}},
		"in trees":    {Group{2, Repeated{Composed{[]Event{Laplace{4}, Threshold{Sigma: 10}}}, 7}}, Repeated{Composed{[]Event{Laplace{2}, Threshold{Sigma: 5}}}, 7}},
		"searches":    {Group{3, Selection{1, 0.1, Gaussian{6}}}, Selection{1, 0.1, Gaussian{2}}},
		"of groups":   {Group{2, Group{3, Gaussian{6}}}, Gaussian{1}},
		"of one":      {Group{1, Repeated{MStab{1, 20}, 2}}, Repeated{MStab{1, 20}, 2}},
		"whole batch": {Group{3, PoissonSampled{1 - 1e-12, Gaussian{6}}}, Gaussian{2}},
	} {
		g, w := newRDP(t, RDPConfig{}), newRDP(t, RDPConfig{})
		require.NoError(t, g.Compose(c.got, 1), name)
		require.NoError(t, w.Compose(c.want, 1), name)
		got, gf, _ := g.RDP(a)
		want, wf, _ := w.RDP(a)
		assert.Equal(t, wf, gf, name)
		for i := range a {
			assert.InEpsilon(t, want[i], got[i], 1e-9, name)
			assert.GreaterOrEqual(t, got[i], want[i]*(1-1e-12), name)
		}
	}
	// a Poisson sample of two records: mixture of four means, integrated
	const q, sigma, step = 0.1, 1.5, 0.01
	var p, r []float64
	for x := -14.0; x < 16; x += step {
		f := func(m float64) float64 {
			return math.Exp(-(x-m)*(x-m)/(2*sigma*sigma)) / sigma / math.Sqrt(2*math.Pi) * step
		}
		p, r = append(p, (1-q)*(1-q)*f(0)+2*q*(1-q)*f(1)+q*q*f(2)), append(r, f(0))
	}
	for _, order := range a {
		v, _ := rdpAt(t, order, Group{2, PoissonSampled{q, Gaussian{sigma}}})
		assert.LessOrEqual(t, testkit.Renyi(p, r, order), v)
		assert.LessOrEqual(t, testkit.Renyi(r, p, order), v)
	}
	for _, e := range []Event{WithFailure{Gaussian{1}, 1e-9}, PoissonSampled{0.1, Composed{}}, KaryResponse{1, 3}} {
		assert.ErrorIs(t, newRDP(t, RDPConfig{}).Compose(Group{2, e}, 1), ErrUnsupportedEvent)
	}
}
