//go:build !noasm

package rng

// quickFours does for n words, a positive multiple of four, what quicks does. It may write all n
// values, whether they are told or not. It reads eight bytes from the slots of the guide.
//
//go:noescape
func quickFours(dst *int64, words *uint64, n int, guide *uint16, fine, reach uint64) (done int)
