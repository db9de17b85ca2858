package rng

import (
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
)

// Stream is the sequence of uniform 64-bit words of one key, by ChaCha8. It implements [rand.Source], for
// training and shuffling; noise that protects data uses the samplers of this package. A Stream is not safe
// for concurrent use: derive one key for each goroutine.
type Stream struct {
	src source
}

var _ rand.Source = (*Stream)(nil)

// Stream returns the key's stream, from its start. Derive a key for each purpose, and read its stream once.
func (k Key) Stream() *Stream {
	if k.secret == nil {
		panic("rng: zero Key: make one with NewKey or SeedKey")
	}
	s := new(Stream)
	s.src.seed(*k.secret.bytes)
	return s
}

// Uint64 returns 64 uniform bits.
func (s *Stream) Uint64() uint64 { return s.src.Uint64() }

// Uint64N returns a uniform integer in [0, n), without bias; n = 0 stands for 2^64. It uses Lemire's
// multiply-and-reject (2019): once the 2^64 mod n smallest values of lo(x n) are rejected, every hi(x n) has
// exactly floor(2^64/n) preimages.
func (s *Stream) Uint64N(n uint64) uint64 {
	x := s.Uint64()
	if n&(n-1) == 0 { // power of two, or 0
		return x & (n - 1)
	}
	hi, lo := bits.Mul64(x, n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(s.Uint64(), n)
		}
	}
	return hi
}

// Perm fills dst with a permutation of 0, 1, ..., len(dst)-1, all equally probable (Fisher, Yates).
//
//	for i = 0 .. n-1:  j uniform in {0..i};  dst[i] = dst[j];  dst[j] = i
func (s *Stream) Perm(dst []int) {
	for i := range dst {
		j := s.Uint64N(uint64(i) + 1)
		dst[i] = dst[j]
		dst[j] = i
	}
}

// Format writes a redacted word, whatever the verb: the state of a stream gives away all its noise.
func (s *Stream) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "rng.Stream(redacted)") }
