package rng

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// pairs numbers the outcomes (value, first) of n values, from the largest value down.
func pairLaw(sigma float64, n int64) (number func(int64, uint64) int64, law func(int64) float64) {
	d := testkit.Must(NewDiscreteGaussian(sigma))
	reach := int64(12*sigma) + 3
	masses := NewMasses(d.LogProb, reach)
	law = func(k int64) float64 {
		if k < 0 || k >= 2*reach*n {
			return 0
		}
		x, i := reach-k/n, k%n
		return math.Pow(masses.AtMost(x-1), float64(i)) * masses.At(x) * math.Pow(masses.AtMost(x), float64(n-1-i))
	}
	return func(x int64, i uint64) int64 { return (reach-x)*n + int64(i) }, law
}

// TestLargestLaw runs Pearson's chi-square test of value and index against the law of n draws,
// with a false-alarm rate of 1e-9 each. Small digits never leave a decision to the table.
func TestLargestLaw(t *testing.T) {
	for _, c := range []struct {
		sigma float64
		n     int64
		digit uint
	}{
		{1, 1, 64}, {1, 2, 64}, {0.3, 3, 64}, {0.125, 4, 64}, {5, 7, 64}, {2, 60, 64}, {40, 3, 64}, {300, 2, 64},
		{1, 1, 2}, {0.4, 3, 5}, {2, 5, 3},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			d := testkit.Must(NewDiscreteGaussian(c.sigma))
			number, law := pairLaw(c.sigma, c.n)
			s := SeedKey(77).Derive("largest", uint64(c.n), uint64(c.digit)).Stream()
			sample, n := func() int64 { return number(d.Largest(uint64(c.n), s)) }, draws(false)/4
			if c.digit < 64 {
				tables := map[uint]*logs{}
				n = draws(false) / 100
				sample = func() int64 {
					whole, x := exponentialReal(&s.src, c.digit)
					for ; ; x.extend() {
						if _, made := tables[x.bits]; !made {
							tables[x.bits] = d.logs(x.bits)
						}
						e := new(big.Int).SetUint64(whole)
						if v, i, ok := tables[x.bits].find(uint64(c.n), e.Or(e.Lsh(e, x.bits), &x.head)); ok {
							return number(v, i)
						}
					}
				}
			}
			center := number(0, 0)
			for k := center; law(k) == 0; k-- {
				center = k - 1
			}
			require.Greater(t, pValue(n, sample, law, center), falseAlarm)
		})
	}
}

// TestLargestTables: 64 places decide as 128 places do, and the a_x are -log F(x).
func TestLargestTables(t *testing.T) {
	for _, sigma := range []float64{0.01, 0.3, 1, 7.5, 40, 400} {
		d := testkit.Must(NewDiscreteGaussian(sigma))
		table, exact := d.extremes(), d.logs(128)
		masses := NewMasses(d.LogProb, int64(14*sigma)+5)
		for j, a := range table.a[:len(table.a)-1] {
			got, _ := new(big.Float).SetInt(a).Float64()
			want := -math.Log(masses.AtMost(table.top - int64(j)))
			require.InDelta(t, want, got/0x1p64, 1e-12*max(1, want/1e-3), "%g %d", sigma, table.top-int64(j))
			_, _, ok := table.find(1+uint64(j), new(big.Int).Mul(a, big.NewInt(1+int64(j)))) // a may be too small
			require.False(t, ok, "%g %d", sigma, j)
		}
		s, undecided := SeedKey(5).Derive("exact", math.Float64bits(sigma)).Stream(), 0
		for range few(20_000) {
			n := 1 + s.Uint64N(1<<(1+s.Uint64N(24)))
			whole, x := exponentialReal(&s.src, 64)
			real := func() *big.Int {
				e := new(big.Int).SetUint64(whole)
				return e.Or(e.Lsh(e, x.bits), &x.head)
			}
			v, i, ok := table.find(n, real())
			if !ok {
				undecided++
				continue
			}
			x.extend()
			wantV, wantI, ok := exact.find(n, real())
			require.True(t, ok)
			require.Equal(t, fmt.Sprint(wantV, wantI), fmt.Sprint(v, i), "%g %d", sigma, n)
		}
		require.LessOrEqual(t, undecided, 2, sigma)
	}
}

// TestLargestControls: mistakes about the index or the law of the largest value are caught.
func TestLargestControls(t *testing.T) {
	if testkit.Race {
		t.Skip("too few draws")
	}
	const sigma, n = 2, 5
	d := testkit.Must(NewDiscreteGaussian(sigma))
	number, law := pairLaw(sigma, n)
	center := number(2, 0)
	for name, wrong := range map[string]func(s *Stream) int64{
		"any index": func(s *Stream) int64 {
			v, _ := d.Largest(n, s)
			return number(v, s.Uint64N(n))
		},
		"one value fewer": func(s *Stream) int64 { return number(d.Largest(n-1, s)) },
		"last index": func(s *Stream) int64 {
			v, i := d.Largest(n, s)
			return number(v, n-1-i)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := SeedKey(8).Stream()
			require.Less(t, pValue(200_000, func() int64 { return wrong(s) }, law, center), falseAlarm)
		})
	}
	require.Panics(t, func() { testkit.Must(NewDiscreteGaussian(5000)).Largest(2, SeedKey(1).Stream()) })
}

func BenchmarkLargest(b *testing.B) {
	for _, sigma := range []float64{4, 40, 400} {
		b.Run(fmt.Sprint(sigma), func(b *testing.B) {
			d, s := testkit.Must(NewDiscreteGaussian(sigma)), SeedKey(1).Stream()
			d.Largest(1<<17, s)
			for b.Loop() {
				d.Largest(1<<17, s)
			}
		})
	}
}
