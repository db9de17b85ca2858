// Package acceptance samples exactly from the exponential mechanism on integer scores. An option with score n
// has probability proportional to exp(n/Scale).
package acceptance

import (
	"slices"

	"github.com/pate-go/pate/rng"
)

// Draw appends random turns, from which [First] accepts one, until every option has a turn. A turn is two
// numbers: a uniformly random option and a random distance. The turns are drawn before the scores are read.
func Draw(turns []int64, options int, distances *rng.DiscreteLaplace, s *rng.Stream) []int64 {
	// A turn is accepted if the option is at most this distance behind the largest score. So at least one
	// turn is accepted for any scores. The first accepted turn is of option j with probability proportional
	// to the acceptance probability of j. A turn is omitted if an earlier turn of its option has an equal or
	// larger distance.
	farthest := make([]int64, options)
	for i := range farthest {
		farthest[i] = -1
	}
	for left := options; left > 0; {
		option := int64(s.Uint64N(uint64(options)))
		distance := distances.Geometric(s)
		if farthest[option] < 0 {
			left--
		}
		if distance > farthest[option] {
			farthest[option] = distance
			turns = append(turns, option, distance)
		}
	}
	return turns
}

// First returns the option of the first accepted pair in turns. A pair (option, distance) is accepted if
// distance >= max(scores) - scores[option]. First always reads all pairs.
func First(scores, turns []int64) (option int) {
	high := slices.Max(scores)
	for i := len(turns) - 2; i >= 0; i -= 2 {
		if turns[i+1] >= high-scores[turns[i]] {
			option = int(turns[i])
		}
	}
	return option
}
