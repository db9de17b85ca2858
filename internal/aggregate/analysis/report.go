package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/parallel"
)

// Options configures [Analyze].
type Options struct {
	Delta    float64   // of every epsilon, in (0, 1)
	Orders   []float64 // Rényi orders to choose from, each above 1 and finite; nil means DefaultOrders
	Teachers int       // number of teachers; 0 means the most votes on any query
	Answered []bool    // by query, what a Confident-GNMax run answered; nil if it was not run
	// IntegerNoise computes the exact divergences for integer noise with ties to the lowest class, as package
	// aggregate answers. Otherwise noise is continuous, as in the papers and everywhere else in this package.
	// Integer noise takes longer, and counts that are too far apart for the noise are refused.
	IntegerNoise bool
}

// Report is the cost of a mechanism on the votes that it answered. All numbers are private, no epsilon
// is a claim, and none is an (epsilon, delta) guarantee for anybody who was not among the votes: see the
// package's Guarantee.
type Report struct {
	Mechanism   Mechanism
	Delta       float64
	Queries     int
	All         Costs      // every query charged as if it was answered
	Exact       Exact      // the divergences themselves instead of bounds of them
	Expected    *Expected  // Confident-GNMax only
	Realised    *Realised  // Confident-GNMax only, if Options.Answered was given
	Sanitized   *Sanitized // nil if no smooth sensitivity is known; see Unsanitized
	Unsanitized error      // why nothing is sanitised
}

// Epsilon is a sum of divergences, converted at the best order of each conversion.
type Epsilon struct {
	Improved, Classic           Number
	ImprovedOrder, ClassicOrder float64 // as private as the numbers
}

// Costs are epsilons that ignore the votes and that use them, both as published, by Rényi divergences.
// DataDependent is one-sided: it bounds D_a(M(D)||M(D')) for the true data D only. Independent holds on any
// votes.
type Costs struct {
	Independent, DataDependent Epsilon
	// Claim is the claim of a ledger of mode reserved for the same queries and answers, on any votes. It is
	// at most Independent, since privacy loss distributions may claim, and less for LNMax, whose published
	// cost is loose. It depends on the votes only by the number of answers. Nil in Expected, which is not a
	// run, and for noise that package aggregate does not draw.
	Claim *accountant.Claim
}

// Exact holds the exact divergences on these votes, summed over the queries, each against its worst
// neighbour. Forward is the direction of the published bounds; Both is the larger of the two directions.
type Exact struct{ Forward, Both Epsilon }

// Expected is the cost of the threshold tests plus the cost of each answer times its probability. It is what
// papers report for Confident-GNMax, and it is NOT a bound: a run that answers more than expected costs more,
// and the divergence of a single query can be several times the expected cost. [Report].All is a bound.
type Expected struct {
	Answered Number // expected number of answers
	Costs
}

// Realised is the cost of the threshold tests plus the cost of the answers that were given. Its Independent
// part is the charge of a filter with one order fixed in advance, or of caps charged up front. Its
// DataDependent part is NOT a bound, because the votes determine which queries are charged.
type Realised struct {
	Answered int
	Costs
}

// maxTallies bounds memory, by the number of different histograms.
const maxTallies = 1 << 22

// group is a set of equal queries; with continuous noise they are equal up to the names of classes.
type group struct {
	counts   []int
	tally    tally
	queries  int
	answered int // of them
}

