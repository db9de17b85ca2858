package poll

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/teachers/votes"
)

// Poll holds the numbers of queries, teachers and classes, which are public.
type Poll struct {
	Queries  int64 // number of public queries, with indices from 0
	Teachers int   // number of teachers, 1 to votes.MaxTeachers, with indices from 0
	Classes  int   // number of classes, 2 to votes.MaxClasses, with indices from 0
}

type Vote struct {
	Query   int64 // in [0, Poll.Queries)
	Teacher int32 // in [0, Poll.Teachers)
	Class   int32 // in [0, Poll.Classes), or votes.Abstention
}

func (p Poll) Validate() error {
	switch {
	case p.Queries < 1 || p.Queries > math.MaxInt64/2:
		return fmt.Errorf("poll: Queries is %d, want at least 1", p.Queries)
	case p.Teachers < 1 || p.Teachers > votes.MaxTeachers:
		return fmt.Errorf("poll: Teachers is %d, want 1 to %d", p.Teachers, votes.MaxTeachers)
	case p.Classes < 2 || p.Classes > votes.MaxClasses:
		return fmt.Errorf("poll: Classes is %d, want 2 to %d", p.Classes, votes.MaxClasses)
	}
	return nil
}

const (
	blockBytes    = 1 << 16
	minBlock      = 16
	maxBlock      = 4096
	outsideBlocks = -1 // key of votes on queries outside the poll
)

func (p Poll) words() int { return (p.Teachers + 63) / 64 }

func (p Poll) blockQueries() int64 {
	return int64(min(maxBlock, max(minBlock, blockBytes/(4*p.Classes+8*p.words()))))
}

// block expects p.blockQueries() as `each`.
func (p Poll) block(query, each int64) int64 {
	if query < 0 || query >= p.Queries {
		return outsideBlocks
	}
	return query / each
}

func (p Poll) blocks() int64 { return (p.Queries-1)/p.blockQueries() + 1 }

func (p Poll) rows(block int64) int {
	return int(min(p.blockQueries(), p.Queries-block*p.blockQueries()))
}

func (p Poll) shardBlocks(shard, shards int64) (from, to int64) {
	all := p.blocks()
	return cut(all, shard, shards), cut(all, shard+1, shards)
}

func cut(blocks, shard, shards int64) int64 {
	return shard*(blocks/shards) + min(shard, blocks%shards)
}

func (p Poll) shardOf(block, shards int64) int64 {
	each, more := p.blocks()/shards, p.blocks()%shards
	if long := more * (each + 1); block >= long {
		return more + (block-long)/each
	}
	return block / (each + 1)
}
