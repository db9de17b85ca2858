package learn

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/stability"
)

func stable() Mechanism {
	return Mechanism{
		Name:  "stability",
		Short: "Release the true winner, if it is far from changing",
		Long: `The true winner of a vote, with no noise on it, or nothing at all: the number of
votes that would have to move before the winner changes is compared, with noise,
to a threshold (propose-test-release, Dwork, Lei 2009; Smith, Thakurta 2013). The
trace shows the distance, the test, its exact probabilities for two kinds of
neighbours, and what a session of questions costs. The misconceptions it ends:
that the gap is the distance, and that a refusal is free.`,
		Inputs: []Input{
			{"counts", "45,12,3", "votes of each class"},
			{"epsilon", "1", "of one question"},
			{"questions", "10", "asked like this one, for the cost of all"},
		},
		trace: traceStable,
	}
}

func traceStable(r run) (Trace, error) {
	_, counts, err := r.histogram("counts")
	if err != nil {
		return Trace{}, err
	}
	epsilon, err := r.positive("epsilon")
	if err != nil {
		return Trace{}, err
	}
	questions, err := r.whole("questions")
	if err != nil {
		return Trace{}, err
	}
	m, err := stability.NewMStab(stability.MStabConfig{
		Noise: stability.Laplace, Epsilon: epsilon, Delta: r.delta / float64(2*questions), Questions: questions})
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	winner, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	answer, noise, err := ask(m, r.key, winner, distance)
	if err != nil {
		return Trace{}, err
	}
	leads := make([]int, len(counts))
	distances := make([]int64, len(counts))
	for j, n := range counts {
		if j == winner {
			continue // no distance to itself: shown as 0
		}
		leads[j] = counts[winner] - n
		two := []int{counts[winner], n} // in the order of their indices
		if j < winner {
			two = []int{n, counts[winner]}
		}
		if _, distances[j], err = stability.Plurality(two, stability.VoteMoves, stability.LowestIndex); err != nil {
			return Trace{}, err
		}
	}
	t := Trace{Title: "Stability: the true winner or nothing"}
	t.Steps = []Step{
		{
			Name: "Count the votes, find the winner",
			Words: fmt.Sprintf("%d teachers vote. Most votes are for %s, the lowest number among equals. A changed record moves one vote.",
				total(counts), named(winner)),
			Numbers: []Number{vector("votes", counts), scalar("winner", winner)},
		},
		{
			Name: "Measure the distance to instability",
			Words: "How many votes must move before another class wins? A vote moved from the winner to class j closes their lead by 2. A class with a " +
				"lower number than the winner's wins a tie, so it needs one less. The distance is the smallest over the other classes (beside the winner stand zeros); one moved " +
				"vote changes it by at most 1, and where one moved vote changes the winner it is 0 on both sides.",
			Formula: &Formula{"distance = min_j floor((votes_winner - votes_j - [j < winner]) / 2)",
				`d = \min_{j \ne a} \left\lfloor \frac{n_a - n_j - [j < a]}{2} \right\rfloor`},
			Numbers: []Number{vector("votes", counts), vector("winner leads by", leads), vector("moves", distances), scalar("distance", distance)},
		},
		{
			Name: "Fix the threshold",
			Words: fmt.Sprintf("If one moved vote changes the winner, a release tells the two data sets apart for certain. So at distance 0 it must hardly "+
				"ever happen: the threshold T is the least whole number that the noise alone exceeds with probability below delta/(2 x %d). The other "+
				"half of delta is for adding up the questions.", questions),
			Formula: &Formula{"P[noise > T] = r^(T+1) / (1+r),  r = e^-epsilon", `P[Z > T] = \frac{r^{T+1}}{1+r},\quad r = e^{-\varepsilon}`},
			Numbers: []Number{scalar("delta of one question", r.delta/float64(2*questions)), scalar("threshold T", m.Threshold()),
				scalar("P[noise > T]", math.Exp(first(m.Law(0))))},
		},
		{
			Name:    "Test",
			Words:   "The distance gets discrete Laplace noise of scale 1/epsilon, drawn before the votes are looked at. " + stableVerdict(answer, winner),
			Formula: &Formula{"release if distance + noise > T", `d + Z > T`},
			Numbers: []Number{scalar("distance", distance), scalar("noise", noise), scalar("sum", distance+noise), scalar("threshold T", m.Threshold())},
		},
	}
	likely, err := stableLikely(m, counts, winner, distance)
	if err != nil {
		return Trace{}, err
	}
	t.Steps = append(t.Steps, likely)
	t.Released = Section{Words: "That there is no answer. Neither the winner, nor the distance, nor how close the test was."}
	if answer.Released {
		t.Released.Words = fmt.Sprintf("%s, exact: no noise was added to it. Not the distance, not the gap, not the noisy sum: each of them would be "+
			"another release at another price.", capital(named(winner)))
	}
	if t.Cost, err = stableCost(r, m, questions); err != nil {
		return Trace{}, err
	}
	t.Mistakes, err = stableMistakes(r, m, epsilon, questions)
	return t, err
}

