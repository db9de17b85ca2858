package dpsgd

import "github.com/pate-go/pate/rng"

// cyclic draws Poisson batches from one part of the records at a time. Every record has a
// turn, drawn for it alone and once for all steps, and joins the batches of its turn by a coin
// each time. The turn is a function of the key and the record's place in the data, so a run
// that goes on meets the same turns.
type cyclic struct {
	include rng.Bernoulli
	bands   int
	blocks  int
	parts   []turns
}

// turns are those of the records that one goroutine looks after.
type turns struct {
	key     rng.Key // they were drawn from; zero before
	records [][]int // of every turn, ascending
}

// draw implements sampler.
func (c *cyclic) draw(dst []pick, part, low, high int, key rng.Key, step int) []pick {
	own := &c.parts[part]
	if own.key != key {
		own.key, own.records = key, make([][]int, c.bands)
		w := newWords(key.Derive("turns").Derive("part", uint64(part)))
		for record := low; record < high; record++ {
			turn := w.below(uint64(c.bands))
			own.records[turn] = append(own.records[turn], record)
		}
	}
	records := own.records[step%c.bands]
	s := key.Derive("sample", uint64(step)).Derive("part", uint64(part)).Stream()
	c.include.Among(len(records), s, func(i int) {
		dst = append(dst, pick{records[i], int(s.Uint64N(uint64(c.blocks)))})
	})
	return dst
}
