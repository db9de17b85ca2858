package poll

import (
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Counts are the counts of a poll in a pipeline, and the findings of its checks.
type Counts struct {
	poll   Poll
	blocks beam.PCollection // KV<int64, tally>, one for each block with votes
	report beam.PCollection // tally, one
}

// CountVotes counts a collection of [Vote]. Votes are put together where they are read; from worker to
// worker go counts of blocks of queries, with a bit for each teacher who has voted. It panics if the poll
// is not valid: a pipeline is built before it runs.
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

// CheckVotes makes the pipeline fail if a teacher voted twice on a query, if a vote is of no teacher, for
// no class or on no query of the poll, and if two teachers vote alike everywhere. The message counts such
// votes and names a teacher and a query: read it where the votes may be read. [WriteCounts] checks too.
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

// reportFn reduces the tally of a block to the part for the checks.
func reportFn(_ int64, t tally) tally {
	s := *t.s
	for row := range len(s.voted) / s.poll.words() {
		s.logChance += logAgree(s.counts[row*s.poll.Classes:(row+1)*s.poll.Classes], s.poll.Teachers)
	}
	s.counts, s.voted = nil, nil
	return tally{&s}
}

// emptyFn makes a report of no votes, so that there is one.
type emptyFn struct{ Poll Poll }

func (f *emptyFn) ProcessElement([]byte) tally { return newTally(f.Poll) }

func checkFn(t tally) error { return t.s.check() }
