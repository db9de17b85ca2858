package poll

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

func encodeTally(t tally) []byte {
	// The encoding is short if few teachers voted on a query.
	//
	//	shape, problems, first query           varints
	//	chance                                 8 bytes
	//	voters: number; for each the step from the previous one, hash, number of votes, first and last query
	//	queries: number; for each the distance to the previous one, then
	//	    number of teachers, then distances or one bit per teacher, whichever is shorter
	//	    number of classes with votes, and for each the distance and the count
	s := t.s
	uv := binary.AppendUvarint
	b := uv(uv(uv(nil, uint64(s.poll.Queries)), uint64(s.poll.Teachers)), uint64(s.poll.Classes))
	for _, p := range s.problems {
		b = binary.AppendVarint(binary.AppendVarint(uv(b, uint64(p.n)), p.query), int64(p.teacher))
	}
	b = uv(b, uint64(s.first))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(s.logChance))

	b = uv(b, uint64(countIf(s.voters, func(v voter) bool { return v.votes > 0 })))
	before := 0
	for t, v := range s.voters {
		if v.votes > 0 {
			b = binary.LittleEndian.AppendUint64(uv(b, uint64(t-before)), v.hash)
			b = uv(uv(uv(b, uint64(v.votes)), uint64(v.low)), uint64(v.high))
			before = t
		}
	}

	rows, before := 0, 0
	at := len(b)
	var queries []byte
	words, classes := s.poll.words(), s.poll.Classes
	for row := range len(s.voted) / words {
		voted := s.voted[row*words : (row+1)*words]
		n := 0
		for _, w := range voted {
			n += bits.OnesCount64(w)
		}
		if n == 0 {
			continue
		}
		rows++
		queries = uv(uv(queries, uint64(row-before)), uint64(n))
		before = row
		queries = appendVoted(queries, voted, n)
		counts := s.counts[row*classes : (row+1)*classes]
		queries = uv(queries, uint64(countIf(counts, func(n uint32) bool { return n > 0 })))
		last := 0
		for class, n := range counts {
			if n > 0 {
				queries = uv(uv(queries, uint64(class-last)), uint64(n))
				last = class
			}
		}
	}
	b = uv(b[:at], uint64(rows))
	return append(b, queries...)
}

func countIf[T any](all []T, is func(T) bool) (n int) {
	for _, v := range all {
		if is(v) {
			n++
		}
	}
	return n
}

func listed(n, words int) bool { return n < 4*words }

func appendVoted(b []byte, voted []uint64, n int) []byte {
	if !listed(n, len(voted)) {
		for _, w := range voted {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	before := 0
	for i, w := range voted {
		for ; w != 0; w &= w - 1 {
			t := i*64 + bits.TrailingZeros64(w)
			b = binary.AppendUvarint(b, uint64(t-before))
			before = t
		}
	}
	return b
}

var errTally = errors.New("poll: this is no tally of votes")

func decodeTally(b []byte) (tally, error) {
	r := reader{b: b}
	p := Poll{Queries: int64(r.uvarint(math.MaxInt64)), Teachers: int(r.uvarint(math.MaxInt32)), Classes: int(r.uvarint(math.MaxInt32))}
	if r.bad || p.Validate() != nil {
		return tally{}, errTally
	}
	t := newTally(p)
	s := t.s
	for k := range s.problems {
		s.problems[k] = problem{int64(r.uvarint(math.MaxInt64)), r.varint(), int32(r.varint())}
	}
	first := int64(r.uvarint(uint64(p.Queries - 1)))
	s.logChance = math.Float64frombits(r.word())

	at := 0
	for range r.uvarint(uint64(p.Teachers)) {
		if s.voters == nil {
			s.voters = make([]voter, p.Teachers)
		}
		at += int(r.uvarint(uint64(p.Teachers - 1 - at)))
		v := voter{hash: r.word(), votes: int64(r.uvarint(math.MaxInt64))}
		v.low, v.high = int32(r.uvarint(uint64(p.Classes-1))), int32(r.uvarint(uint64(p.Classes-1)))
		s.voters[at] = v
		if r.bad {
			return tally{}, errTally
		}
	}

	row := 0
	for range r.uvarint(uint64(s.rows)) {
		s.hold(first)
		row += int(r.uvarint(uint64(s.rows - 1 - row)))
		r.voted(s.voted[row*p.words():(row+1)*p.words()], p.Teachers)
		counts, class := s.counts[row*p.Classes:(row+1)*p.Classes], 0
		for range r.uvarint(uint64(p.Classes)) {
			class += int(r.uvarint(uint64(p.Classes - 1 - class)))
			counts[class] = uint32(r.uvarint(uint64(p.Teachers)))
		}
		if r.bad {
			return tally{}, errTally
		}
	}
	if r.bad || len(r.b) != 0 {
		return tally{}, errTally
	}
	return t, nil
}

type reader struct {
	b   []byte
	bad bool
}

func (r *reader) skip(n int, good bool) bool {
	if good = good && n > 0; good {
		r.b = r.b[n:]
	} else {
		r.b, r.bad = nil, true
	}
	return good
}

func (r *reader) uvarint(limit uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if !r.skip(n, v <= limit) {
		return 0
	}
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.skip(n, true)
	return v
}

func (r *reader) word() uint64 {
	b := r.b
	if !r.skip(8, len(b) >= 8) {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

func (r *reader) voted(to []uint64, teachers int) {
	n := int(r.uvarint(uint64(teachers)))
	if !listed(n, len(to)) {
		for i := range to {
			to[i] = r.word()
		}
		return
	}
	t := 0
	for range n {
		t += int(r.uvarint(uint64(teachers - 1 - t)))
		to[t/64] |= 1 << (t % 64)
	}
}
