package rng

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func fraction(p, q uint64) func() (*big.Int, *big.Int) {
	return func() (*big.Int, *big.Int) { return new(big.Int).SetUint64(p), new(big.Int).SetUint64(q) }
}

// TestBernoulliExpAgreesWithBig makes enclosures wider than they need to be. They send many
// trials to the exact integers halfway, at every place where that can happen.
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
