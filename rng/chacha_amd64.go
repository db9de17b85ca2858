//go:build !noasm

package rng

import "golang.org/x/sys/cpu"

var machine = func() path {
	if cpu.X86.HasAVX2 {
		return avx2
	}
	return portable
}()

//go:noescape
func chacha8(words *[chunkWords]uint64, key *[4]uint64, counter uint32)

// quick256 applies quick and signed to words[i] and stores the result in values[i]. Bit i of odd is set if
// values[i] is 0, or if quick returns false for words[i].
//
//go:noescape
func quick256(values *int64, words *[quickWords]uint64, guide *uint16, fine, reach uint64) (odd uint64)

// copy32 needs AVX2.
//
//go:noescape
func copy32(dst, src *[copied]int64)
