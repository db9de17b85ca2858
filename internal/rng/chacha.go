package rng

import (
	"encoding/binary"
	"math/rand/v2"
)

// source is the generator ChaCha8Rand (C2SP), word for word that of [rand.ChaCha8]. It keeps
// many words at hand, so that loops read them where they lie.
//
//	loop:  B = blocks 0..15 of ChaCha with 8 rounds, keyed by K. Constants and counter
//	           are not added at the end, the key is. Of four blocks that follow each
//	           other, word 0 of all four comes first, then word 1 of all four, and so on
//	       output all of B but its last 32 bytes
//	       K = the last 32 bytes of B
//
// With AVX2, assembly makes eight blocks at a time. Elsewhere the words are the standard
// library's.
type source struct {
	words   [chunkWords]uint64
	at, end uint // words[at:end] are unread
	key     [4]uint64
	counter uint32        // of the next block
	std     *rand.ChaCha8 // without AVX2
}

const (
	chunkWords = 64 // of eight blocks
	keyWords   = 4  // of them that are the next key, where they are the last eight
	keyBlocks  = 16 // of one key
)

// seed starts the generator.
func (s *source) seed(secret [32]byte) { s.seedBy(hasAVX2, secret) }

func (s *source) seedBy(avx2 bool, secret [32]byte) {
	s.at, s.end, s.counter, s.std = 0, 0, 0, nil
	if !avx2 {
		s.std = rand.NewChaCha8(secret)
		return
	}
	for i := range s.key {
		s.key[i] = binary.LittleEndian.Uint64(secret[8*i:])
	}
}

// Uint64 returns the next word.
func (s *source) Uint64() uint64 {
	if s.at == s.end {
		s.refill()
	}
	s.at++
	return s.words[(s.at-1)%chunkWords]
}

// unread returns the words at hand, at least one.
func (s *source) unread() []uint64 {
	if s.at == s.end {
		s.refill()
	}
	return s.words[s.at:s.end]
}

// skip passes over n words at hand.
func (s *source) skip(n int) { s.at += uint(n) }

// refill makes the next words where all are read.
func (s *source) refill() {
	s.at, s.end = 0, chunkWords
	if s.std != nil {
		for i := range s.words {
			s.words[i] = s.std.Uint64()
		}
		return
	}
	if s.counter == keyBlocks {
		copy(s.key[:], s.words[chunkWords-keyWords:])
		s.counter = 0
	}
	chacha8(&s.words, &s.key, s.counter)
	if s.counter += 8; s.counter == keyBlocks {
		s.end -= keyWords
	}
}
