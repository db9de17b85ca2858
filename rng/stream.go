package rng

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math/bits"
	"math/rand/v2"
)

// Stream generates uniform 64-bit words from a key by ChaCha8. Stream implements [rand.Source], for training
// and shuffling. To draw noise that protects data, use the samplers of this package. Concurrent use is not
// safe: derive a key for each goroutine.
type Stream struct {
	src source
}

var _ rand.Source = (*Stream)(nil)

// Stream returns the stream of k, from its start. Derive a key for each purpose, and read its stream only
// once.
func (k Key) Stream() *Stream {
	if k.secret == nil {
		panic("rng: zero Key: make one with NewKey or SeedKey")
	}
	s := new(Stream)
	s.src.seed(*k.secret.bytes)
	return s
}

func (s *Stream) Uint64() uint64 { return s.src.Uint64() }

// Uint64N returns a uniform integer in [0, n), without bias. n = 0 means 2^64.
func (s *Stream) Uint64N(n uint64) uint64 {
	// Lemire (2019): the result is hi in x n = 2^64 hi + lo, for a random word x. The 2^64 mod n smallest
	// values of lo are rejected. Then every value of hi occurs for exactly floor(2^64/n) words x.
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

// Perm fills dst with a uniformly random permutation of 0, 1, ..., len(dst)-1 (Fisher, Yates).
//
//	for i = 0 .. n-1:  j uniform in {0..i};  dst[i] = dst[j];  dst[j] = i
func (s *Stream) Perm(dst []int) {
	for i := range dst {
		j := s.Uint64N(uint64(i) + 1)
		dst[i] = dst[j]
		dst[j] = i
	}
}

func (s *Stream) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "rng.Stream(redacted)") }

// Streams returns the streams of the keys Derive(label, ids...), one at a time. [Streams.Of] takes a third of
// the time of [Key.Derive] and [Key.Stream] together. Concurrent use is not safe.
type Streams struct {
	inner, outer []byte // states of SHA-256 after the first blocks
	hash         digest
	message      []byte // domain and label, then room for the ids
	named        int    // bytes of message before the ids
	sum          [sha256.Size]byte
	stream       Stream
}

type digest interface {
	hash.Hash
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// Streams returns the streams of the keys k.Derive(label, ids...) for any ids.
func (k Key) Streams(label string) *Streams {
	s := &Streams{hash: sha256.New().(digest), message: k.message(nil, domainIDs, label)}
	s.inner = s.after(s.message[:sha256.BlockSize])
	s.outer = s.after(k.appendPad(nil, 0x5c))
	s.message = s.message[sha256.BlockSize:]
	s.named = len(s.message)
	return s
}

func (s *Streams) after(block []byte) []byte {
	s.hash.Reset()
	s.hash.Write(block)
	state, err := s.hash.AppendBinary(nil)
	if err != nil {
		panic("rng: " + err.Error()) // crypto/sha256 returns no error
	}
	return state
}

// Of returns the stream for the given ids, from its start. The next call of Of overwrites this stream.
func (s *Streams) Of(ids ...uint64) *Stream {
	b := binary.BigEndian.AppendUint64(s.message[:s.named], uint64(len(ids)))
	for _, id := range ids {
		b = binary.BigEndian.AppendUint64(b, id)
	}
	s.message = b
	s.finish(s.inner, b)
	s.finish(s.outer, s.sum[:])
	s.stream.src.seed(s.sum)
	return &s.stream
}

func (s *Streams) finish(state, text []byte) {
	if err := s.hash.UnmarshalBinary(state); err != nil {
		panic("rng: " + err.Error()) // state comes from such a hash
	}
	s.hash.Write(text)
	s.hash.Sum(s.sum[:0])
}

func (s *Streams) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "rng.Streams(redacted)") }
