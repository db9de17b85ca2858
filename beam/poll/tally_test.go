package poll

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func allVotes(p Poll) (all []Vote) {
	for q := range p.Queries {
		for t := range p.Teachers {
			all = append(all, Vote{q, int32(t), p.synthetic(q, t)})
		}
	}
	return all
}

func tallied(p Poll, all ...Vote) tally {
	t := newTally(p)
	for _, v := range all {
		t.s.add(v)
	}
	return t
}

// inParts divides votes at random among tallies, and puts them together encoded.
func inParts(t *testing.T, p Poll, all []Vote, rnd *rand.Rand) tally {
	t.Helper()
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	got := newTally(p)
	for rest := all; len(rest) > 0; {
		n := 1 + rnd.IntN(min(len(rest), 1+rnd.IntN(len(all)/2)))
		b := encodeTally(tallied(p, rest[:n]...))
		part := testkit.Must(decodeTally(b))
		require.Equal(t, b, encodeTally(part))
		got.s.merge(part.s)
		rest = rest[n:]
	}
	return got
}

var shapes = []Poll{{Queries: 50, Teachers: 7, Classes: 3}, {Queries: 16, Teachers: 300, Classes: 40}, {Queries: 20, Teachers: 64, Classes: 200}}

// However votes are divided among tallies, and in whatever order these come together, the tally is the
// same.
func TestTalliesOfPartsAreTheTallyOfAll(t *testing.T) {
	for _, p := range shapes {
		rnd := rand.New(rand.NewPCG(1, uint64(p.Teachers)))
		all := allVotes(p)
		want := tallied(p, all...)
		require.NoError(t, want.s.check())
		for range 20 {
			require.Equal(t, want, inParts(t, p, all, rnd))
		}
	}
}

// So are the problems: how many votes must not be, and which is named.
func TestProblemsDoNotDependOnTheOrder(t *testing.T) {
	for _, p := range shapes {
		rnd := rand.New(rand.NewPCG(2, uint64(p.Teachers)))
		all := allVotes(p)
		last := all[len(all)-1]
		all = append(all, all[3], all[3], last, Vote{2, int32(p.Teachers), 0}, Vote{1, -1, 0}, Vote{Query: p.Queries}, Vote{Query: -1}, Vote{5, 2, -2}, Vote{5, 1, int32(p.Classes)})
		want := [problems]problem{twice: {3, all[3].Query, all[3].Teacher}, noTeacher: {2, 1, -1}, noClass: {2, 5, 1}, noQuery: {2, -1, 0}}
		for range 20 {
			got := inParts(t, p, all, rnd)
			require.Equal(t, want, got.s.problems)
			require.ErrorContains(t, got.s.check(), "3 votes beyond the first of a teacher on a query: teacher 3 on query 0; 2 votes of none of the")
		}
	}
}

// A tally that was cut off or changed is refused or another tally, and never a panic.
func TestDamagedTallies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	b := encodeTally(tallied(shapes[0], allVotes(shapes[0])...))
	for n := range b {
		_, err := decodeTally(b[:n])
		require.Error(t, err, n)
	}
	refused := 0
	for range 5000 {
		c := append([]byte(nil), b...)
		c[rnd.IntN(len(c))] ^= byte(1 << rnd.IntN(8))
		if _, err := decodeTally(c); err != nil {
			refused++
		}
	}
	require.Positive(t, refused)
}

// Every query is in one block, and every block in one shard, in order. There are as many shards as were
// asked for, of which those without a block are empty: who puts them together names their number.
func TestBlocksAndShards(t *testing.T) {
	for _, p := range []Poll{{1, 1, 2}, {100, 7, 3}, {100_000, 100, 10}, {4097, 3, 2}, {999, 1 << 20, 1000}} {
		var rows, want int64
		for b := range p.blocks() {
			require.Positive(t, p.rows(b))
			require.Equal(t, b, p.block(rows, p.blockQueries()))
			rows += int64(p.rows(b))
			require.Equal(t, b, p.block(rows-1, p.blockQueries()))
		}
		require.Equal(t, p.Queries, rows)
		require.EqualValues(t, outsideBlocks, p.block(p.Queries, p.blockQueries()))
		require.EqualValues(t, outsideBlocks, p.block(-1, p.blockQueries()))
		for shards := int64(1); shards <= min(p.blocks()+3, 12); shards++ {
			require.Len(t, Sharded{"counts", int(shards)}.Files(), int(shards))
			want = 0
			for shard := range shards {
				from, to := p.shardBlocks(shard, shards)
				require.Equal(t, want, from)
				require.True(t, from < to || shards > p.blocks() && from == to)
				for b := from; b < to; b++ {
					require.Equal(t, shard, p.shardOf(b, shards))
				}
				want = to
			}
			require.Equal(t, p.blocks(), want)
		}
	}
}
