package rng

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

func roundedNormal(t require.TestingT, mean, sd, grid float64) *RoundedNormal {
	n, err := NewRoundedNormal(mean, sd, grid)
	require.NoError(t, err)
	return n
}

// roundedLaw returns the law of round((mean + sd Z)/grid).
func roundedLaw(mean, sd, grid float64) func(int64) float64 {
	return func(k int64) float64 {
		low, high := ((float64(k)-0.5)*grid-mean)/sd, ((float64(k)+0.5)*grid-mean)/sd
		if low > 0 {
			low, high = -high, -low
		}
		return distuv.UnitNormal.CDF(high) - distuv.UnitNormal.CDF(low)
	}
}

// normalPValue does what pValue does for a given number of draws, because these draws take
// longer. It keeps what is beyond the cells apart from what is within.
func normalPValue(n int, sample func() int64, prob func(int64) float64, center int64) float64 {
	lo, hi := center, center
	for prob(lo-1)*float64(n) >= 20 {
		lo--
	}
	for prob(hi+1)*float64(n) >= 20 {
		hi++
	}
	observed := make([]float64, hi-lo+3)
	for range n {
		observed[min(max(sample(), lo-1), hi+1)-lo+1]++
	}
	expected := make([]float64, len(observed))
	inside := 0.0
	for k := lo; k <= hi; k++ {
		expected[k-lo+1] = prob(k) * float64(n)
		inside += prob(k)
	}
	for k := int64(1); k <= 10_000 && prob(lo-k) > 0; k++ {
		expected[0] += prob(lo-k) * float64(n)
	}
	expected[len(expected)-1] = math.Max(0, (1-inside)*float64(n)-expected[0])
	chi2, cells := 0.0, 0
	for i := range observed {
		if expected[i] < 5 {
			if observed[i] > expected[i]+45 { // Poisson(5): probability below 1e-22
				return 0
			}
			continue
		}
		cells++
		chi2 += (observed[i] - expected[i]) * (observed[i] - expected[i]) / expected[i]
	}
	return distuv.ChiSquared{K: float64(cells - 1)}.Survival(chi2)
}

// TestRoundedNormalLaw runs Pearson's chi-square test against the exact law, with a
// false-alarm rate of 1e-9 each. With one bit at a time every decision goes on and on.
func TestRoundedNormalLaw(t *testing.T) {
	for _, c := range []struct {
		mean, sd, grid float64
		digit          uint
	}{
		{0, 1, 1, 64}, {0.3, 0.4, 1, 64}, {-17.77, 5, 0.25, 64}, {1e6 + 0.1, 3e-3, 1.0 / 1024, 64}, {0.5, 2, 3, 64},
		{0.3, 0.4, 1, 1}, {-17.77, 5, 0.25, 3}, {0, 1, 0.125, 1},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			n := roundedNormal(t, c.mean, c.sd, c.grid)
			n.digit = c.digit
			s := SeedKey(21).Derive("rounded normal", math.Float64bits(c.mean), uint64(c.digit)).Stream()
			p := normalPValue(few(40_000), func() int64 { return n.Sample(s) }, roundedLaw(c.mean, c.sd, c.grid), int64(math.Round(c.mean/c.grid)))
			require.Greater(t, p, falseAlarm)
		})
	}
}

func TestRoundedNormalControls(t *testing.T) {
	if testkit.Race {
		t.Skip("too few draws")
	}
	law := roundedLaw(0.3, 0.4, 1)
	caught := func(t *testing.T, sample func() int64, law func(int64) float64) {
		require.Less(t, normalPValue(100_000, sample, law, 0), falseAlarm)
	}
	t.Run("discrete Gaussian", func(t *testing.T) {
		s, d := SeedKey(22).Stream(), gaussian(t, 0.4)
		caught(t, func() int64 { return d.Sample(s) }, roundedLaw(0, 0.4, 1))
	})
	t.Run("mean rounded first", func(t *testing.T) {
		s, n := SeedKey(23).Stream(), roundedNormal(t, 0, 0.4, 1)
		caught(t, func() int64 { return n.Sample(s) }, law)
	})
	t.Run("any k", func(t *testing.T) {
		s, n := SeedKey(24).Stream(), roundedNormal(t, 0.3, 0.4, 1)
		caught(t, func() int64 {
			k := uint64(0)
			for BernoulliExp(s, 1, 2) {
				k++
			}
			x := &lazy{src: s, digit: 64}
			for !acceptNormal(k, x) {
				x = &lazy{src: s, digit: 64}
			}
			return n.round(k, x, s.Uint64()&1 == 1)
		}, law)
	})
	t.Run("any x", func(t *testing.T) {
		s, n := SeedKey(25).Stream(), roundedNormal(t, 0, 1, 0.125)
		caught(t, func() int64 {
			for {
				k := uint64(0)
				for BernoulliExp(s, 1, 2) {
					k++
				}
				if !BernoulliExp(s, k*max(k, 1)-k, 2) {
					continue
				}
				x := &lazy{src: s, digit: 64}
				x.extend()
				return n.round(k, x, s.Uint64()&1 == 1)
			}
		}, roundedLaw(0, 1, 0.125))
	})
	t.Run("sd short by 2 percent", func(t *testing.T) {
		s, n := SeedKey(26).Stream(), roundedNormal(t, 0, 0.98, 0.125)
		caught(t, func() int64 { return n.Sample(s) }, roundedLaw(0, 1, 0.125))
	})
}

