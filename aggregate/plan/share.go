package plan

import (
	"math"

	"github.com/pate-go/pate/aggregate"
)

// Public.Share, the mean fraction of votes for the largest class, does not show how queries differ. All
// queries may be alike, the fractions may vary, or some votes may be unanimous and the others split between
// two classes. A plan for a Share must reach the goal in all these cases. The last case is the hardest,
// because it has the fewest good queries for the same mean. If the mean may be one half or less, all queries
// may be tied, and no plan reaches the goal.

// ShareSlack is the most by which a plan misses the accuracy goal if the true Public.Share equals its lower
// bound, LeastShare.
const ShareSlack = 0.04

func (p Public) sharing(queries int) (worlds []world, err error) {
	least := max(p.LeastShare, 1/float64(p.Classes))
	for _, w := range []struct {
		share, correlation float64
		world
	}{
		{p.Share, DefaultCorrelation, world{}}, {p.Share, smallCorrelation, world{only: true}},
		{least, DefaultCorrelation, world{slack: ShareSlack}}, {least, smallCorrelation, world{slack: ShareSlack, only: true}},
	} {
		s := p.simulation(queries)
		s.Correlation = w.correlation
		if w.world.cases, err = s.withShare(w.share); err != nil {
			return nil, err
		}
		worlds = append(worlds, w.world)
	}
	for _, split := range []float64{0.5, 0.6, 0.7, 0.8, least} {
		if split > least {
			continue
		}
		c, err := p.split(least, split)
		if err != nil {
			return nil, err
		}
		worlds = append(worlds, world{c, ShareSlack, split != 0.5})
	}
	return worlds, nil
}

func (s Simulation) withShare(share float64) (c cases, err error) {
	low, high := 1/float64(s.Classes), 0.999
	for range 9 {
		s.Accuracy = (low + high) / 2
		if c, err = s.pluralities(); err != nil {
			return c, err
		}
		if c.share() > share {
			high = s.Accuracy
		} else {
			low = s.Accuracy
		}
	}
	s.Accuracy = low
	return s.pluralities()
}

func (c cases) share() float64 {
	votes := 0.0
	for _, n := range c.largest {
		votes += float64(n)
	}
	return votes / float64(len(c.largest)) / float64(c.teachers)
}

// split returns artificial votes. On some queries the largest class has all votes, on the others a fraction
// `split`. The mean fraction is about `share`.
func (p Public) split(share, split float64) (cases, error) {
	const queries = 100
	unanimous := queries
	if split < 1 {
		unanimous = int(math.Floor(queries * (share - split) / (1 - split)))
	}
	examples := make([]Example, queries)
	for i := range examples {
		votes := make([]int, p.Classes)
		first, second := i%p.Classes, (i+1)%p.Classes
		votes[first] = p.Teachers
		if i >= unanimous {
			votes[first] = int(math.Ceil(split * float64(p.Teachers)))
		}
		votes[second] = p.Teachers - votes[first]
		h, err := aggregate.NewHistogram(votes)
		if err != nil {
			return cases{}, err
		}
		examples[i] = Example{Votes: h, Label: first}
	}
	return newCases(examples)
}
