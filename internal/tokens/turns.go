package tokens

import (
	"slices"

	"github.com/pate-go/pate/rng"
)

// turns samples the exponential mechanism on integer scores, exactly as aggregate.Exponential does.
type turns struct {
	distances *rng.DiscreteLaplace
	farthest  []int64
	drawn     []turn
}

type turn struct {
	option   int
	distance int64
}

// choose returns the index of the score whose turn is accepted first.
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

// draw lists turns of random options until every option has had a turn, before the scores are read. A turn is
// omitted if an earlier turn of its option has an equal or larger distance.
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
