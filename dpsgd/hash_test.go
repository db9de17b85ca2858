package dpsgd

import (
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/rng"
)

// TestHashIsNH checks the hash against its definition, in big integers.
func TestHashIsNH(t *testing.T) {
	stream := rng.SeedKey(1).Stream()
	h := newHasher(stream)
	for _, n := range []int{0, 1, 2, 5, 64, spanLength - 1, spanLength} {
		m := make([]int64, n)
		for i := range m {
			m[i] = int64(stream.Uint64())
		}
		word := func(i int) *big.Int {
			if i < n {
				return new(big.Int).SetUint64(uint64(m[i]))
			}
			return new(big.Int)
		}
		one := big.NewInt(1)
		modulo := func(v *big.Int, exponent uint) *big.Int { return v.Mod(v, new(big.Int).Lsh(one, exponent)) }
		got := h.sum(m)
		for pass := range 2 {
			want := new(big.Int)
			for i := 0; i < n; i += 2 {
				factor := func(i int) *big.Int {
					return modulo(new(big.Int).Add(word(i), new(big.Int).SetUint64(h.words[i+2*pass])), 64)
				}
				want.Add(want, new(big.Int).Mul(factor(i), factor(i+1)))
			}
			value := new(big.Int)
			for i := range 16 { // little-endian
				value.Lsh(value, 8).Add(value, big.NewInt(int64(got[16*pass+15-i])))
			}
			require.Zero(t, modulo(want, 128).Cmp(value), "length %d, pass %d", n, pass)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	h := newHasher(rng.SeedKey(1).Stream())
	m := make([]int64, spanLength)
	b.SetBytes(8 * spanLength)
	for b.Loop() {
		h.sum(m)
	}
}
