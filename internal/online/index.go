package online

import "hash/maphash"

// index finds the records of a journal by query. A slot holds 32 bits of the query's hash, and the record's
// place plus 1. An empty slot is 0. At most three quarters of the slots are used, so a large index has 11 to
// 21 bytes per query.
type index struct {
	seed  maphash.Seed
	slots []uint64
	n     int
}

func newIndex() *index { return &index{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<10)} }

func (x *index) hash(query string) uint32 { return uint32(maphash.String(x.seed, query) >> 32) }

func (x *index) find(query string, is func(place uint32) bool) {
	hash := x.hash(query)
	for at := x.slot(hash); x.slots[at] != 0; at = (at + 1) % len(x.slots) {
		if uint32(x.slots[at]>>32) == hash && is(uint32(x.slots[at])-1) {
			return
		}
	}
}

func (x *index) slot(hash uint32) int { return int(uint64(hash) * uint64(len(x.slots)) >> 32) }

func (x *index) add(query string, place uint32) {
	if x.n++; 4*x.n > 3*len(x.slots) {
		old := x.slots
		x.slots = make([]uint64, 2*len(old))
		for _, s := range old {
			if s != 0 {
				x.put(s)
			}
		}
	}
	x.put(uint64(x.hash(query))<<32 | uint64(place+1))
}

func (x *index) put(s uint64) {
	at := x.slot(uint32(s >> 32))
	for x.slots[at] != 0 {
		at = (at + 1) % len(x.slots)
	}
	x.slots[at] = s
}