// ask runs m on one question, and finds the noise of that run by asking again, with
// the same key and paid for again, at other distances: the least that is released
// exceeds the threshold by one when the noise is added.
func ask[T any](m *stability.MStab, key stability.Key, value T, distance int64) (answer stability.Answer[T], noise int64, err error) {
	const far = 40 // noise beyond 2^far is a probability nobody meets
	at := func(distance int64) (stability.Answer[T], error) {
		session, err := startStable[T](m, key)
		if err != nil {
			return stability.Answer[T]{}, err
		}
		return session.Ask(0, value, distance)
	}
	if answer, err = at(distance); err != nil {
		return answer, 0, err
	}
	low, high := int64(-1)<<far, int64(1)<<far // not released, released
	for high-low > 1 {
		mid := low + (high-low)/2
		a, err := at(mid)
		if err != nil {
			return answer, 0, err
		}
		if a.Released {
			high = mid
		} else {
			low = mid
		}
	}
	return answer, m.Threshold() + 1 - high, nil
}

func startStable[T any](m *stability.MStab, key stability.Key) (*stability.Session[T], error) {
	paid, err := charge(m.Event(), accountant.ReplaceOne)
	if err != nil {
		return nil, err
	}
	return stability.Start[T](m, paid, key)
}

func stableVerdict(a stability.Answer[int], winner int) string {
	if a.Released {
		return fmt.Sprintf("The sum exceeds the threshold: %s is released.", named(winner))
	}
	return "The sum does not exceed the threshold: nothing is released."
}

func first(a, _ float64) float64  { return a }
func second(_, b float64) float64 { return b }

// stableLikely is the exact law of the test here, next door, and where the winner
// changes.
func stableLikely(m *stability.MStab, counts []int, winner int, distance int64) (Step, error) {
	moved := neighbour(counts)
	other, near, err := stability.Plurality(moved, stability.VoteMoves, stability.LowestIndex)
	if err != nil {
		return Step{}, err
	}
	numbers := []Number{
		scalar("P[released]", math.Exp(first(m.Law(distance)))),
		scalar("P[refused]", math.Exp(second(m.Law(distance)))),
		scalar("distance after one vote moved from winner to second", near),
		scalar("P'[released]", math.Exp(first(m.Law(near)))),
		scalar("P'[refused]", math.Exp(second(m.Law(near)))),
	}
	words := "The law of the test is known exactly. "
	if other == winner {
		words += "After one moved vote the winner is the same and the distance differs by at most 1: the outcomes' probabilities change by at most e^epsilon."
		numbers = append(numbers, scalar("loss of a release", first(m.Law(distance))-first(m.Law(near))),
			scalar("loss of a refusal", second(m.Law(distance))-second(m.Law(near))))
	} else {
		words += "One moved vote changes the winner: both distances are 0, and both data sets end in a refusal but for a probability below delta."
	}
	return Step{
		Name: "Ask how likely that was", Words: words, Numbers: numbers,
		Formula: &Formula{"loss = ln(P[outcome] / P'[outcome])", `\ell = \ln \frac{P[o]}{P'[o]}`},
	}, nil
}