// script returns words that a test chose. It panics when more are asked for.
type script struct {
	words []uint64
	read  int
}

func (s *script) Uint64() uint64 {
	s.read++
	return s.words[s.read-1]
}

// real returns the number whose binary digits are the bits of all words.
func real(words ...uint64) *big.Rat {
	x, scale := new(big.Int), big.NewInt(1)
	for _, w := range words {
		x.Add(x.Lsh(x, 64), new(big.Int).SetUint64(w))
		scale.Lsh(scale, 64)
	}
	return new(big.Rat).SetFrac(x, scale)
}

// TestRoundedNormalReadsOnWhereWordsDoNotDecide follows words that leave a comparison open by a word that
// decides it, to either side. With k = 0 and j = 1, u < x(2k+x)/((2k+2)j) is u < x^2/2.
func TestRoundedNormalReadsOnWhereWordsDoNotDecide(t *testing.T) {
	const half, eighth = 1 << 63, 1 << 61 // x = 1/2, u = 1/8 = x^2/2
	for _, c := range []struct {
		words []uint64 // of u and x in turns
		below bool
		read  int
	}{
		{[]uint64{eighth, half, 0, half}, true, 4},
		{[]uint64{eighth, half, half, 1}, false, 4},
		{[]uint64{eighth, half, 0, 0, 1, 1 << 62}, true, 6},
		{[]uint64{eighth, half, 0, 0, 1 << 62, 1}, false, 6},
		{[]uint64{eighth - 1, half}, true, 2},
		{[]uint64{eighth + 1, half}, false, 2},
	} {
		s := &script{words: c.words}
		require.Equal(t, c.below, below(&lazy{src: s, digit: 64}, 1, 0, &lazy{src: s, digit: 64}), "%x", c.words)
		require.Equal(t, c.read, s.read, "%x", c.words)
	}
	// With k = 1 and x = 1/2 less or more a bit, mean + sd (k+x) is on the border of two
	// values: 1.5 rounds to 1 or 2, -1.5 to -2 or -1.
	n := roundedNormal(t, 0, 1, 1)
	for _, c := range []struct {
		words    []uint64
		negative bool
		want     int64
		read     int
	}{
		{[]uint64{half}, false, 2, 1}, {[]uint64{half - 1}, false, 1, 1},
		{[]uint64{half}, true, -2, 1}, {[]uint64{half - 1}, true, -1, 1},
	} {
		s := &script{words: c.words}
		x := &lazy{src: s, digit: 64}
		x.extend()
		require.Equal(t, c.want, n.round(1, x, c.negative))
		require.Equal(t, c.read, s.read)
	}
	// The last bit of a word is a third of the grid: no word ends on a border, and one word is half of it.
	n = roundedNormal(t, 0, 1, 3*0x1p-64)
	for _, c := range []struct {
		words []uint64
		want  int64
		read  int
	}{
		{[]uint64{1, 1 << 63}, 1, 2}, {[]uint64{1, 1<<63 - 1}, 0, 2}, {[]uint64{0}, 0, 1}, {[]uint64{2}, 1, 1},
	} {
		s := &script{words: c.words}
		x := &lazy{src: s, digit: 64}
		x.extend()
		require.Equal(t, c.want, n.round(0, x, false), "%x", c.words)
		require.Equal(t, c.read, s.read, "%x", c.words)
	}
}

