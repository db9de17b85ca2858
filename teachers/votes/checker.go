package votes

import (
	"encoding/binary"
	"hash"
	"math"
	"slices"
)

// checker gathers a report.
type checker struct {
	Report
	source    *Source
	voters    []teacherVotes
	counts    []int
	tally     tally
	logChance float64 // that two teachers agree on all queries
	sum       int64   // of all counts
}

// teacherVotes summarizes the votes of one teacher: a hash of them, the first, how many there were and
// whether they differ.
type teacherVotes struct {
	hash   uint64
	first  int16
	differ bool
	votes  int64
}

// mix takes one more vote into a hash of 64 bits, or the votes on a group of queries, a byte each.
func mix(hash, votes uint64) uint64 {
	hash = (hash ^ (votes + 8)) * 0x9e3779b97f4a7c15
	return hash ^ hash>>29
}

// take takes in a class that the teacher voted for.
func (v *teacherVotes) take(class int16) {
	if v.votes == 0 {
		v.first = class
	}
	v.differ = v.differ || v.first != class
	v.votes++
}

// labelBlock takes in votes, some of which may be none.
func labelBlock[C cell](c *checker, first int, cells []C) {
	for i := 0; i*c.Teachers < len(cells); i++ {
		row := cells[i*c.Teachers : (i+1)*c.Teachers]
		clear(c.counts)
		missing := 0
		for t, v := range row {
			vote := signed(v)
			seen := &c.voters[t]
			seen.hash = mix(seen.hash, uint64(vote))
			switch {
			case vote >= 0:
				seen.take(int16(vote))
				c.counts[vote]++
			case vote == Abstention:
				missing++
			default:
				c.invalid(first+i, t, vote)
			}
		}
		c.labels(missing)
	}
}

// groupRows is how many queries validBlock takes at a time: as many votes of a byte as a word has.
const groupRows = 8

// validBlock does what labelBlock does for votes of a byte that are all valid, but for how votes are
// hashed.
func (c *checker) validBlock(cells []byte) {
	n := c.Teachers
	for rows := cells; len(rows) > 0; rows = rows[n:] {
		c.tally.count(c.counts, rows[:n])
		votes := 0
		for _, k := range c.counts {
			votes += k
		}
		c.labels(n - votes)
	}
	for len(cells) > 0 {
		high := min(groupRows, len(cells)/n)
		group := cells[:high*n]
		cells = cells[high*n:]
		t := 0
		if high == groupRows {
			for ; t+8 <= n; t += 8 {
				var square [8]uint64
				for i := range square {
					square[i] = binary.LittleEndian.Uint64(group[i*n+t:])
				}
				transpose(&square)
				for j, votes := range square {
					c.voters[t+j].takeGroup(votes, groupRows)
				}
			}
		}
		for ; t < n; t++ {
			votes := uint64(0)
			for i := range high {
				votes |= uint64(group[i*n+t]) << (8 * i)
			}
			c.voters[t].takeGroup(votes, high)
		}
	}
}

// takeGroup takes in votes on some queries, the first in the lowest byte; missing ones have their top bit
// set.
func (v *teacherVotes) takeGroup(votes uint64, queries int) {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	v.hash = mix(v.hash, votes)
	if queries == groupRows && votes&tops == 0 {
		if v.votes == 0 {
			v.first = int16(byte(votes))
		}
		v.differ = v.differ || votes != uint64(v.first)*ones
		v.votes += groupRows
		return
	}
	for ; queries > 0; queries-- {
		if vote := byte(votes); vote < 0x80 {
			v.take(int16(vote))
		}
		votes >>= 8
	}
}

// transpose exchanges rows and columns of 8 by 8 bytes: byte j of word i with byte i of word j.
func transpose(x *[8]uint64) {
	const halves, pairs, bytes = 0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff
	// Each step exchanges the upper part of a word with the lower part of another.
	a, e := x[0]&halves|x[4]<<32, x[0]>>32|x[4]&^halves
	b, f := x[1]&halves|x[5]<<32, x[1]>>32|x[5]&^halves
	c, g := x[2]&halves|x[6]<<32, x[2]>>32|x[6]&^halves
	d, h := x[3]&halves|x[7]<<32, x[3]>>32|x[7]&^halves
	a, c = a&pairs|c&pairs<<16, a>>16&pairs|c&^pairs
	b, d = b&pairs|d&pairs<<16, b>>16&pairs|d&^pairs
	e, g = e&pairs|g&pairs<<16, e>>16&pairs|g&^pairs
	f, h = f&pairs|h&pairs<<16, f>>16&pairs|h&^pairs
	x[0], x[1] = a&bytes|b&bytes<<8, a>>8&bytes|b&^bytes
	x[2], x[3] = c&bytes|d&bytes<<8, c>>8&bytes|d&^bytes
	x[4], x[5] = e&bytes|f&bytes<<8, e>>8&bytes|f&^bytes
	x[6], x[7] = g&bytes|h&bytes<<8, g>>8&bytes|h&^bytes
}

// labels takes in c.counts, the votes on one query, and how many are missing.
func (c *checker) labels(missing int) {
	votes := 0
	for _, n := range c.counts {
		votes += n
	}
	c.Abstentions += int64(missing)
	c.row(votes)
	c.logChance += logAgree(c.counts, missing)
}

// logAgree returns the logarithm of the chance that two of the teachers of one query answered alike.
func logAgree(counts []int, missing int) float64 {
	n, alike := float64(missing), float64(missing)*float64(missing-1)
	for _, k := range counts {
		n += float64(k)
		alike += float64(k) * float64(k-1)
	}
	if n < 2 {
		return 0
	}
	return math.Log(alike / (n * (n - 1)))
}

// besideHash hashes a block in a goroutine of its own while the caller looks at it.
type besideHash struct {
	hash   hash.Hash
	blocks chan []byte
	done   chan struct{}
}

func hashBeside(h hash.Hash) *besideHash {
	b := &besideHash{h, make(chan []byte), make(chan struct{})}
	go func() {
		for block := range b.blocks {
			b.hash.Write(block)
			b.done <- struct{}{}
		}
	}()
	return b
}

// begin hashes a block, which must not change until finish returns.
func (b *besideHash) begin(block []byte) { b.blocks <- block }

// finish waits for the block.
func (b *besideHash) finish() { <-b.done }

func (b *besideHash) close() { close(b.blocks) }

// finish draws the conclusions about teachers.
func (c *checker) finish() {
	if c.Queries == 0 {
		c.LeastVotes = 0
	}
	if c.Counts {
		if c.Teachers == 0 {
			c.Abstentions = int64(c.Queries)*int64(c.MostVotes) - c.sum
		}
		return
	}
	equal := make(map[teacherVotes][]int)
	for t, seen := range c.voters {
		switch {
		case seen.votes == 0:
			c.Silent = append(c.Silent, t)
		case !seen.differ && seen.votes > 1:
			c.Constant = append(c.Constant, t)
		default:
			equal[seen] = append(equal[seen], t)
		}
	}
	for _, group := range equal {
		if len(group) > 1 {
			c.Duplicates = append(c.Duplicates, group)
		}
	}
	slices.SortFunc(c.Duplicates, func(a, b []int) int { return a[0] - b[0] })
	n := float64(c.Teachers)
	c.ChanceDuplicates = n * (n - 1) / 2 * math.Exp(c.logChance)
}
