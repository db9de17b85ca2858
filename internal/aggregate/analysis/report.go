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
	Delta    float64   // delta of every epsilon, in (0, 1)
	Orders   []float64 // Rényi orders, each finite and above 1; nil means DefaultOrders
	Teachers int       // number of teachers; 0 means the largest number of votes on a query
	Answered []bool    // whether each query was answered by Confident-GNMax; nil if unknown
	// IntegerNoise selects integer noise for [Report.Exact], instead of the continuous noise of the papers.
	// The lowest class wins a tie, as in package aggregate. Integer noise is slower, and counts that are too
	// far apart are an error.
	IntegerNoise bool
}

// Report is the privacy cost of a mechanism on actual votes. All numbers are private. Each epsilon depends on
// the votes and guarantees no differential privacy (see the package comment).
type Report struct {
	Mechanism   Mechanism
	Delta       float64
	Queries     int
	All         Costs      // as if every query was answered
	Exact       Exact      // exact divergences instead of bounds
	Expected    *Expected  // Confident-GNMax only
	Realised    *Realised  // Confident-GNMax with Options.Answered only
	Sanitized   *Sanitized // nil if no smooth sensitivity is known
	Unsanitized error      // reason if Sanitized is nil
}

// Epsilon holds two conversions of a sum of Rényi divergences to an epsilon, each at its best order.
type Epsilon struct {
	Improved, Classic           Number
	ImprovedOrder, ClassicOrder float64 // as private as the numbers
}

// Costs holds epsilons by published Rényi bounds. Independent uses bounds that are valid on any votes.
// DataDependent uses bounds for the true data D. These bounds cover D_a(M(D)||M(D')) for neighbours D', but
// not the reverse.
type Costs struct {
	Independent, DataDependent Epsilon
	// Claim is the epsilon that a ledger in mode "reserved" proves for the same queries and answers. If there
	// is an answer, Claim is at most the epsilon in Independent. Claim is nil in Expected, and for noise that
	// package aggregate cannot draw.
	Claim *accountant.Claim
}

// Exact holds epsilons from sums of exact divergences over the queries. A query's divergence is the largest
// over the neighbours D' of the true data D. Forward uses D_a(M(D)||M(D')). Both uses the larger of the two
// directions.
type Exact struct{ Forward, Both Epsilon }

// Expected is the cost of the threshold tests plus the expected cost of the answers, as in papers on
// Confident-GNMax. Expected is NOT a bound. Answers beyond the expected number add cost, and one query can
// cost several times the expected cost. [Report].All is a bound.
type Expected struct {
	Answered Number // expected number of answers
	Costs
}

// Realised is the cost of the threshold tests and the released answers. A privacy filter with one fixed Rényi
// order charges the same epsilon as Independent. DataDependent is NOT a bound, because the votes determine
// which queries are charged.
type Realised struct {
	Answered int
	Costs
}

const maxTallies = 1 << 22

// group is a set of queries with equal counts. For continuous noise, the order of the counts is ignored.
type group struct {
	counts   []int
	tally    tally
	queries  int
	answered int // number of answered queries
}

// Analyze reads the votes once and returns their report. Equal queries are stored and analysed once. At
// most 2^22 different histograms are allowed.
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
			return nil, 0, fmt.Errorf("analysis: query %d has %d classes, but the others have %d", queries, len(counts), classes)
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
				return nil, 0, fmt.Errorf("analysis: Options.Answered covers %d queries, but there are more", len(o.Answered))
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
		return nil, 0, fmt.Errorf("analysis: Options.Answered covers %d queries, but there are %d", len(o.Answered), queries)
	}
	return groups, queries, nil
}

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
		return 0, fmt.Errorf("analysis: Options.Teachers is %d, but a query has more votes", given)
	}
	return max(most, given), nil
}

type pair struct{ worst, data spent }

func newPair(n int) pair { return pair{make(spent, n), make(spent, n)} }

type totals struct {
	all, expected, realised pair
	forward, both           spent
	expectedAnswers         float64
	answered                int
	weights                 []float64 // probability of an answer, by group
}

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

type spent []float64

func (s spent) add(other spent, times float64) {
	for i, cost := range other {
		s[i] += times * cost
	}
}

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

// DefaultOrders returns the orders of the published analysis of PATE, and three orders below 2.
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

const blockGroups = 256

// inOrder computes one result per group on all cores, and passes the results to the function take, in group
// order. A result must not depend on other groups.
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
