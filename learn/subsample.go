package learn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/pate-go/pate/stability"
)

func subsample() Mechanism {
	return Mechanism{
		Name:  "subsample-aggregate",
		Short: "Any function made stable: ask it of many parts of the data",
		Long: `A function of private data made private without looking inside it: the data are
dealt to blocks, the function is run on every block, the blocks vote, and the
winner is released if it is stable (Nissim, Raskhodnikova, Smith 2007; Smith,
Thakurta 2013). Here the function is the most frequent letter. PATE is the same
with teachers for the function. The misconceptions it ends: that blocks may be
cut from a sorted file, and that records may be in several blocks for free.`,
		Inputs: []Input{
			{"shares", "0.5,0.3,0.2", "probability of each letter in the data, which the seed draws"},
			{"records", "1800", "in the data, which is public"},
			{"blocks", "60", "in each split of the data"},
			{"repetitions", "1", "splits side by side: each record is in that many blocks"},
			{"epsilon", "1", "of the test"},
		},
		trace: traceSubsample,
	}
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// letter is a record: a number of its own and what it says.
type letter struct{ id, class int }

// block is what the function saw and said.
type block struct {
	first  int // lowest record
	counts []int
	answer int
}

const maxRecords = 1 << 20

func traceSubsample(r run) (Trace, error) {
	in, err := r.subsampleInputs()
	if err != nil {
		return Trace{}, err
	}
	data := in.draw(r)
	split, err := stability.Repeated(in.records, in.blocks, in.repetitions, r.key)
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	m, err := stability.NewMStab(stability.MStabConfig{Noise: stability.Laplace, Epsilon: in.epsilon, Delta: r.delta, Questions: 1})
	if err != nil {
		return Trace{}, fmt.Errorf("%w: %w", ErrInput, err)
	}
	session, err := startStable[int](m, r.key)
	if err != nil {
		return Trace{}, err
	}
	var mu sync.Mutex
	var blocks []block
	answer, err := stability.SubsampleAggregate(context.Background(), session, 0, data, split, func(_ context.Context, part []letter) (int, bool) {
		b := block{first: part[0].id, counts: make([]int, len(in.shares))}
		for _, l := range part {
			b.counts[l.class]++
		}
		b.answer = slices.Index(b.counts, slices.Max(b.counts))
		mu.Lock()
		defer mu.Unlock()
		blocks = append(blocks, b)
		return b.answer, true
	})
	if err != nil {
		return Trace{}, err
	}
	slices.SortFunc(blocks, func(a, b block) int {
		if a.first != b.first {
			return a.first - b.first
		}
		return slices.Compare(a.counts, b.counts) // blocks of several splits
	})
	return in.trace(r, m, data, blocks, split.Overlap(), answer)
}

type subsampleInputs struct {
	shares                       []float64
	records, blocks, repetitions int
	epsilon                      float64
}

func (r run) subsampleInputs() (in subsampleInputs, err error) {
	if in.shares, err = r.numbers("shares"); err != nil {
		return in, err
	}
	sum := 0.0
	for _, p := range in.shares {
		sum += p
		if p < 0 {
			sum = math.NaN()
		}
	}
	if len(in.shares) < 2 || len(in.shares) > maxClasses || !(math.Abs(sum-1) < 1e-9) {
		return in, fmt.Errorf("%w: shares: need 2 to %d probabilities that sum to 1", ErrInput, maxClasses)
	}
	for _, f := range []struct {
		name string
		to   *int
	}{{"records", &in.records}, {"blocks", &in.blocks}, {"repetitions", &in.repetitions}} {
		if *f.to, err = r.whole(f.name); err != nil {
			return in, err
		}
		if *f.to > maxRecords {
			return in, fmt.Errorf("%w: %s: at most %d, not %d", ErrInput, f.name, maxRecords, *f.to)
		}
	}
	if in.records*in.repetitions > maxRecords {
		return in, fmt.Errorf("%w: %d records in %d splits are more than a trace can hold", ErrInput, in.records, in.repetitions)
	}
	in.epsilon, err = r.positive("epsilon")
	return in, err
}

// draw makes the private data of the example.
func (in subsampleInputs) draw(r run) []letter {
	s := r.key.Derive("data").Stream()
	data := make([]letter, in.records)
	for i := range data {
		data[i] = letter{id: i, class: len(in.shares) - 1}
		u := float64(s.Uint64()>>11) * 0x1p-53
		for class, p := range in.shares {
			if u -= p; u < 0 {
				data[i].class = class
				break
			}
		}
	}
	return data
}

func (in subsampleInputs) trace(r run, m *stability.MStab, data []letter, blocks []block, overlap int, answer stability.Answer[int]) (Trace, error) {
	all, votes := make([]int, len(in.shares)), make([]int, len(in.shares))
	for _, l := range data {
		all[l.class]++
	}
	for _, b := range blocks {
		votes[b.answer]++
	}
	winner, moves, err := stability.Plurality(votes, stability.VoteMoves, stability.AnyTies)
	if err != nil {
		return Trace{}, err
	}
	distance := moves / int64(overlap)
	_, noise, err := ask(m, r.key, winner, distance)
	if err != nil {
		return Trace{}, err
	}
	shown := blocks[:min(len(blocks), 8)]
	var seen []Number
	for class := range in.shares {
		n := Number{Name: fmt.Sprintf("letter %d", class)}
		for _, b := range shown {
			n.Values = append(n.Values, float64(b.counts[class]))
		}
		seen = append(seen, n)
	}
	said := Number{Name: "vote"}
	for _, b := range shown {
		said.Values = append(said.Values, float64(b.answer))
	}
	if len(in.shares) > 6 {
		seen = nil
	}
	t := Trace{Title: "Subsample and aggregate: any function, made stable"}
	t.Steps = []Step{
		{
			Name: "Look at the data and the question",
			Words: fmt.Sprintf("%d records say one letter each; letters are numbered from 0. The question is which letter is most frequent. It could be any "+
				"question whatever: a program nobody has analysed, trained models, a survey.", in.records),
			Numbers: []Number{vector("records", all)}, Index: "letter",
		},
		{
			Name: "Deal the records to blocks",
			Words: fmt.Sprintf("Each record goes to one of %d blocks, by lot, %s: it is in %d of %d blocks. The lots come from a key and from the "+
				"number of records, never from what records say.", in.blocks, times(in.repetitions), overlap, len(blocks)),
			Numbers: []Number{scalar("blocks", len(blocks)), scalar("records in a block, about", in.records/in.blocks), scalar("blocks with one record", overlap)},
		},
		{
			Name: "Ask every block",
			Words: fmt.Sprintf("The function runs on each block alone. The first %d blocks, by their lowest record: how often each letter occurs, and the vote. "+
				"A small block errs sometimes; most do not.", len(shown)),
			Numbers: append(seen, said), Index: "block",
		},
		{
			Name:    "Count the votes of the blocks",
			Words:   fmt.Sprintf("%s has most votes.", capital(fmt.Sprintf("letter %d", winner))),
			Numbers: []Number{vector("votes", votes), scalar("winner", winner)}, Index: "letter",
		},
		{
			Name: "Measure the distance to instability",
			Words: fmt.Sprintf("At least floor((lead-1)/2) votes must move before a tie or another winner. One record changes at most the votes of the "+
				"blocks it is in, %d, so this many records: ", overlap) + fmt.Sprintf("floor(%d/%d) = %d. The function can be as wild as it likes; "+
				"only the votes are counted.", moves, overlap, distance),
			Formula: &Formula{"distance = floor(floor((lead - 1) / 2) / overlap)",
				`d = \left\lfloor \frac{1}{r} \left\lfloor \frac{n_{(1)} - n_{(2)} - 1}{2} \right\rfloor \right\rfloor`},
			Numbers: []Number{scalar("votes that can move", moves), scalar("overlap", overlap), scalar("distance", distance)},
		},
		{
			Name:    "Test",
			Words:   "As for every stable answer: discrete Laplace noise of scale 1/epsilon, and a threshold that noise alone hardly ever passes. " + stableVerdict(answer, winner),
			Formula: &Formula{"release if distance + noise > T", `d + Z > T`},
			Numbers: []Number{scalar("distance", distance), scalar("noise", noise), scalar("sum", distance+noise), scalar("threshold T", m.Threshold()),
				scalar("P[refused]", math.Exp(second(m.Law(distance))))},
		},
	}
	t.Released = Section{Words: "That there is no answer. Not the votes of the blocks, not the distance."}
	if answer.Released {
		t.Released.Words = fmt.Sprintf("Letter %d, exact. Not the votes of the blocks, not the distance.", winner)
	}
	if t.Cost, err = stableCost(r, m, 1); err != nil {
		return Trace{}, err
	}
	t.Cost.Words = "That of the test alone; the function costs nothing, however often it ran. Half as many blocks would be twice as good voters, and " +
		"half as many votes: the lead must be at least as large as below."
	t.Cost.Numbers = t.Cost.Numbers[1:]
	t.Mistakes, err = in.mistakes(r, m, overlap)
	return t, err
}

func (in subsampleInputs) mistakes(r run, m *stability.MStab, overlap int) ([]Mistake, error) {
	in3 := int64(max(3, overlap))
	far := m.Threshold() + 2*in3
	const records, epsilon = 60000, 1
	plan, err := stability.NewSampPlan(records, epsilon, min(r.delta, 0.25))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	return []Mistake{
		{
			If: fmt.Sprintf("a record were in %d blocks and counted as one vote", in3),
			Words: "It moves as many votes as it has blocks, so the distance counted in votes changes by that much between neighbours. Noise made for a change " +
				"of 1 then loses that many times epsilon.",
			Numbers: []Number{claim("epsilon claimed", in.epsilon), claim("loss of a refusal", second(m.Law(far-in3))-second(m.Law(far)))},
		},
		{
			If: "blocks were cut from the sorted file",
			Words: "Let the smallest record become the largest: every other moves up one place, every block gets another record, and all votes may change. The " +
				"same happens in a file in its own order when a record is removed, and where sizes are evened out afterwards.",
			Numbers: []Number{scalar("votes one record can move, dealt by lot", overlap), scalar("votes one record can move, cut after sorting", in.blocks)},
		},
		{
			If: "samples were drawn independently, as many as is printed",
			Words: fmt.Sprintf("Smith and Thakurta put each record in each of m samples with a small probability, and need m so large that no record is in too many. "+
				"Notes take m from Hoeffding's inequality, which does not know that the probability is small; Chernoff's does. Below for %d records at epsilon "+
				"%d. Blocks of the same size need no such argument.", records, epsilon),
			Numbers: []Number{scalar("samples, as printed", plan.Printed), scalar("samples, by Chernoff", plan.Models),
				scalar("samples, by the binomial law", plan.Scanned), scalar("disjoint blocks", plan.Blocks)},
		},
	}, nil
}
