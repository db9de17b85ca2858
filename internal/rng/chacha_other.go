//go:build !amd64 || noasm

package rng

const hasAVX2 = false

func chacha8(*[chunkWords]uint64, *[4]uint64, uint32) { panic("rng: no assembly") }

func quickFours(*int64, *uint64, int, *uint16, uint64, uint64) int { panic("rng: no assembly") }
