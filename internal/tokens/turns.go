package tokens

import (
	"slices"

	"github.com/pate-go/pate/rng"
)

// turns samples the exponential mechanism on integer scores exactly: P[j] is proportional to
// exp(score_j/Scale). See aggregate.Exponential for the proof. All random numbers are drawn before the scores
// are read.
type turns struct {
	distances *rng.DiscreteLaplace
	farthest  []int64
	drawn     []turn
}

type turn struct {
	option   int
	distance int64
}

// choose returns the index of a score.
func (t *turns) choose(scores []int64, s *rng.Stream) int {
	t.draw(len(scores), s)
	high := slices.Max(scores)
	chosen := None
	for i := len(t.drawn) - 1; i >= 0; i-- { // reads all turns
		if t.drawn[i].distance >= high-scores[t.drawn[i].option] {
			chosen = t.drawn[i].option
		}
	}
	return chosen
}

// draw lists turns of uniformly random options until every option has had a turn. A turn is accepted if its
// distance is at least the distance of the option's score to the largest score. The first accepted turn wins.
// A turn is omitted if an earlier turn of its option has an equal or larger distance.
func (t *turns) draw(options int, s *rng.Stream) {
	t.drawn, t.farthest = t.drawn[:0], t.farthest[:0]
	for range options {
		t.farthest = append(t.farthest, -1)
	}
	for left := options; left > 0; {
		option, distance := int(s.Uint64N(uint64(options))), t.distances.Geometric(s)
		if t.farthest[option] < 0 {
			left--
		}
		if distance > t.farthest[option] {
			t.farthest[option] = distance
			t.drawn = append(t.drawn, turn{option, distance})
		}
	}
}
