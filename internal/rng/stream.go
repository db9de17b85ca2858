package rng

import (
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
)

// Stream is the sequence of uniform 64-bit words of one key: ChaCha8. It
// implements [rand.Source], so rand.New(stream) gives a *rand.Rand for
// training and shuffling; noise that protects data uses the samplers of this
// package instead. A Stream is not safe for concurrent use: derive one key for
// each goroutine.
type Stream struct {
	src *rand.ChaCha8
}

var _ rand.Source = (*Stream)(nil)

// Stream returns the key's stream, from its start. Two calls return two
// streams with the same words: derive a key for each purpose, and read its
// stream once.
func (k Key) Stream() *Stream {
	if k.secret == nil {
		panic("rng: zero Key: make one with NewKey or SeedKey")
	}
	return &Stream{src: rand.NewChaCha8(*k.secret.bytes)}
}

// Uint64 returns 64 uniform bits.
func (s *Stream) Uint64() uint64 { return s.src.Uint64() }

// Uint64N returns a uniform integer in [0, n), without bias; n = 0 stands for
// 2^64. It is Lemire's multiply-and-reject (2019): hi(x n) is uniform once the
// 2^64 mod n smallest values of lo(x n) are rejected, because then every hi has
// exactly floor(2^64/n) preimages.
func (s *Stream) Uint64N(n uint64) uint64 {
	x := s.src.Uint64()
	if n&(n-1) == 0 { // power of two, or 0
		return x & (n - 1)
	}
	hi, lo := bits.Mul64(x, n)
	if lo < n {
		for reject := -n % n; lo < reject; {
			hi, lo = bits.Mul64(s.src.Uint64(), n)
		}
	}
	return hi
}

// Format writes a redacted word, whatever the verb: the state tells all noise.
func (s *Stream) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "rng.Stream(redacted)") }
