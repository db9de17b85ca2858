package learn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
)

type letter struct{ id, class int }

type block struct {
	first  int // lowest index of a record
	counts []int
	answer int
}

const maxRecords = 1 << 20

func traceSubsample(l *lesson) {
	in := l.subsampleInputs()
	data := in.draw(l.key)
	split := valid(stability.Repeated(in.records, in.blocks, in.repetitions, l.key))
	m := valid(stability.NewMStab(stability.MStabConfig{Noise: stability.Laplace, Epsilon: in.epsilon, Delta: l.delta, Questions: 1}))
	session := startStable[int](m, l.key)
	var mu sync.Mutex
	var blocks []block
	answer := Must(stability.SubsampleAggregate(context.Background(), session, 0, data, split, func(_ context.Context, part []letter) (int, bool) {
		b := block{first: part[0].id, counts: make([]int, len(in.shares))}
		for _, l := range part {
			b.counts[l.class]++
		}
		b.answer = slices.Index(b.counts, slices.Max(b.counts))
		mu.Lock()
		defer mu.Unlock()
		blocks = append(blocks, b)
		return b.answer, true
	}))
	slices.SortFunc(blocks, func(a, b block) int {
		return cmp.Or(cmp.Compare(a.first, b.first), slices.Compare(a.counts, b.counts)) // several splits may have equal first records
	})
	l.let("passed", answer.Released)
	in.tell(l, m, data, blocks, split.Overlap())
}

type subsampleInputs struct {
	shares                       []float64
	records, blocks, repetitions int
	epsilon                      float64
}

func (l *lesson) subsampleInputs() subsampleInputs {
	in := subsampleInputs{
		shares: l.numbers("shares"), records: l.whole("records"), blocks: l.whole("blocks"),
		repetitions: l.whole("repetitions"), epsilon: l.positive("epsilon"),
	}
	sum := 0.0
	for _, p := range in.shares {
		sum += p
	}
	if len(in.shares) < 2 || len(in.shares) > maxClasses || slices.Min(in.shares) < 0 || !(math.Abs(sum-1) < 1e-9) {
		refuse("shares: need 2 to %d probabilities that sum to 1", maxClasses)
	}
	if max(in.records, in.blocks, in.repetitions) > maxRecords || in.records*in.repetitions > maxRecords {
		refuse("%d records in %d splits of %d blocks are more than a trace can hold", in.records, in.repetitions, in.blocks)
	}
	return in
}

func (in subsampleInputs) draw(key rng.Key) []letter {
	s := key.Derive("data").Stream()
	data := make([]letter, in.records)
	for i := range data {
		data[i] = letter{id: i, class: len(in.shares) - 1}
		u := uniform(s)
		for class, p := range in.shares {
			if u -= p; u < 0 {
				data[i].class = class
				break
			}
		}
	}
	return data
}

func (in subsampleInputs) tell(l *lesson, m *stability.MStab, data []letter, blocks []block, overlap int) {
	all, votes := make([]int, len(in.shares)), make([]int, len(in.shares))
	for _, d := range data {
		all[d.class]++
	}
	for _, b := range blocks {
		votes[b.answer]++
	}
	winner, moves, err := stability.Plurality(votes, stability.VoteMoves, stability.AnyTies)
	distance := Must(moves, err) / int64(overlap)
	_, noise := ask(m, l.key, winner, distance)
	l.let("overlap", overlap)
	l.let("dealt", len(blocks))
	l.let("winner", winner)
	l.let("moves", moves)
	l.let("distance", distance)
	shown := blocks[:min(len(blocks), 8)]
	l.let("shown", len(shown))

	l.stepOver("letter", "data", vector("records", all))
	l.step("deal", scalar("blocks", len(blocks)), scalar("records in a block, about", in.records/in.blocks),
		scalar("blocks with one record", overlap))
	l.stepOver("block", "ask", in.seen(shown)...)
	l.stepOver("letter", "votes", vector("votes", votes), scalar("winner", winner))
	l.step("distance", scalar("votes that can move", moves), scalar("overlap", overlap), scalar("distance", distance))
	l.step("test", scalar("distance", distance), scalar("noise", noise), scalar("sum", distance+noise), scalar("threshold T", m.Threshold()),
		scalar("P[refused]", refused(m, distance)))
	l.release()
	l.cost(stableCost(l, m, 1)...)
	in.mistakes(l, m, overlap)
}

