package plan

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/aggregate"
)

// ClearVote is the share of all votes for one class at which a vote counts as clear.
const ClearVote = 0.8

// Clear is what a setting makes of votes that leave no doubt.
type Clear struct {
	Right     float64 // probability that a vote of [ClearVote] gets its class, if it is answered; the rest is for one other class
	Unanimous float64 // the same of a vote of all teachers
	Answered  float64 // probability that a vote of all teachers is answered
}

// Clearly returns what a setting makes of clear votes of so many teachers.
func Clearly(s aggregate.Setting, teachers, classes int) (Clear, error) {
	d, err := described(s.Mechanism)
	if err != nil {
		return Clear{}, err
	}
	s = d.Complete(s)
	if noise := d.MostNoise(s); noise > 64*float64(teachers) && noise > 1<<10 { // it drowns every vote
		return Clear{Right: 1 / float64(classes), Unanimous: 1 / float64(classes), Answered: 1}, nil
	}
	chances, err := d.ChancesOf(s, classes, false)
	if err != nil {
		return Clear{}, fmt.Errorf("plan: %w", err)
	}
	c := Clear{Answered: 1}
	votes := make([]int64, classes)
	last := classes - 1 // which loses ties
	votes[last] = int64(math.Ceil(ClearVote * float64(teachers)))
	votes[0] = int64(teachers) - votes[last]
	c.Right = chances.Right(votes, last)
	votes[last], votes[0] = int64(teachers), 0
	c.Unanimous = chances.Right(votes, last)
	if chances.Answered != nil {
		c.Answered = chances.Answered(votes)
	}
	return c, nil
}
