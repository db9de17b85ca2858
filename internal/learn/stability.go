package learn

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
)

func traceStable(l *lesson) {
	_, counts := l.histogram("counts")
	epsilon, questions := l.positive("epsilon"), l.whole("questions")
	delta := l.delta / float64(2*questions)
	m := valid(stability.NewMStab(stability.MStabConfig{Noise: stability.Laplace, Epsilon: epsilon, Delta: delta, Questions: questions}))
	winner, distance := plurality(counts)
	leads, distances := make([]int, len(counts)), make([]int64, len(counts))
	for j, n := range counts {
		if j == winner {
			continue // the winner is shown with distance 0
		}
		leads[j] = counts[winner] - n
		two := []int{counts[winner], n} // in the order of their indices
		if j < winner {
			two = []int{n, counts[winner]}
		}
		_, distances[j] = plurality(two)
	}
	l.let("winner", winner)
	l.step("votes", vector("votes", counts), scalar("winner", winner))
	l.step("distance", vector("votes", counts), vector("winner leads by", leads), vector("moves", distances), scalar("distance", distance))
	l.step("threshold", scalar("delta of one question", delta), scalar("threshold T", m.Threshold()), scalar("P[noise > T]", released(m, 0)))
	answer, noise := ask(m, l.key, winner, distance)
	l.let("passed", answer.Released)
	l.step("test", scalar("distance", distance), scalar("noise", noise), scalar("sum", distance+noise), scalar("threshold T", m.Threshold()))
	stableLikely(l, m, counts, winner, distance)
	l.release()
	l.cost(append([]Number{scalar("questions", questions)}, stableCost(l, m, questions)...)...)
	stableMistakes(l, m, epsilon, questions)
}

func plurality(counts []int) (winner int, distance int64) {
	winner, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
	return valid(winner, err), distance
}

func ask[T any](m *stability.MStab, key rng.Key, value T, distance int64) (answer stability.Answer[T], noise int64) {
	// The search for the noise finds the least distance at which m releases with the same key. The noise is
	// the threshold plus one, minus this distance.

	const far = 40 // the probability of noise beyond 2^far is negligible
	at := func(distance int64) stability.Answer[T] { return Must(startStable[T](m, key).Ask(0, value, distance)) }
	answer = at(distance)
	low, high := int64(-1)<<far, int64(1)<<far // low is refused, high is released
	for high-low > 1 {
		mid := low + (high-low)/2
		if at(mid).Released {
			high = mid
		} else {
			low = mid
		}
	}
	return answer, m.Threshold() + 1 - high
}

func startStable[T any](m *stability.MStab, key rng.Key) *stability.Session[T] {
	return Must(stability.Start[T](m, Must(Paid(m.Event(), accountant.ReplaceOne)), key))
}

func first(a, _ float64) float64  { return a }
func second(_, b float64) float64 { return b }

func released(m *stability.MStab, distance int64) float64 { return math.Exp(first(m.Law(distance))) }
func refused(m *stability.MStab, distance int64) float64  { return math.Exp(second(m.Law(distance))) }

func refusalLoss(m *stability.MStab, far, shift int64) float64 {
	far += m.Threshold()
	return second(m.Law(far-shift)) - second(m.Law(far))
}

func stableLikely(l *lesson, m *stability.MStab, counts []int, winner int, distance int64) {
	other, near := plurality(neighbour(counts))
	numbers := []Number{
		scalar("P[released]", released(m, distance)), scalar("P[refused]", refused(m, distance)),
		scalar("distance after one vote moved from winner to second", near),
		scalar("P'[released]", released(m, near)), scalar("P'[refused]", refused(m, near)),
	}
	if other == winner {
		numbers = append(numbers, scalar("loss of a release", first(m.Law(distance))-first(m.Law(near))),
			scalar("loss of a refusal", second(m.Law(distance))-second(m.Law(near))))
	}
	l.let("same", other == winner)
	l.step("likely", numbers...)
}

func stableCost(l *lesson, m *stability.MStab, questions int) []Number {
	need := Must(m.DistanceFor(0.95))
	return []Number{
		scalar("P[released at distance 0], all questions", float64(questions)*released(m, 0)),
		scalar("delta", l.delta), claim("epsilon, all questions", l.epsilon(m.Event())),
		scalar("distance released with probability 0.95", need), scalar("that is a lead of at least", 2*need),
	}
}

func stableMistakes(l *lesson, m *stability.MStab, epsilon float64, questions int) {
	one := l.epsilon(accountant.Repeated{Event: m.Event().(accountant.Repeated).Event, Count: 1})
	printed := stability.ContinuousLaplace{Epsilon: epsilon, Threshold: max(0, math.Log(1/l.delta)/epsilon)}
	exact := stability.ContinuousLaplace{Epsilon: epsilon, Threshold: max(0, math.Log(1/(2*l.delta))/epsilon)}
	l.mistake("lead", scalar("P[released] at distance 0", released(m, 0)), scalar("P[released] if that is taken for 1", released(m, 1)),
		claim("epsilon claimed", epsilon), claim("loss of a refusal when the statistic moves by 2", refusalLoss(m, 10, 2)))
	l.mistake("refusals", claim("epsilon claimed, one answer", one),
		claim(fmt.Sprintf("epsilon spent, %d questions", questions), l.epsilon(m.Event())))
	l.mistake("printed",
		scalar("threshold printed", printed.Threshold), scalar("P[released at distance 0]", math.Exp(first(printed.Law(0)))),
		scalar("threshold needed", exact.Threshold), scalar("P[released at distance 0], as claimed", math.Exp(first(exact.Law(0)))))
}