// Analyze computes the report on votes. It reads votes once, keeps each distinct sorted histogram once (at
// most 2^22), and analyses it once.
func Analyze(ctx context.Context, m Mechanism, votes iter.Seq2[aggregate.Histogram, error], o Options) (*Report, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	if !(o.Delta > 0 && o.Delta < 1) {
		return nil, fmt.Errorf("analysis: Options.Delta must be in (0, 1), not %v", o.Delta)
	}
	orders := o.Orders
	if len(orders) == 0 {
		orders = DefaultOrders()
	}
	for _, a := range orders {
		if !(a > 1) || math.IsInf(a, 1) {
			return nil, fmt.Errorf("analysis: Options.Orders: %v is not a finite number above 1", a)
		}
	}
	groups, queries, err := collect(ctx, votes, o)
	if err != nil {
		return nil, err
	}
	teachers, err := countTeachers(groups, o.Teachers)
	if err != nil {
		return nil, err
	}
	sums, err := newTotals(ctx, m, groups, orders, o.IntegerNoise)
	if err != nil {
		return nil, err
	}
	r := &Report{Mechanism: m, Delta: o.Delta, Queries: queries}
	convert := func(s spent) Epsilon {
		var e Epsilon
		for _, c := range []struct {
			rule  accountant.Conversion
			value *Number
			order *float64
		}{{accountant.Improved, &e.Improved, &e.ImprovedOrder}, {accountant.Classic, &e.Classic, &e.ClassicOrder}} {
			epsilon, order, failed := s.convert(orders, o.Delta, c.rule)
			err = errors.Join(err, failed)
			*c.value, *c.order = Number{epsilon}, order
		}
		return e
	}
	costs := func(c pair) Costs { return Costs{Independent: convert(c.worst), DataDependent: convert(c.data)} }
	capped := func(c pair, answers int) Costs {
		out := costs(c)
		claimed, failed := m.claim(ctx, queries, answers, o.Delta)
		err = errors.Join(err, failed)
		out.Claim = claimed
		return out
	}
	r.All = capped(sums.all, queries)
	r.Exact = Exact{convert(sums.forward), convert(sums.both)}
	if m.Tested {
		r.Expected = &Expected{Number{sums.expectedAnswers}, costs(sums.expected)}
		if o.Answered != nil {
			r.Realised = &Realised{sums.answered, capped(sums.realised, sums.answered)}
		}
	}
	if err != nil {
		return nil, err
	}
	r.Sanitized, r.Unsanitized = sanitize(ctx, r, groups, sums.weights, teachers)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// collect reads all votes and groups equal ones, in a fixed order.
func collect(ctx context.Context, votes iter.Seq2[aggregate.Histogram, error], o Options) ([]group, int, error) {
	index := map[string]int{}
	var groups []group
	queries, classes := 0, 0
	for h, err := range votes {
		if err != nil {
			return nil, 0, err
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		counts := h.Reveal()
		if len(counts) < 2 || (classes != 0 && len(counts) != classes) {
			return nil, 0, fmt.Errorf("analysis: query %d has %d classes, the others %d", queries, len(counts), classes)
		}
		classes = len(counts)
		t := newTally(counts)
		if !o.IntegerNoise {
			counts = t
		}
		key := tally(counts).key()
		at, ok := index[key]
		if !ok {
			if at = len(groups); at == maxTallies {
				return nil, 0, fmt.Errorf("analysis: more than %d different histograms: analyse fewer queries at a time", maxTallies)
			}
			index[key] = at
			groups = append(groups, group{counts: counts, tally: t})
		}
		groups[at].queries++
		if o.Answered != nil {
			if queries >= len(o.Answered) {
				return nil, 0, fmt.Errorf("analysis: Options.Answered covers %d queries, there are more", len(o.Answered))
			}
			if o.Answered[queries] {
				groups[at].answered++
			}
		}
		queries++
	}
	if queries == 0 {
		return nil, 0, errors.New("analysis: no queries")
	}
	if o.Answered != nil && queries != len(o.Answered) {
		return nil, 0, fmt.Errorf("analysis: Options.Answered covers %d queries, there are %d", len(o.Answered), queries)
	}
	return groups, queries, nil
}

// countTeachers returns the given number or, if that is 0, the most votes on any query.
func countTeachers(groups []group, given int) (int, error) {
	most := 0
	for _, g := range groups {
		votes := 0
		for _, n := range g.tally {
			votes += n
		}
		most = max(most, votes)
	}
	if given != 0 && given < most {
		return 0, fmt.Errorf("analysis: Options.Teachers is %d, and a query has more votes", given)
	}
	return max(most, given), nil
}

// pair holds sums of costs that ignore the votes and that use them.
type pair struct{ worst, data spent }

func newPair(n int) pair { return pair{make(spent, n), make(spent, n)} }

// totals are the sums over queries that a report converts.
type totals struct {
	all, expected, realised pair
	forward, both           spent
	expectedAnswers         float64
	answered                int
	weights                 []float64 // by group, the probability of an answer
}

// groupCosts are the costs of a query of one group.
type groupCosts struct {
	bounds query
	exact  divergences
}

func newTotals(ctx context.Context, m Mechanism, groups []group, orders []float64, integer bool) (totals, error) {
	n := len(orders)
	s := totals{newPair(n), newPair(n), newPair(n), make(spent, n), make(spent, n), 0, 0, nil}
	worker := func() (func(int, group) (groupCosts, error), error) {
		e, err := m.laws(integer)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			e.cover(g.tally)
		}
		return func(_ int, g group) (groupCosts, error) {
			exact, err := m.exact(e, g.counts, orders)
			return groupCosts{m.bounds(g.tally, orders), exact}, err
		}, nil
	}
	err := inOrder(ctx, groups, worker, func(i int, c groupCosts) {
		g, q := groups[i], c.bounds
		asked := float64(g.queries)
		for _, sum := range []struct {
			pair
			answers float64
		}{{s.all, asked}, {s.expected, asked * q.answer}, {s.realised, float64(g.answered)}} {
			sum.worst.add(q.testWorst, asked)
			sum.data.add(q.test, asked)
			sum.worst.add(q.argmaxWorst, sum.answers)
			sum.data.add(q.argmax, sum.answers)
		}
		s.forward.add(c.exact.forward, asked)
		s.both.add(c.exact.both(), asked)
		s.expectedAnswers += asked * q.answer
		s.answered += g.answered
		s.weights = append(s.weights, q.answer)
	})
	return s, err
}

// spent is a divergence at each order, summed over queries.
type spent []float64

// add adds the other costs times a factor; a nil other is zero.
func (s spent) add(other spent, times float64) {
	for i, cost := range other {
		s[i] += times * cost
	}
}

// convert returns the epsilon of s at the best of the orders.
func (s spent) convert(orders []float64, delta float64, rule accountant.Conversion) (epsilon, order float64, err error) {
	epsilon, order = math.Inf(1), orders[0]
	for i, a := range orders {
		at, err := rule.Epsilon(a, math.Max(0, s[i]), delta)
		if err != nil {
			return 0, 0, fmt.Errorf("analysis: %w", err)
		}
		if at < epsilon {
			epsilon, order = at, a
		}
	}
	return epsilon, order, nil
}

// DefaultOrders returns a fresh copy of the orders of the published analysis of PATE, 2 to 100.5 in steps of
// 0.5 and 99 more, geometrically up to 500, and three orders below 2.
func DefaultOrders() []float64 {
	orders := []float64{1.25, 1.5, 1.75}
	for a := 2.0; a <= 100.5; a += 0.5 {
		orders = append(orders, a)
	}
	for i := 1; i < 100; i++ {
		orders = append(orders, 100*math.Pow(5, float64(i)/99))
	}
	return orders
}

// blockGroups is the number of groups processed between two sums. It bounds memory, and the time until the
// end of a context is noticed.
const blockGroups = 256

// inOrder computes a result for every group, on all cores, and passes it to take, in the order of the groups.
// So a sum that take forms has the same bits on any number of cores. worker is called once for each core, and
// one goroutine uses its result; results must not depend on earlier groups. The error is the first, in the
// order of groups.
func inOrder[T any](ctx context.Context, groups []group, worker func() (func(i int, g group) (T, error), error), take func(i int, of T)) error {
	compute := make([]func(int, group) (T, error), min(runtime.GOMAXPROCS(0), len(groups)))
	for w := range compute {
		var err error
		if compute[w], err = worker(); err != nil {
			return err
		}
	}
	results, failures := make([]T, blockGroups), make([]error, blockGroups)
	for from := 0; from < len(groups); from += blockGroups {
		block := groups[from:min(from+blockGroups, len(groups))]
		parallel.Each(len(compute), len(block), func(w, i int) {
			if ctx.Err() == nil {
				results[i], failures[i] = compute[w](from+i, block[i])
			}
		})
		if err := cmp.Or(failures...); ctx.Err() != nil || err != nil {
			return errors.Join(ctx.Err(), err)
		}
		for i := range block {
			take(from+i, results[i])
		}
	}
	return nil
}
