//go:build !amd64 || noasm

package rng

const machine = portable

func chacha8(*[chunkWords]uint64, *[4]uint64)                              { panic("rng: no assembly") }
func chacha16(*[chunkWords]uint64, *[4]uint64)                             { panic("rng: no assembly") }
func quick256(*int64, *[quickWords]uint64, *uint16, uint64, uint64) uint64 { panic("rng: no assembly") }
func copy32(_, _ *[copied]int64)                                           { panic("rng: no assembly") }
