package stability

import (
	"errors"
	"fmt"
)

// Change describes how one record can change the votes of one query.
type Change int

const (
	// VoteMoves means that one teacher may change its vote arbitrarily. The old or the new vote may be an
	// abstention.
	VoteMoves Change = iota + 1
	// VoteAppears means that one vote is added or removed, but never changes its class. This is valid only if
	// a teacher without the record abstains.
	VoteAppears
)

// Ties is the rule for equal largest counts. The rule affects only the distance that [Plurality] returns.
type Ties int

const (
	LowestIndex Ties = iota + 1 // the class with the lowest index
	AnyTies                     // unknown or random: tied counts are unstable
)

const maxCount = 1 << 40

// Plurality returns the class with the most votes, and its distance to instability. The distance is the
// largest k such that no k changes give another winner. The lowest index wins a tie. Abstentions are not
// counted. Let a be the winner, g_j = counts[a] - counts[j], and g the least g_j. With minima over j != a,
// the distance is
//
//	               LowestIndex                       AnyTies
//	VoteMoves      min_j floor((g_j - [j < a])/2)    max(0, floor((g - 1)/2))
//	VoteAppears    min_j (g_j - [j < a])             max(0, g - 1)
//
// A vote that moves from a to j lowers g_j by 2. Every other change lowers g_j by at most 1. Here [j < a] is
// 1 if j < a, and otherwise 0. If j < a, class j wins a tie, so class j wins when g_j <= 0. Otherwise class j
// wins when g_j <= -1.
func Plurality(counts []int, change Change, ties Ties) (winner int, distance int64, err error) {
	// The distance has two properties: it differs by at most 1 between neighbours, and it is 0 for two
	// neighbours with different winners. Under VoteMoves, g/2 lacks the second property. Both g and g - 1
	// lack both properties. If g - 1 is tested with noise for sensitivity 1, the cost is 2 epsilon in place
	// of epsilon, and an unstable answer is released e^epsilon times as often.
	switch {
	case len(counts) < 2:
		return 0, 0, fmt.Errorf("stability: a plurality needs at least 2 classes, not %d", len(counts))
	case change != VoteMoves && change != VoteAppears:
		return 0, 0, fmt.Errorf("stability: %d is not a Change", change)
	case ties != LowestIndex && ties != AnyTies:
		return 0, 0, fmt.Errorf("stability: %d is not a rule for Ties", ties)
	}
	for class, n := range counts {
		if n < 0 || int64(n) > maxCount {
			return 0, 0, errors.New("stability: a count is outside [0, 2^40]")
		}
		if n > counts[winner] {
			winner = class
		}
	}
	distance = maxCount
	for j, n := range counts {
		if j == winner {
			continue
		}
		lead := int64(counts[winner] - n)
		if j < winner || ties == AnyTies {
			lead-- // j wins a tie
		}
		if change == VoteMoves {
			lead /= 2
		}
		distance = min(distance, max(0, lead))
	}
	return winner, distance, nil
}
