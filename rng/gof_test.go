package rng

import (
	"flag"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// falseAlarm is the probability that a correct sampler fails one of the goodness-of-fit tests. Their seeds
// are fixed, so they fail always or never.
const falseAlarm = testkit.FalseAlarm

// draws is how many a sampler is tested on, and a broken one of the controls.
func draws(control bool) int {
	if control || *long && !testkit.Race {
		return 1_000_000
	}
	return few(250_000)
}

func few(n int) int {
	if testkit.Race {
		return n / 10
	}
	return n
}

// pValue tests n draws from sample against prob. All below the cells with 20 expected draws, and all above,
// are one cell each.
func pValue(n int, sample func() int64, prob func(k int64) float64, center int64) float64 {
	lo, hi := center, center
	for prob(lo-1)*float64(n) >= 20 {
		lo--
	}
	for prob(hi+1)*float64(n) >= 20 {
		hi++
	}
	observed, expected := make([]float64, hi-lo+3), make([]float64, hi-lo+3)
	for range n {
		observed[min(max(sample(), lo-1), hi+1)-lo+1]++
	}
	for k := lo; k <= hi; k++ {
		expected[k-lo+1] = prob(k) * float64(n)
	}
	for i := int64(1); i < 1_000_000 && max(prob(lo-i), prob(hi+i))*float64(n) > 1e-12; i++ {
		expected[0] += prob(lo-i) * float64(n)
		expected[len(expected)-1] += prob(hi+i) * float64(n)
	}
	return testkit.ChiSquare(observed, expected)
}

func expOf(logProb func(int64) float64) func(int64) float64 {
	return func(k int64) float64 { return math.Exp(logProb(k)) }
}

func requireFits(t *testing.T, sample func() int64, prob func(int64) float64) {
	t.Helper()
	require.Greater(t, pValue(draws(false), sample, prob, 0), falseAlarm)
}

func requireCaught(t *testing.T, sample func() int64, prob func(int64) float64) {
	t.Helper()
	if testkit.Race {
		t.Skip("too few draws")
	}
	require.Less(t, pValue(draws(true), sample, prob, 0), falseAlarm)
}

type noiseReference struct {
	Sigma2   float64            `json:"sigma2"`
	T        float64            `json:"t"`
	PMF      map[string]float64 `json:"pmf"`
	Variance float64            `json:"variance"`
	TailGE   map[string]float64 `json:"tail_ge"`
}

func TestLogProbReference(t *testing.T) {
	var ref struct {
		Gaussian []noiseReference `json:"discrete_gaussian"`
		Laplace  []noiseReference `json:"discrete_laplace"`
	}
	testkit.ReadJSON(t, "testdata/discrete_noise.json", &ref)
	require.NotEmpty(t, ref.Gaussian)
	require.NotEmpty(t, ref.Laplace)

	check := func(r noiseReference, prob func(int64) float64, reach int64) {
		require.NotEmpty(t, r.PMF)
		for k, want := range r.PMF {
			i := testkit.Must(strconv.ParseInt(k, 10, 64))
			require.InEpsilon(t, want, prob(i), 1e-12)
			require.InEpsilon(t, want, prob(-i), 1e-12)
		}
		var variance float64
		for k := reach; k > 0; k-- {
			variance += 2 * float64(k) * float64(k) * prob(k)
		}
		require.InEpsilon(t, r.Variance, variance, 1e-12)
		for m, want := range r.TailGE {
			from := testkit.Must(strconv.ParseInt(m, 10, 64))
			var tail float64
			for k := from + reach; k >= from; k-- {
				tail += prob(k)
			}
			require.InEpsilon(t, want, tail, 1e-12)
		}
	}
	for _, r := range ref.Gaussian {
		d := gaussian(t, math.Sqrt(r.Sigma2))
		check(r, expOf(d.LogProb), int64(40*d.Sigma()))
	}
	for _, r := range ref.Laplace {
		check(r, expOf(laplace(t, r.T).LogProb), int64(60*r.T))
	}
}

func fraction(p, q uint64) func() (*big.Int, *big.Int) {
	return func() (*big.Int, *big.Int) { return new(big.Int).SetUint64(p), new(big.Int).SetUint64(q) }
}

func TestBernoulliExpAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.OneOf(rapid.Uint64Range(1, 20), rapid.Uint64Min(1)).Draw(t, "q")
		p := rapid.OneOf(rapid.Uint64Max(20), rapid.Uint64Max(4*min(q, 1<<60)), rapid.Just(q-1), rapid.Just(q)).Draw(t, "p")
		slack := uint64(1) << rapid.UintRange(0, 63).Draw(t, "log2 slack")
		key := SeedKey(rapid.Uint64().Draw(t, "seed"))
		a, b := key.Stream(), key.Stream()
		exact := fraction(p, q)
		wide := exponent{whole: p / q, slack: slack}
		frac := new(big.Int).Lsh(new(big.Int).SetUint64(p%q), 64)
		wide.frac = frac.Quo(frac, new(big.Int).SetUint64(q)).Uint64()
		wide.frac -= min(wide.frac, slack/2)
		for range 10 {
			require.Equal(t, bernoulliExpBig(b, exact), bernoulliRatio(a, p, q))
			require.Equal(t, bernoulliExpBig(b, exact), bernoulliExp(a, wide, exact))
			require.Equal(t, b.Uint64(), a.Uint64(), "words read")
		}
	})
}

