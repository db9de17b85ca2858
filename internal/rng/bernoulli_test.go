package rng

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Denominators near 2^64 leave one comparison in two undecided by its first
// word, so the long comparison runs as well.
func TestBernoulliAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.OneOf(rapid.Uint64Range(1, 20), rapid.Uint64Min(math.MaxUint64/2)).Draw(t, "d")
		n := rapid.OneOf(rapid.Uint64Max(20), rapid.Uint64Max(d), rapid.Uint64()).Draw(t, "n")
		key := SeedKey(rapid.Uint64().Draw(t, "seed"))
		a, b := key.Stream(), key.Stream()
		bigN, bigD := new(big.Int).SetUint64(n), new(big.Int).SetUint64(d)
		for range 20 {
			require.Equal(t, bernoulliBig(b, bigN, bigD), bernoulli(a, n, d))
			p := n % (4 * min(d, 1<<60))
			require.Equal(t, bernoulliExpBig(b, new(big.Int).SetUint64(p), bigD), BernoulliExp(a, p, d))
			require.Equal(t, b.Uint64(), a.Uint64(), "words read")
		}
	})
}

func TestBernoulliExpLaw(t *testing.T) {
	for _, c := range []struct{ p, q uint64 }{
		{0, 1}, {1, 3}, {2, 3}, {1, 1}, {5, 2}, {7, 1}, {1, 1000}, {1<<62 + 1, 1 << 62}, {1 << 63, math.MaxUint64},
	} {
		t.Run(fmt.Sprintf("%d over %d", c.p, c.q), func(t *testing.T) {
			s := SeedKey(1).Derive("bernoulli", c.p, c.q).Stream()
			hits := 0
			for range int(draws) {
				if BernoulliExp(s, c.p, c.q) {
					hits++
				}
			}
			want := math.Exp(-float64(c.p) / float64(c.q))
			sd := math.Sqrt(want * (1 - want) * draws)
			require.InDelta(t, want*draws, hits, 6.2*sd+0.5, "6.2 standard deviations: two-sided 6e-10")
		})
	}
	require.Panics(t, func() { BernoulliExp(SeedKey(1).Stream(), 1, 0) })
}
