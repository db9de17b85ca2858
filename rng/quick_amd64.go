//go:build !noasm

package rng

// tell256 sets toldWords values to what words tell by themselves. Bit i of odd is set if
// quick refuses word i, or if it is zero or minus zero.
//
//go:noescape
func tell256(values *int64, words *[toldWords]uint64, guide *uint16, fine, reach uint64) (odd uint64)

// copy32 is for avx2 and above.
//
//go:noescape
func copy32(dst, src *[copied]int64)