func requireFrequency(t *testing.T, want float64, event func() bool, n int) {
	t.Helper()
	hits := 0
	for range n {
		if event() {
			hits++
		}
	}
	sd := math.Sqrt(want * (1 - want) * float64(n))
	require.InDelta(t, want*float64(n), hits, 6.2*sd+0.5, "6.2 standard deviations: two-sided 6e-10")
}

func TestBernoulliExpLaw(t *testing.T) {
	for _, c := range []struct{ p, q uint64 }{
		{0, 1}, {1, 3}, {2, 3}, {1, 1}, {5, 2}, {7, 1}, {1, 1000}, {1<<62 + 1, 1 << 62}, {1 << 63, math.MaxUint64},
	} {
		t.Run(fmt.Sprintf("%d over %d", c.p, c.q), func(t *testing.T) {
			s := SeedKey(1).Derive("bernoulli", c.p, c.q).Stream()
			want := math.Exp(-float64(c.p) / float64(c.q))
			requireFrequency(t, want, func() bool { return bernoulliRatio(s, c.p, c.q) }, draws(false))
		})
	}
}

// TestBernoulliExpOnTheEdge forces the one word that does not decide exp(-1). The further
// bits are then compared with those of 2^64/e, 0.72996...
func TestBernoulliExpOnTheEdge(t *testing.T) {
	s := SeedKey(2).Stream()
	requireFrequency(t, 0.729961842895438, func() bool { return extend(s, coin{}, inverseE, 64) == 1 }, few(5_000))
	require.EqualValues(t, 1, extend(s, coin{}, inverseE-1, 64))
	require.EqualValues(t, 0, extend(s, coin{}, inverseE+1, 64))
}

func TestUint64N(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Min(1).Draw(t, "n")
		s := SeedKey(rapid.Uint64().Draw(t, "seed")).Stream()
		for range 20 {
			require.Less(t, s.Uint64N(n), n)
		}
	})
	// A modulus would give the lower half of this range twice the mass.
	const n, draws = 3 << 62, 20_000
	s, low := SeedKey(1).Stream(), 0
	for range draws {
		if s.Uint64N(n) < 1<<62 {
			low++
		}
	}
	require.InDelta(t, draws/3.0, low, 6*66.7, "six standard deviations")
	// Without rejection every third number would have two of the four words.
	thirds := 0
	for range draws {
		if s.Uint64N(n)%3 == 0 {
			thirds++
		}
	}
	require.InDelta(t, draws/3.0, thirds, 6*66.7, "six standard deviations")
}

func TestPerm(t *testing.T) {
	s := SeedKey(2).Stream()
	s.Perm(nil)
	rank := map[[4]int]int64{} // permutations of four, numbered
	for i := range 256 {
		if p := [4]int{i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6}; 1<<p[0]|1<<p[1]|1<<p[2]|1<<p[3] == 15 {
			rank[p] = int64(len(rank))
		}
	}
	require.Len(t, rank, 24)
	uniform := func(k int64) float64 {
		if k < 0 || k >= 24 {
			return 0
		}
		return 1.0 / 24
	}
	p := make([]int, 4)
	number := func() int64 {
		r, ok := rank[[4]int(p)]
		if !ok {
			t.Fatal(p, "is no permutation")
		}
		return r
	}
	requireFits(t, func() int64 { s.Perm(p); return number() }, uniform)
	requireCaught(t, func() int64 { // swapping with any place favours some
		for i := range p {
			p[i] = i
		}
		for i := range p {
			j := s.Uint64N(4)
			p[i], p[j] = p[j], p[i]
		}
		return number()
	}, uniform)
}