func stableCost(r run, m *stability.MStab, questions int) (Section, error) {
	all, err := r.epsilon(m.Event())
	if err != nil {
		return Section{}, err
	}
	need, err := m.DistanceFor(0.95)
	if err != nil {
		return Section{}, err
	}
	failure := math.Exp(first(m.Law(0)))
	return Section{
		Words: "Two kinds of neighbours, two costs. Where the winner stays, the test costs epsilon. Where it changes, all is well unless the test passes " +
			"at distance 0, which has a probability that counts against delta. Both are charged for every question, answered or refused. Many " +
			"questions are dear: see how far the winner must lead.",
		Numbers: []Number{scalar("questions", questions), scalar("P[released at distance 0], all questions", float64(questions)*failure),
			scalar("delta", r.delta), claim("epsilon, all questions", all),
			scalar("distance released with probability 0.95", need), scalar("that is a lead of at least", 2*need)},
	}, nil
}

func stableMistakes(r run, m *stability.MStab, epsilon float64, questions int) ([]Mistake, error) {
	far := m.Threshold() + 10 // where both refusals are in the exponential tail
	unstable := math.Exp(first(m.Law(1)))
	one, err := r.epsilon(accountant.Repeated{Event: m.Event().(accountant.Repeated).Event, Count: 1})
	if err != nil {
		return nil, err
	}
	all, err := r.epsilon(m.Event())
	if err != nil {
		return nil, err
	}
	d := r.delta
	printed := stability.ContinuousLaplace{Epsilon: epsilon, Threshold: max(0, math.Log(1/d)/epsilon)}
	exact := stability.ContinuousLaplace{Epsilon: epsilon, Threshold: max(0, math.Log(1/(2*d))/epsilon)}
	return []Mistake{
		{
			If: "the lead minus 1 were taken for the distance",
			Words: "One moved vote changes a lead by 2: noise made for a change of 1 loses twice the epsilon claimed. And a lead of 2 gives 1 although one " +
				"moved vote ends it: an answer about to change is then released e^epsilon times too often.",
			Numbers: []Number{scalar("P[released] at distance 0", math.Exp(first(m.Law(0)))), scalar("P[released] if that is taken for 1", unstable),
				claim("epsilon claimed", epsilon), claim("loss of a refusal when the statistic moves by 2", second(m.Law(far-2))-second(m.Law(far)))},
		},
		{
			If: "refusals were thought to be free",
			Words: "That the vote was close is something learned about the votes: the test costs the same whichever way it ends. For refusals that are paid " +
				"and answers that are not, see stable-svt.",
			Numbers: []Number{claim("epsilon claimed, one answer", one), claim(fmt.Sprintf("epsilon spent, %d questions", questions), all)},
		},
		{
			If: "the printed threshold ln(1/delta)/epsilon were used",
			Words: "It is valid, and wastes half of delta: with continuous noise an answer at distance 0 leaves with probability delta/2. ln(1/(2 delta))/epsilon " +
				"is exact. Worse is to pass a threshold in and to compute it again inside, as the same notes do: then nobody knows which one protects.",
			Numbers: []Number{scalar("threshold printed", printed.Threshold), scalar("P[released at distance 0]", math.Exp(first(printed.Law(0)))),
				scalar("threshold needed", exact.Threshold), scalar("P[released at distance 0], as claimed", math.Exp(first(exact.Law(0))))},
		},
	}, nil
}