// TestRoundedNormalDecidesAsTheWholeNumbersDo checks, for any words, that each decision is
// the one that the numbers in full lead to.
func TestRoundedNormalDecidesAsTheWholeNumbersDo(t *testing.T) {
	word := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, 1 << 61, 1 << 62, 1 << 63, math.MaxUint64}))
	rapid.Check(t, func(t *rapid.T) {
		k, j := rapid.Uint64Max(6).Draw(t, "k"), rapid.Uint64Range(1, 5).Draw(t, "j")
		n := rapid.IntRange(1, 6).Draw(t, "words of each")
		us := rapid.SliceOfN(word, n, n).Draw(t, "u")
		xs := rapid.SliceOfN(word, n, n).Draw(t, "x")
		us, xs = append(us, 0x9e3779b97f4a7c15, 0xd1b54a32d192ed03), append(xs, 0, 0) // which decide: no bound has these digits
		s := new(script)
		for i := range us { // read in turns
			s.words = append(s.words, us[i], xs[i])
		}
		x := &lazy{src: s, digit: 64}
		got := below(&lazy{src: s, digit: 64}, j, k, x)
		u, whole := real(us...), real(xs...)
		bound := new(big.Rat).Add(whole, new(big.Rat).SetUint64(2*k))
		bound.Mul(bound, whole).Quo(bound, new(big.Rat).SetUint64((2*k+2)*j))
		if u.Cmp(bound) != 0 {
			require.Equal(t, u.Cmp(bound) < 0, got)
		}

		mean := rapid.Float64Range(-1e3, 1e3).Draw(t, "mean")
		sd := math.Exp2(rapid.Float64Range(-20, 20).Draw(t, "log2 sd"))
		grid := math.Exp2(float64(rapid.IntRange(-10, 10).Draw(t, "log2 grid")))
		negative := rapid.Bool().Draw(t, "negative")
		s = &script{words: append(xs, 1<<62, 1<<62)}
		x = &lazy{src: s, digit: 64}
		x.extend()
		value := roundedNormal(t, mean, sd, grid).round(k, x, negative)
		// Compute the same with all words, less half a grid: strictly within a grid of value.
		y := new(big.Rat).Add(real(s.words...), new(big.Rat).SetUint64(k))
		if negative {
			y.Neg(y)
		}
		rat := func(f float64) *big.Rat { return new(big.Rat).SetFloat64(f) }
		y.Mul(y, rat(sd)).Add(y, rat(mean)).Quo(y, rat(grid))
		y.Sub(y, new(big.Rat).SetInt64(value))
		require.LessOrEqual(t, y.Cmp(rat(0.5)), 0)
		require.GreaterOrEqual(t, y.Cmp(rat(-0.5)), 0)
	})
}

func TestRoundedNormalFarApart(t *testing.T) {
	s := SeedKey(27).Stream()
	require.Equal(t, int64(math.MaxInt64), roundedNormal(t, math.MaxFloat64, 1, 5e-324).Sample(s))
	require.Equal(t, int64(math.MinInt64), roundedNormal(t, -math.MaxFloat64, 1, 5e-324).Sample(s))
	require.EqualValues(t, 0, roundedNormal(t, 0, 5e-324, math.MaxFloat64).Sample(s))
	require.Equal(t, int64(1<<53), roundedNormal(t, 1<<53, 5e-324, 1).Sample(s))
	for range 100 { // on a border: either side
		require.Contains(t, []int64{1, 2}, roundedNormal(t, 1.5, 5e-324, 1).Sample(s))
	}
}

func TestRoundedNormalRepeats(t *testing.T) {
	n, key := roundedNormal(t, 0.3, 40, 1.0/1024), SeedKey(28)
	require.Equal(t, n.Sample(key.Stream()), n.Sample(key.Stream()))
}

func TestRoundedNormalRefusesBadParameters(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range [][3]float64{{nan, 1, 1}, {inf, 1, 1}, {0, 0, 1}, {0, -1, 1}, {0, nan, 1}, {0, inf, 1}, {0, 1, 0}, {0, 1, -1}, {0, 1, nan}, {0, 1, inf}} {
		_, err := NewRoundedNormal(c[0], c[1], c[2])
		require.Error(t, err, "%v", c)
	}
}

func BenchmarkRoundedNormal(b *testing.B) {
	n, s := roundedNormal(b, 0.3, 40, 1.0/1024), SeedKey(29).Stream()
	for b.Loop() {
		n.Sample(s)
	}
}
