package rng

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

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

// TestLaplaceWordsAgreeWithBig compares the words with big integers alone, as for the discrete Gaussian.
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
