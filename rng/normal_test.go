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
			n := testkit.Must(NewRoundedNormal(c.mean, c.sd, c.grid))
			n.digit = c.digit
			s := SeedKey(21).Derive("rounded normal", math.Float64bits(c.mean), uint64(c.digit)).Stream()
			p := pValue(draws(false)/10, func() int64 { return n.Sample(s) }, roundedLaw(c.mean, c.sd, c.grid), int64(math.Round(c.mean/c.grid)))
			require.Greater(t, p, falseAlarm)
		})
	}
}

func TestRoundedNormalControls(t *testing.T) {
	if testkit.Race {
		t.Skip("too few draws")
	}
	law := roundedLaw(0.3, 0.4, 1)
	caught := func(t *testing.T, n int, sample func() int64, law func(int64) float64) {
		require.Less(t, pValue(n, sample, law, 0), falseAlarm)
	}
	for name, c := range map[string]struct {
		d   interface{ Sample(*Stream) int64 }
		law func(int64) float64
	}{
		"discrete Gaussian":     {gaussian(t, 0.4), roundedLaw(0, 0.4, 1)},
		"mean rounded first":    {testkit.Must(NewRoundedNormal(0, 0.4, 1)), law},
		"sd short by 2 percent": {testkit.Must(NewRoundedNormal(0, 0.98, 0.125)), roundedLaw(0, 1, 0.125)},
	} {
		t.Run(name, func(t *testing.T) {
			s := SeedKey(26).Stream()
			caught(t, 100_000, func() int64 { return c.d.Sample(s) }, c.law)
		})
	}
	t.Run("any k", func(t *testing.T) {
		s, n := SeedKey(24).Stream(), testkit.Must(NewRoundedNormal(0.3, 0.4, 1))
		caught(t, 30_000, func() int64 {
			k := uint64(0)
			for bernoulliRatio(s, 1, 2) {
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
		s, n := SeedKey(25).Stream(), testkit.Must(NewRoundedNormal(0, 1, 0.125))
		caught(t, 30_000, func() int64 {
			for {
				k := uint64(0)
				for bernoulliRatio(s, 1, 2) {
					k++
				}
				if !bernoulliRatio(s, k*max(k, 1)-k, 2) {
					continue
				}
				x := &lazy{src: s, digit: 64}
				x.extend()
				return n.round(k, x, s.Uint64()&1 == 1)
			}
		}, roundedLaw(0, 1, 0.125))
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
	// With k = 1 and x = 1/2 less or more a bit, mean + sd (k+x) is on the border of two values: 1.5 rounds
	// to 1 or 2, -1.5 to -2 or -1. In the other rows the last bit of a word is a third of the grid: no word
	// ends on a border, and one word is half of it.
	for _, c := range []struct {
		grid     float64
		k        uint64
		words    []uint64
		negative bool
		want     int64
		read     int
	}{
		{1, 1, []uint64{half}, false, 2, 1}, {1, 1, []uint64{half - 1}, false, 1, 1},
		{1, 1, []uint64{half}, true, -2, 1}, {1, 1, []uint64{half - 1}, true, -1, 1},
		{3 * 0x1p-64, 0, []uint64{1, 1 << 63}, false, 1, 2}, {3 * 0x1p-64, 0, []uint64{1, 1<<63 - 1}, false, 0, 2},
		{3 * 0x1p-64, 0, []uint64{0}, false, 0, 1}, {3 * 0x1p-64, 0, []uint64{2}, false, 1, 1},
	} {
		s := &script{words: c.words}
		x := &lazy{src: s, digit: 64}
		x.extend()
		require.Equal(t, c.want, testkit.Must(NewRoundedNormal(0, 1, c.grid)).round(c.k, x, c.negative), "%x", c.words)
		require.Equal(t, c.read, s.read, "%x", c.words)
	}
}

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
		value := testkit.Must(NewRoundedNormal(mean, sd, grid)).round(k, x, negative)
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
	require.Equal(t, int64(math.MaxInt64), testkit.Must(NewRoundedNormal(math.MaxFloat64, 1, 5e-324)).Sample(s))
	require.Equal(t, int64(math.MinInt64), testkit.Must(NewRoundedNormal(-math.MaxFloat64, 1, 5e-324)).Sample(s))
	require.EqualValues(t, 0, testkit.Must(NewRoundedNormal(0, 5e-324, math.MaxFloat64)).Sample(s))
	require.Equal(t, int64(1<<53), testkit.Must(NewRoundedNormal(1<<53, 5e-324, 1)).Sample(s))
	for range 100 { // on a border: either side
		require.Contains(t, []int64{1, 2}, testkit.Must(NewRoundedNormal(1.5, 5e-324, 1)).Sample(s))
	}
}

func TestRoundedNormalRefusesBadParameters(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range [][3]float64{{nan, 1, 1}, {inf, 1, 1}, {0, 0, 1}, {0, -1, 1}, {0, nan, 1}, {0, inf, 1}, {0, 1, 0}, {0, 1, -1}, {0, 1, nan}, {0, 1, inf}} {
		require.Error(t, testkit.Err(NewRoundedNormal(c[0], c[1], c[2])), "%v", c)
	}
}

const referenceBits = 400

func float(x uint64) *big.Float { return new(big.Float).SetPrec(referenceBits).SetUint64(x) }

// referenceExp returns exp(-x) from the series of exp(x), in 400-bit floating point.
func referenceExp(x *big.Float) *big.Float {
	sum, term := float(1), float(1)
	for j := uint64(1); term.MantExp(nil) > sum.MantExp(nil)-referenceBits-10; j++ {
		term.Quo(term.Mul(term, x), float(j))
		if sum.Add(sum, term); term.Sign() == 0 {
			break
		}
	}
	return sum.Quo(float(1), sum)
}

// referenceTails returns P[X >= 1], P[X >= 2], ... . It computes each weight by itself, not
// as a product of others. It is good for tails down to 2^-200 and for 80 bits of them.
func referenceTails(l law) (tails []*big.Float) {
	s := func(num uint64, shift uint) *big.Float { x := float(num); return x.SetMantExp(x, -int(shift)) }
	var exponent func(k uint64) *big.Float
	switch l := l.(type) {
	case halfGaussian:
		exponent = func(k uint64) *big.Float {
			z := float(k)
			z.Quo(z, s(l.num, l.shift))
			return z.Quo(z.Mul(z, z), float(2))
		}
	case geometric:
		exponent = func(k uint64) *big.Float { return float(k).Quo(float(k), s(l.num, l.shift)) }
	}
	var weights []*big.Float
	for k := uint64(0); ; k++ {
		x := exponent(k)
		if x.Cmp(float(220)) > 0 { // exp(-220) < 2^-317
			break
		}
		weights = append(weights, referenceExp(x))
	}
	sum := float(0)
	for k := len(weights) - 1; k >= 0; k-- {
		sum.Add(sum, weights[k])
		weights[k] = new(big.Float).Set(sum)
	}
	for _, w := range weights[1:] {
		tails = append(tails, w.Quo(w, sum))
	}
	return tails
}

var laws = map[string]law{
	"gaussian 2^-10": halfGaussian{1, 10}, "gaussian 0.3": gaussianLaw(0.3), "gaussian 1": halfGaussian{1, 0},
	"gaussian 2.5": gaussianLaw(2.5), "gaussian 40": halfGaussian{40, 0}, "gaussian sqrt 2000": gaussianLaw(math.Sqrt(2000)),
	"geometric 2^-10": geometric{1, 10}, "geometric 2.3": geometricLaw(2.3), "geometric 7": geometric{7, 0},
}

func gaussianLaw(sigma float64) law  { num, shift := dyadic(sigma); return halfGaussian{num, shift} }
func geometricLaw(scale float64) law { num, shift := dyadic(scale); return geometric{num, shift} }

func (t *table) wrong(reference []*big.Float) (n int) {
	for i, e := range t.tails {
		x := new(big.Float) // no tail beyond the reference reaches 2^-63
		if i < len(reference) {
			x.SetMantExp(reference[i], uBits)
		}
		if float(e).Cmp(x) > 0 || x.Cmp(float(e+t.slack)) > 0 {
			n++
		}
	}
	return n
}

func TestTailsAreEnclosed(t *testing.T) {
	for name, l := range laws {
		t.Run(name, func(t *testing.T) {
			if g, ok := l.(halfGaussian); ok && testkit.Race && g.num>>g.shift > 5 {
				t.Skip("slow, and one goroutine")
			}
			reference := referenceTails(l)
			for _, prec := range []uint{0, 1, 40, 95, 190} {
				tails := l.tails(prec)
				for i, tail := range tails {
					x := float(0)
					if i < len(reference) {
						x.SetMantExp(reference[i], int(prec))
					}
					lo, hi := new(big.Float).SetInt(tail.lo), new(big.Float).SetInt(tail.hi)
					require.True(t, lo.Cmp(x) <= 0 && x.Cmp(hi) <= 0, "precision %d, tail %d", prec, i+1)
					width := new(big.Int).Sub(tail.hi, tail.lo)
					require.LessOrEqual(t, width.Cmp(big.NewInt(2)), 0, "precision %d: %v wide", prec, width)
				}
				require.Zero(t, tails[len(tails)-1].lo.Sign())
			}
			made := newTable(l)
			require.Zero(t, made.wrong(reference))
			require.LessOrEqual(t, made.slack, uint64(2), "or big integers are needed often")
			require.Zero(t, made.tails[len(made.tails)-1])
			require.IsNonIncreasing(t, made.tails)
		})
	}
}

// TestTableControls checks that wrong catches a table of probabilities rounded to float64.
// No test of draws could ever tell that table from the right one.
func TestTableControls(t *testing.T) {
	l := halfGaussian{40, 0}
	reference := referenceTails(l)
	made := newTable(l)
	rounded := &table{slack: made.slack}
	for _, x := range reference {
		p, _ := x.Float64()
		rounded.tails = append(rounded.tails, uint64(math.Ldexp(p, uBits)))
	}
	require.Greater(t, rounded.wrong(reference), 100)
	for _, off := range []int{-1, 1} { // one entry by one unit more than it may
		made := newTable(l)
		made.slack = 1
		if off < 0 {
			made.tails[60]--
		} else {
			made.tails[60]++
		}
		require.Equal(t, 1, made.wrong(reference))
	}
}

func TestExpNegIsEnclosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.OneOf(rapid.Uint64Max(200), rapid.Uint64()).Draw(t, "p")
		q := rapid.Uint64Range(max(1, p/250), math.MaxUint64).Draw(t, "q")
		prec := rapid.UintRange(0, 200).Draw(t, "prec")
		x := float(p)
		x = referenceExp(x.Quo(x, float(q)))
		x.SetMantExp(x, int(prec))
		got := expNeg(new(big.Int).SetUint64(p), new(big.Int).SetUint64(q), prec)
		require.LessOrEqual(t, new(big.Float).SetInt(got.lo).Cmp(x), 0)
		require.LessOrEqual(t, x.Cmp(new(big.Float).SetInt(got.hi)), 0)
		require.LessOrEqual(t, new(big.Int).Sub(got.hi, got.lo).Cmp(big.NewInt(2)), 0)
	})
	tiny := expNeg(big.NewInt(1<<20), big.NewInt(1), 64) // exp(-2^20)
	require.Zero(t, tiny.lo.Sign())
	require.Equal(t, int64(1), tiny.hi.Int64())
}

func TestInverseE(t *testing.T) {
	one := big.NewInt(1)
	e := expNeg(one, one, 64)
	require.Equal(t, uint64(inverseE), e.lo.Uint64())
	require.Equal(t, uint64(inverseE+1), e.hi.Uint64())
}
