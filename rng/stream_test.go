package rng

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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

// TestSourceIsTheStandardLibrarys checks both ways of making words against those of
// math/rand/v2, over several keys' worth.
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
