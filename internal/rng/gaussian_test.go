package rng

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func gaussian(t require.TestingT, sigma float64) *DiscreteGaussian {
	d, err := NewDiscreteGaussian(sigma)
	require.NoError(t, err)
	require.Equal(t, sigma, d.Sigma())
	return d
}

func TestDiscreteGaussianLaw(t *testing.T) {
	for _, sigma := range []float64{0.3, 1, math.Sqrt2, 40, 1234.5} {
		t.Run(fmt.Sprint(sigma), func(t *testing.T) {
			d := gaussian(t, sigma)
			s := SeedKey(5).Derive("gaussian", math.Float64bits(sigma)).Stream()
			requireFits(t, func() int64 { return d.Sample(s) }, expOf(d.LogProb))
		})
	}
}

// For a wide sigma the cells are sigma/16 wide and the law is the normal one to
// within 1/sigma^2 of a cell (Euler-Maclaurin).
func TestDiscreteGaussianLawWide(t *testing.T) {
	for _, sigma := range []float64{1e6, 1e8 / 3, 1e9, maxScale} {
		t.Run(fmt.Sprint(sigma), func(t *testing.T) {
			d := gaussian(t, sigma)
			s := SeedKey(6).Derive("gaussian", math.Float64bits(sigma)).Stream()
			width := int64(sigma / 16)
			normal := distuv.Normal{Mu: 0, Sigma: sigma}
			requireFits(t, func() int64 {
				k := d.Sample(s)
				return (k - ((k%width)+width)%width) / width
			}, func(cell int64) float64 {
				lo := float64(cell*width) - 0.5
				return normal.CDF(-max(lo, -lo-float64(width))) - normal.CDF(-max(lo, -lo-float64(width))-float64(width))
			})
		})
	}
}

// For a narrow sigma the noise is zero, and the sampler must still end.
func TestDiscreteGaussianNarrow(t *testing.T) {
	for _, sigma := range []float64{minScale, 0.01, 0.05} {
		d := gaussian(t, sigma)
		s := SeedKey(7).Stream()
		for range 10_000 {
			require.Zero(t, d.Sample(s))
		}
	}
}

func TestDiscreteGaussianControls(t *testing.T) {
	d := gaussian(t, 2.5)
	sampler := func(seed uint64, propose func(*Stream) int64, accept *DiscreteGaussian) func() int64 {
		s := SeedKey(seed).Stream()
		return func() int64 {
			for {
				y := propose(s)
				if accept.accept(s, uint64(max(y, -y))) {
					return y
				}
			}
		}
	}
	t.Run("unbroken", func(t *testing.T) {
		requireFits(t, sampler(8, func(s *Stream) int64 { return laplace(s, d.t, 0) }, d), expOf(d.LogProb))
	})
	t.Run("wrong t", func(t *testing.T) {
		requireCaught(t, sampler(9, func(s *Stream) int64 { return laplace(s, d.t+1, 0) }, d), expOf(d.LogProb))
	})
	t.Run("zero proposed with either sign", func(t *testing.T) {
		requireCaught(t, sampler(10, func(s *Stream) int64 {
			g := int64(geometric(s, d.t, 0))
			if s.Uint64()>>63 == 0 {
				return g
			}
			return -g
		}, d), expOf(d.LogProb))
	})
	t.Run("sigma 1 percent short", func(t *testing.T) {
		short := gaussian(t, 2.475)
		s := SeedKey(11).Stream()
		requireCaught(t, func() int64 { return short.Sample(s) }, expOf(d.LogProb))
	})
	t.Run("rounded continuous noise", func(t *testing.T) {
		normal := distuv.Normal{Sigma: 2.5, Src: SeedKey(12).Stream()}
		requireCaught(t, func() int64 { return int64(math.Round(normal.Rand())) }, expOf(d.LogProb))
	})
}

// The words decide almost always; a slack made larger than it need be sends
// many draws to the exact integers halfway, at every place where that can
// happen.
func TestWordsAgreeWithBig(t *testing.T) {
	check := func(t require.TestingT, sigma float64, slack, seed uint64, n int) {
		d := gaussian(t, sigma)
		d.slack = slack
		key := SeedKey(seed)
		a, b := key.Stream(), key.Stream()
		for range n {
			got := d.Sample(a)
			var want int64
			for {
				want = laplace(b, d.t, 0)
				if d.acceptBig(b, uint64(max(want, -want))) {
					break
				}
			}
			require.Equal(t, want, got, "sigma %v slack %d", sigma, slack)
			require.Equal(t, b.Uint64(), a.Uint64(), "words read")
		}
	}
	for _, sigma := range []float64{minScale, 0.01, 1.0 / 16, 0.0626, 0.1, 0.5, 1, 1.5, 2, 40, 999.75, 1e6, 1e8 / 3, 1e9, maxScale} {
		for _, slack := range []uint64{1 << 11, 1 << 45, 1 << 58, 1 << 62} {
			check(t, sigma, slack, uint64(sigma), 1000)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp2(rapid.Float64Range(-10, 40).Draw(t, "log2 sigma"))
		check(t, sigma, 1<<rapid.IntRange(11, 62).Draw(t, "slack"), rapid.Uint64().Draw(t, "seed"), 20)
	})
}

// The words' enclosure of the exponent holds for proposals of every size, near
// the middle, where the exponent vanishes, and far out.
func TestExponentIsEnclosed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp2(rapid.Float64Range(-10, 40).Draw(t, "log2 sigma"))
		d := gaussian(t, sigma)
		y := rapid.OneOf(
			rapid.Uint64Max(4),
			rapid.Uint64Max(uint64(12*sigma)),
			rapid.Uint64Range(uint64(sigma*sigma/float64(d.t)), uint64(sigma*sigma/float64(d.t))+2),
			rapid.Uint64(),
		).Draw(t, "y")
		whole, frac, ok := d.exponent(y)
		if !ok {
			return
		}
		p, q := d.exact.of(y)
		got := new(big.Int).Lsh(new(big.Int).SetUint64(whole), 64)
		if whole == tailWhole {
			require.GreaterOrEqual(t, p.Lsh(p, 64).Cmp(got.Mul(got, q)), 0)
			return
		}
		got.Add(got, new(big.Int).SetUint64(frac))
		diff := got.Sub(got.Mul(got, q), p.Lsh(p, 64)) // in 2^-64 / q
		limit := new(big.Int).Mul(new(big.Int).SetUint64(d.slack), q)
		require.Negative(t, diff.CmpAbs(limit))
	})
}

// The path in exact integers is rare: a fallback that ran often would be slow.
func TestBigPathIsRare(t *testing.T) {
	for _, sigma := range []float64{0.5, 40, 1e6, 1e9} {
		d := gaussian(t, sigma)
		s := SeedKey(13).Stream()
		for range 100_000 {
			y := laplace(s, d.t, 0)
			if abs := uint64(max(y, -y)); float64(abs) < 7*sigma {
				_, _, ok := d.exponent(abs)
				require.True(t, ok, "sigma %v y %d", sigma, y)
			}
		}
	}
}
