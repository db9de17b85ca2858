package plan

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/aggregate"
)

// ClearVote is the share of all votes for one class at which a vote counts as clear.
const ClearVote = 0.8

// ClearlyRight returns the probability that a clear vote, the rest of which is for one
// other class, gets its class, if it is answered; and the probability that a unanimous
func ClearlyRight(s aggregate.Setting, teachers, classes int) (clear, unanimous float64, err error) {
	d, err := described(s.Mechanism)
	if err != nil {
		return 0, 0, err
	}
	s = d.Complete(s)
	if noise := d.MostNoise(s); noise > 64*float64(teachers) && noise > 1<<10 { // it drowns every vote
		return 1 / float64(classes), 1 / float64(classes), nil
	}
	chances, err := d.ChancesOf(s, classes, false)
	if err != nil {
		return 0, 0, fmt.Errorf("plan: %w", err)
	}
	votes := make([]int64, classes)
	last := classes - 1 // which loses ties
	votes[last] = int64(math.Ceil(ClearVote * float64(teachers)))
	votes[0] = int64(teachers) - votes[last]
	clear = chances.Right(votes, last)
	votes[last], votes[0] = int64(teachers), 0
	unanimous = chances.Right(votes, last)
	if chances.Answered != nil {
		unanimous *= chances.Answered(votes)
	}
	return clear, unanimous, nil
}
