package poll

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/pate-go/pate/teachers/votes"
)

// tally accumulates the votes on one block of queries. Tallies may be merged in any order.
type tally struct{ s *state }

type state struct {
	poll      Poll
	rows      int      // queries per block
	first     int64    // first query of the block, if there are counts
	counts    []uint32 // rows x Classes; nil before the first vote, and in reports
	voted     []uint64 // rows x words, one bit per teacher; nil if counts is nil
	voters    []voter  // one per teacher; nil before the first vote
	problems  [problems]problem
	logChance float64
}

type voter struct {
	hash      uint64 // sum of the hashes of all votes, modulo 2^64
	votes     int64
	low, high int32 // lowest and highest class, or 0 without votes
}

func newTally(p Poll) tally { return tally{&state{poll: p, rows: int(p.blockQueries())}} }

func merged(a, b tally) tally {
	a.s.merge(b.s)
	return a
}

func (s *state) hold(query int64) {
	if s.counts == nil {
		s.first = query - query%int64(s.rows)
		s.counts = make([]uint32, s.rows*s.poll.Classes)
		s.voted = make([]uint64, s.rows*s.poll.words())
	}
	if s.voters == nil {
		s.voters = make([]voter, s.poll.Teachers)
	}
}

func (s *state) add(v Vote) {
	p := &s.poll
	switch {
	case v.Query < 0 || v.Query >= p.Queries:
		s.problems[noQuery].add(v)
		return
	case v.Teacher < 0 || int(v.Teacher) >= p.Teachers:
		s.problems[noTeacher].add(v)
		return
	case v.Class != votes.Abstention && (v.Class < 0 || int(v.Class) >= p.Classes):
		s.problems[noClass].add(v)
		return
	}
	s.hold(v.Query)
	row := int(v.Query - s.first)
	word, bit := &s.voted[row*p.words()+int(v.Teacher)/64], uint64(1)<<(v.Teacher%64)
	if *word&bit != 0 {
		s.problems[twice].add(v)
		return
	}
	*word |= bit
	if v.Class == votes.Abstention {
		return
	}
	s.counts[row*p.Classes+int(v.Class)]++
	s.voters[v.Teacher].merge(voter{hash: hashVote(v.Query, v.Class), votes: 1, low: v.Class, high: v.Class})
}

// merge adds a copy of `from` to s. Two states with counts must have the same block of queries.
func (s *state) merge(from *state) {
	for k := range s.problems {
		s.problems[k].merge(from.problems[k])
	}
	s.logChance += from.logChance
	if s.voters == nil {
		s.voters = slices.Clone(from.voters)
	} else {
		for t, v := range from.voters {
			s.voters[t].merge(v)
		}
	}
	if s.counts == nil {
		s.first, s.counts, s.voted = from.first, slices.Clone(from.counts), slices.Clone(from.voted)
		return
	}
	words := s.poll.words()
	for i, w := range from.voted {
		if both := s.voted[i] & w; both != 0 {
			s.problems[twice].merge(problem{n: int64(bits.OnesCount64(both)), query: s.first + int64(i/words),
				teacher: int32(i%words*64 + bits.TrailingZeros64(both))})
		}
		s.voted[i] |= w
	}
	for i, n := range from.counts {
		s.counts[i] += n
	}
}

func (v *voter) merge(from voter) {
	switch {
	case from.votes == 0:
	case v.votes == 0:
		*v = from
	default:
		v.hash += from.hash
		v.votes += from.votes
		v.low, v.high = min(v.low, from.low), max(v.high, from.high)
	}
}