func (in subsampleInputs) seen(blocks []block) (columns []Number) {
	if len(in.shares) <= 6 {
		for class := range in.shares {
			columns = append(columns, Number{Name: fmt.Sprintf("letter %d", class)})
		}
	}
	columns = append(columns, Number{Name: "vote"})
	for _, b := range blocks {
		addRow(columns, vector("", append(slices.Clone(b.counts[:len(columns)-1]), b.answer)).Values...)
	}
	return columns
}

func (in subsampleInputs) mistakes(l *lesson, m *stability.MStab, overlap int) {
	several := int64(max(3, overlap))
	const records, epsilon = 60000, 1
	plan := valid(newSampPlan(records, epsilon, min(l.delta, 0.25)))
	l.let("several", several)
	l.let("sampled", records)
	l.let("each", epsilon)
	l.mistake("overlap", claim("epsilon claimed", in.epsilon), claim("loss of a refusal", refusalLoss(m, 2*several, several)))
	l.mistake("sorted", scalar("votes one record can move, dealt by lot", overlap), scalar("votes one record can move, cut after sorting", in.blocks))
	l.mistake("samples", scalar("samples, as printed", plan.printed), scalar("samples, by Chernoff", plan.chernoff),
		scalar("samples, by the binomial law", plan.scanned), scalar("disjoint blocks", plan.blocks))
}

// Each model trains on a sample that contains each record independently with probability gamma. With
// probability at least 1-delta, each record must be in at most a fraction 2 gamma of the samples. Lecture
// notes use log(n/delta)/gamma^2 models (Hoeffding's inequality). For small gamma, log(n/delta)/((2 log 2 -
// 1) gamma) models suffice (Chernoff's inequality).

// sampPlan holds the parameters of the mechanism M_samp (Smith, Thakurta 2013).
type sampPlan struct {
	gamma    float64 // epsilon/(32 log(1/delta))
	chernoff int     // number of models by Chernoff's inequality
	printed  int     // number of models by Hoeffding's inequality
	scanned  int     // least number of models by binomial probabilities and a union bound over records
	blocks   int     // number of disjoint blocks of the sample size
}

func newSampPlan(records int, epsilon, delta float64) (sampPlan, error) {
	if records < 1 || !(delta >= 1e-300 && delta <= 0.25) || !(epsilon >= 0x1p-10 && epsilon <= 0x1p9) {
		return sampPlan{}, fmt.Errorf("stability: no plan for %d records, epsilon %g in [2^-10, 2^9], delta %g in (0, 1/4]", records, epsilon, delta)
	}
	gamma := epsilon / (32 * math.Log(1/delta))
	if gamma >= 0.5 {
		return sampPlan{}, fmt.Errorf("stability: epsilon %g is so large that samples would hold half of the records", epsilon)
	}
	l := math.Log(float64(records) / delta)
	p := sampPlan{
		gamma:    gamma,
		chernoff: int(math.Ceil(l / ((2*math.Ln2 - 1) * gamma))),
		printed:  int(math.Ceil(l / (gamma * gamma))),
		blocks:   int(math.Ceil(1 / gamma)),
	}
	// Find the least m with n P[Binomial(m, gamma) > 2 gamma m] <= delta. While floor(2 gamma m) = k, the
	// probability grows with m. So only the least m for each k can be the solution.
	for k := 1.0; ; k++ {
		m := math.Ceil(k / (2 * gamma))
		law := distuv.Binomial{N: m, P: gamma}
		if int(m) >= p.chernoff || float64(records)*law.Survival(k) <= delta {
			p.scanned = min(int(m), p.chernoff)
			return p, nil
		}
	}
}
