//go:build !noasm

package rng

import "golang.org/x/sys/cpu"

// machine is the fastest path that the machine and the operating system support.
var machine = func() path {
	if cpu.X86.HasAVX2 {
		return avx2
	}
	return portable
}()

// chacha8 sets the first half of words to the eight blocks from number counter on.
//
//go:noescape
func chacha8(words *[chunkWords]uint64, key *[4]uint64, counter uint32)
