//go:build !noasm

package rng

import "golang.org/x/sys/cpu"

var machine = func() path {
	switch x := &cpu.X86; {
	case !x.HasAVX2:
		return portable
	case !x.HasAVX512F:
		return avx2
	}
	return avx512
}()

//go:noescape
func chacha8(words *[chunkWords]uint64, key *[4]uint64)

//go:noescape
func chacha16(words *[chunkWords]uint64, key *[4]uint64)

// quick256 applies DiscreteGaussian.quick and the function signed to words[i], and stores the result in
// values[i]. Bit i of odd is set if values[i] is 0, or if DiscreteGaussian.quick returns false.
//
//go:noescape
func quick256(values *int64, words *[quickWords]uint64, guide *uint16, fine, reach uint64) (odd uint64)

// copy32 needs AVX2.
//
//go:noescape
func copy32(dst, src *[copied]int64)
