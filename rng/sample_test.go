package rng

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSamplingProbabilityIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "mantissa"), -rapid.IntRange(0, 63).Draw(t, "exponent"))
		b := NewBernoulli(q)
		if b.always {
			require.Equal(t, 1.0, q)
			return
		}
		threshold := big.NewInt(int64(b.first))
		for _, word := range []uint64{b.hi, b.lo} {
			threshold.Add(threshold.Lsh(threshold, 64), new(big.Int).SetUint64(word))
		}
		got := new(big.Rat).SetFrac(threshold, new(big.Int).Lsh(big.NewInt(1), 136))
		require.Zero(t, got.Cmp(new(big.Rat).SetFloat64(q)))
	})
}

func TestSampledBytes(t *testing.T) {
	for first := range 256 {
		b := Bernoulli{first: byte(first)}
		for u := range 256 { // in every place, among neighbours that borrow and carry
			for _, around := range []uint64{0, math.MaxUint64, 0x8000007fff800100} {
				for j := range 8 {
					word := around&^(255<<(8*j)) | uint64(u)<<(8*j)
					want := uint64(0)
					for k := range 8 {
						if byte(word>>(8*k)) <= byte(first) {
							want |= 128 << (8 * k)
						}
					}
					if got := b.atMost(word); got != want {
						t.Fatalf("%x: %x, not %x", word, got, want)
					}
				}
			}
		}
	}
}

func TestAmongInParts(t *testing.T) {
	for _, q := range []float64{0x1p-20, 0.01, 0.3, 0.5, 0.9, 1} {
		const n = 1000
		var whole, parts []int
		NewBernoulli(q).Among(n, SeedKey(1).Stream(), func(i int) { whole = append(whole, i) })
		s := SeedKey(1).Stream()
		for from := 0; from < n; from += 24 {
			NewBernoulli(q).Among(min(24, n-from), s, func(i int) { parts = append(parts, from+i) })
		}
		require.Equal(t, whole, parts, q)
	}
}

// TestEightMarks compares the marks with one number after the other: its byte decides, or what is
// drawn for it if that is equal, and every other byte leaves it alone.
func TestEightMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.OneOf(rapid.Float64Range(0x1p-20, 1), rapid.SampledFrom([]float64{0.5, 1, 0x1p-64, 1.0 / 256, 255.0 / 256})).Draw(t, "q")
		b, key, n := NewBernoulli(q), SeedKey(rapid.Uint64().Draw(t, "seed")), rapid.IntRange(1, 20).Draw(t, "n")
		one, eight := key.Stream(), key.Stream()
		for range 50 {
			want := byte(0)
			if b.always {
				want = byte(1<<min(n, 8) - 1)
			} else {
				word := one.Uint64()
				for i := range min(n, 8) {
					if u := byte(word >> (8 * i)); u < b.first || u == b.first && b.rest(one) {
						want |= 1 << i
					}
				}
			}
			require.Equal(t, want, b.Eight(eight, n))
		}
		require.Equal(t, one.Uint64(), eight.Uint64(), "words read")
	})
}
