package rng

import (
	"encoding/binary"
	"math/rand/v2"
)

// The buffer of a source can be read in place.
//
//	loop:  B = blocks 0..15 of ChaCha with 8 rounds, keyed by K. K is added at the end,
//	           constants and counter are not. Of four consecutive blocks
//	           word 0 of all four comes first, then word 1 of all four, and so on
//	       output all of B but its last 32 bytes
//	       K = the last 32 bytes of B
//
// With AVX2 or AVX-512, assembly computes eight or sixteen blocks at a time. Otherwise the standard library
// computes the words.

// source implements ChaCha8Rand (C2SP) and gives the same words as [rand.ChaCha8].
type source struct {
	words   [chunkWords]uint64
	at, end uint // words[at:end] are unread
	key     [4]uint64
	refills uint32 // modulo 2^32
	on      path
	std     *rand.ChaCha8 // without assembly
}

type path uint8

const (
	portable path = iota
	avx2
	avx512
)

const (
	chunkWords = 128 // in the blocks of one key
	keyWords   = 4   // in the next key: the last words of these blocks
)

func (s *source) seed(secret [32]byte) { s.seedBy(machine, secret) }

func (s *source) seedBy(on path, secret [32]byte) {
	s.at, s.end, s.on, s.std = 0, 0, on, nil
	if on == portable {
		s.std = rand.NewChaCha8(secret)
		return
	}
	for i := range s.key {
		s.key[i] = binary.LittleEndian.Uint64(secret[8*i:])
	}
}

func (s *source) Uint64() uint64 {
	if s.at == s.end {
		s.refill()
	}
	s.at++
	return s.words[(s.at-1)%chunkWords]
}

func (s *source) ahead() {
	if s.at == s.end {
		s.refill()
	}
}

func (s *source) refill() {
	if s.end > 0 && s.on > portable {
		copy(s.key[:], s.words[s.end:])
	}
	s.refills++
	s.at, s.end = 0, chunkWords-keyWords
	switch s.on {
	case portable:
		s.end = chunkWords
		for i := range s.words {
			s.words[i] = s.std.Uint64()
		}
	case avx2:
		chacha8(&s.words, &s.key)
	default:
		chacha16(&s.words, &s.key)
	}
}
