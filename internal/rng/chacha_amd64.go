//go:build !noasm

package rng

import "golang.org/x/sys/cpu"

// machine is the fastest path that the machine and the operating system support.
var machine = func() path {
	x := &cpu.X86
	switch {
	case !x.HasAVX2:
		return portable
	case !x.HasAVX512F || !x.HasAVX512VL || !x.HasAVX512DQ:
		return avx2
	}
	return avx512
}()

// chacha8 sets the first half of words to the eight blocks from number counter on.
//
//go:noescape
func chacha8(words *[chunkWords]uint64, key *[4]uint64, counter uint32)

// chacha16 sets words to the blocks of a key, all sixteen.
//
//go:noescape
func chacha16(words *[chunkWords]uint64, key *[4]uint64)