func hashVote(query int64, class int32) uint64 {
	h := uint64(query)*0x9e3779b97f4a7c15 + uint64(class)*0xd1b54a32d192ed03 + 1
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

const (
	twice = iota
	noTeacher
	noClass
	noQuery
	problems // number of kinds
)

type problem struct {
	n, query int64
	teacher  int32
}

func (p *problem) add(v Vote) { p.merge(problem{1, v.Query, v.Teacher}) }

func (p *problem) merge(from problem) {
	if from.n > 0 && (p.n == 0 || from.query < p.query || from.query == p.query && from.teacher < p.teacher) {
		p.query, p.teacher = from.query, from.teacher
	}
	p.n += from.n
}

// check returns an error without the class of any vote.
func (s *state) check() error {
	var found []string
	for k, p := range s.problems {
		if p.n == 0 {
			continue
		}
		what := [problems]string{
			twice:     "votes beyond the first of a teacher on a query",
			noTeacher: fmt.Sprintf("votes of none of the %d teachers", s.poll.Teachers),
			noClass:   fmt.Sprintf("votes for none of the %d classes", s.poll.Classes),
			noQuery:   fmt.Sprintf("votes on none of the %d queries", s.poll.Queries),
		}[k]
		found = append(found, fmt.Sprintf("%d %s: teacher %d on query %d", p.n, what, p.teacher, p.query))
	}
	if a, b, equal := s.equalTeachers(); equal {
		found = append(found, fmt.Sprintf("teachers %d and %d vote alike everywhere: one model voting twice moves two votes", a, b))
	}
	if found == nil {
		return nil
	}
	return errors.New("poll: the votes fail a check, and no counts are written: " + strings.Join(found, "; "))
}

// equalTeachers ignores constant votes, and equal votes that are likely a coincidence.
func (s *state) equalTeachers() (a, b int, equal bool) {
	n := float64(s.poll.Teachers)
	if n*(n-1)/2*math.Exp(s.logChance) > votes.MaxChance {
		return 0, 0, false
	}
	seen := make(map[voter]int, len(s.voters))
	for t, v := range s.voters {
		if v.votes == 0 || v.votes > 1 && v.low == v.high {
			continue
		}
		if first, there := seen[v]; there {
			return first, t, true
		}
		seen[v] = t
	}
	return 0, 0, false
}

func logAgree(counts []uint32, teachers int) float64 {
	missing := float64(teachers)
	var alike float64
	for _, k := range counts {
		missing -= float64(k)
		alike += float64(k) * float64(int64(k)-1)
	}
	n := float64(teachers)
	if n < 2 {
		return 0
	}
	return math.Log((alike + missing*(missing-1)) / (n * (n - 1)))
}

type Counts struct {
	poll   Poll
	blocks beam.PCollection // KV<int64, tally>, one for each block with votes
	report beam.PCollection // a single tally
}

// CountVotes counts a collection of [Vote]. Each worker first combines the votes that it reads. Workers
// exchange the counts of each block of queries, and one bit (voted or not) per teacher and query. CountVotes
// panics if p is invalid.
func CountVotes(s beam.Scope, p Poll, votes beam.PCollection) Counts {
	if err := p.Validate(); err != nil {
		panic(err)
	}
	s = s.Scope("CountVotes")
	keyed := beam.ParDo(s, &keyFn{Poll: p, Block: p.blockQueries()}, votes)
	counted := beam.CombinePerKey(s, &countFn{Poll: p}, keyed)
	reports := beam.Flatten(s, beam.ParDo(s, reportFn, counted), beam.ParDo(s, &emptyFn{Poll: p}, beam.Impulse(s)))
	return Counts{poll: p, blocks: counted, report: beam.Combine(s, &mergeFn{Poll: p}, reports)}
}

// CheckVotes makes the pipeline fail if votes are invalid or if two teachers have equal votes on all queries.
// Equal votes are accepted if constant or explained by chance. A vote is invalid if its query, teacher or
// class is outside the poll. A second vote of a teacher on a query is also invalid. The error contains
// teachers, a query and the number of invalid votes. The error is as secret as the votes. [WriteCounts] calls
// CheckVotes.
func CheckVotes(s beam.Scope, c Counts) {
	beam.ParDo0(s.Scope("CheckVotes"), checkFn, c.report)
}

type keyFn struct {
	Poll  Poll
	Block int64
}

func (f *keyFn) ProcessElement(v Vote) (int64, Vote) {
	return f.Poll.block(v.Query, f.Block), v
}

type countFn struct{ Poll Poll }

func (f *countFn) CreateAccumulator() tally { return newTally(f.Poll) }

func (f *countFn) AddInput(t tally, v Vote) tally {
	t.s.add(v)
	return t
}

func (f *countFn) MergeAccumulators(a, b tally) tally { return merged(a, b) }

type mergeFn struct{ Poll Poll }

func (f *mergeFn) CreateAccumulator() tally { return newTally(f.Poll) }

func (f *mergeFn) MergeAccumulators(a, b tally) tally { return merged(a, b) }

func reportFn(_ int64, t tally) tally {
	s := *t.s
	for row := range len(s.voted) / s.poll.words() {
		s.logChance += logAgree(s.counts[row*s.poll.Classes:(row+1)*s.poll.Classes], s.poll.Teachers)
	}
	s.counts, s.voted = nil, nil
	return tally{&s}
}

type emptyFn struct{ Poll Poll }

func (f *emptyFn) ProcessElement([]byte) tally { return newTally(f.Poll) }

func checkFn(t tally) error { return t.s.check() }
