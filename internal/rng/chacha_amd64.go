//go:build !noasm

package rng

import "golang.org/x/sys/cpu"

// hasAVX2 reports whether chacha8 and quickFours may be called.
var hasAVX2 = cpu.X86.HasAVX2

// chacha8 sets words to the eight blocks from number counter on.
//
//go:noescape
func chacha8(words *[chunkWords]uint64, key *[4]uint64, counter uint32)