func TestSourceIsTheStandardLibrarys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var secret [32]byte
		for i := range secret {
			secret[i] = rapid.Byte().Draw(t, "secret")
		}
		var s source
		for on := portable; on <= machine; on++ {
			s.seedBy(on, secret) // what was there before plays no part
			std := rand.NewChaCha8(secret)
			for i := range 500 {
				require.Equal(t, std.Uint64(), s.Uint64(), "word %d, path %d", i, on)
			}
		}
	})
}

func laplace(t require.TestingT, scale float64) *DiscreteLaplace {
	d := testkit.Must(NewDiscreteLaplace(scale))
	require.Equal(t, scale, d.Scale())
	return d
}

func TestDiscreteLaplaceLaw(t *testing.T) {
	for _, scale := range []float64{0.1, 2.3, 20, 40, 1000.5} {
		t.Run(fmt.Sprint(scale), func(t *testing.T) {
			d := laplace(t, scale)
			s := SeedKey(2).Derive("laplace", math.Float64bits(scale)).Stream()
			requireFits(t, func() int64 { return d.Sample(s) }, expOf(d.LogProb))
			requireFits(t, func() int64 { return d.Geometric(s) }, func(k int64) float64 {
				if k < 0 {
					return 0
				}
				return -math.Expm1(-1/scale) * math.Exp(-float64(k)/scale)
			})
		})
	}
}

func TestDiscreteLaplaceControls(t *testing.T) {
	d := laplace(t, 2)
	t.Run("zero counted for both signs", func(t *testing.T) {
		s := SeedKey(3).Stream()
		requireCaught(t, func() int64 {
			g := d.Geometric(s)
			if s.Uint64()>>63 == 0 {
				return g
			}
			return -g
		}, expOf(d.LogProb))
	})
	t.Run("scale 1 percent short", func(t *testing.T) {
		short, s := laplace(t, 1.98), SeedKey(4).Stream()
		requireCaught(t, func() int64 { return short.Sample(s) }, expOf(d.LogProb))
	})
}

func TestLaplaceWordsAgreeWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := laplace(t, math.Exp2(rapid.Float64Range(-10, 40).Draw(t, "log2 scale")))
		if d.fine > 0 {
			j := rapid.Uint64Max(1<<d.fine-1).Draw(t, "j")
			p, q := d.exactExponent(j)
			requireEncloses(t, d.exponent(j), p, q)
		}
		slack := uint64(1) << rapid.UintRange(2, 60).Draw(t, "log2 slack")
		d.slack = slack
		d.cells.made.Store(coarse(d.cells.law, slack).made.Load())
		key := SeedKey(rapid.Uint64().Draw(t, "seed"))
		a, b := key.Stream(), key.Stream()
		for range 3 {
			w := b.Uint64()
			want := extend(b, d.cells.law, w>>1, uBits)
			if d.fine > 0 {
				j := b.Uint64() >> (64 - d.fine)
				for !bernoulliExpBig(b, func() (p, q *big.Int) { return d.exactExponent(j) }) {
					j = b.Uint64() >> (64 - d.fine)
				}
				want = want<<d.fine | j
			}
			got, bit := d.geometric(a)
			require.Equal(t, want, got)
			require.Equal(t, w&1, bit)
		}
		require.Equal(t, b.Uint64(), a.Uint64(), "words read")
	})
}

func TestScaleRange(t *testing.T) {
	for _, bad := range []float64{0, -1, minScale / 2, maxScale * 2, math.Inf(1), math.Inf(-1), math.NaN()} {
		require.Error(t, testkit.Err(NewDiscreteLaplace(bad)), bad)
		require.Error(t, testkit.Err(NewDiscreteGaussian(bad)), bad)
	}
	for _, good := range []float64{minScale, 0.01, maxScale} {
		laplace(t, good)
	}
}

func TestDyadicIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(minScale, maxScale).Draw(t, "x")
		m, shift := dyadic(x)
		require.Equal(t, x, math.Ldexp(float64(m), -int(shift)))
		require.Less(t, m, uint64(1)<<53)
		require.LessOrEqual(t, shift, uint(62))
	})
}
