package dpsgd

import (
	"encoding/binary"
	"math/bits"

	"github.com/pate-go/pate/internal/rng"
)

// hashSize is the length of a hash in bytes.
const hashSize = 32

// hasher tells the integer sums of a step from one another: sums that differ have different
// hashes, but for a chance of 2^-128 over the hasher's secret words.
//
// It is NH (Black, Halevi, Krawczyk, Krovetz, Rogaway 1999), twice:
//
//	sum over i of (m[2i] + k[2i]) (m[2i+1] + k[2i+1]) modulo 2^128
//
// where the inner additions are modulo 2^64. For uniform k and two sequences m of one length
// that differ, the values are equal with a chance of at most 2^-64. With k moved by two words
// they are so once more, independently. A hash function without a key would tell sums apart
// that somebody chose so as to collide, at four times the price: but nobody who could choose a
// sum has seen the words, which no output depends on but through this comparison.
type hasher struct{ words [spanLength + 2]uint64 }

// newHasher draws the words.
func newHasher(s *rng.Stream) *hasher {
	h := new(hasher)
	for i := range h.words {
		h.words[i] = s.Uint64()
	}
	return h
}

// sum returns the hash of at most spanLength integers. Hashes are of use among sequences of
// one length.
func (h *hasher) sum(m []int64) (out [hashSize]byte) {
	var last [2]int64
	if len(m)%2 > 0 {
		last[0] = m[len(m)-1]
	}
	var low0, high0, low1, high1 uint64 // of the two sums
	k := h.words[:]
	for range (len(m) + 1) / 2 {
		if len(m) < 2 {
			m = last[:]
		}
		a, b := uint64(m[0]), uint64(m[1])
		high, low := bits.Mul64(a+k[0], b+k[1])
		var carry uint64
		low0, carry = bits.Add64(low0, low, 0)
		high0 += high + carry
		high, low = bits.Mul64(a+k[2], b+k[3])
		low1, carry = bits.Add64(low1, low, 0)
		high1 += high + carry
		m, k = m[2:], k[2:]
	}
	for i, v := range []uint64{low0, high0, low1, high1} {
		binary.LittleEndian.PutUint64(out[8*i:], v)
	}
	return out
}
