package dpsgd

import (
	"encoding/binary"
	"math/bits"

	"github.com/pate-go/pate/rng"
)

const hashSize = 32

// hasher distinguishes the integer sums of a step: sums that differ have different hashes, but for a chance
// of 2^-128 over the hasher's secret words.
//
// It is NH (Black, Halevi, Krawczyk, Krovetz, Rogaway 1999), twice:
//
//	sum over i of (m[2i] + k[2i]) (m[2i+1] + k[2i+1]) modulo 2^128
//
// where the inner additions are modulo 2^64. For uniform k and two sequences m of one length that differ, the
// values are equal with a chance of at most 2^-64. With k moved by two words they are so once more,
// independently. A hash function without a key would also distinguish sums that somebody chose so as to
// collide, at four times the price: but nobody who could choose a sum has seen the words, which no output
// depends on but through this comparison.
type hasher struct{ words [spanLength + 2]uint64 }

func newHasher(s *rng.Stream) *hasher {
	h := new(hasher)
	for i := range h.words {
		h.words[i] = s.Uint64()
	}
	return h
}

// sum returns the hash of at most spanLength integers, to be compared among sequences of one length.
func (h *hasher) sum(m []int64) (out [hashSize]byte) {
	even := len(m) &^ 1
	var sums [2]uint128
	addPairs(&sums, m[:even], h.words[:even+2])
	if even < len(m) {
		addPairs(&sums, []int64{m[even], 0}, h.words[even:even+4])
	}
	for i, v := range []uint64{sums[0].low, sums[0].high, sums[1].low, sums[1].high} {
		binary.LittleEndian.PutUint64(out[8*i:], v)
	}
	return out
}

type uint128 struct{ low, high uint64 }

// addPairs adds the products of pairs of m to both sums, with the words k and with k moved by two.
func addPairs(sums *[2]uint128, m []int64, k []uint64) {
	a, b := sums[0], sums[1]
	for i := 0; i+1 < len(m) && i+3 < len(k); i += 2 {
		x, y := uint64(m[i]), uint64(m[i+1])
		var carry uint64
		high, low := bits.Mul64(x+k[i], y+k[i+1])
		a.low, carry = bits.Add64(a.low, low, 0)
		a.high, _ = bits.Add64(a.high, high, carry)
		high, low = bits.Mul64(x+k[i+2], y+k[i+3])
		b.low, carry = bits.Add64(b.low, low, 0)
		b.high, _ = bits.Add64(b.high, high, carry)
	}
	sums[0], sums[1] = a, b
}
