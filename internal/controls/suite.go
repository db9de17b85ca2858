package controls

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/rng"
)

type Method string

const (
	ByRuns     Method = "runs"     // by audit.BlackBox
	ByLaw      Method = "law"      // by audit.Exact
	ByCanaries Method = "canaries" // by audit.OneRun
)

// Target is a claim to audit. If several methods audit one mechanism, their targets have the same Name.
type Target struct {
	Name    string
	Method  Method
	On      string // neighbouring inputs, or the data
	Mistake string // deliberate mistake; "" as shipped
	Source  string // of a published mistake
	Year    int
	Runs    int // default number of runs on each input; 0 if fixed

	audit func(ctx context.Context, e effort) (audit.Finding, error)
}

func (t Target) mistaken(how string) Target {
	t.Mistake = how
	return t
}

type effort struct {
	key      rng.Key
	alpha    float64
	delta    float64 // for claims with a privacy profile
	runs     int
	progress func(done int)
}

// Default returns audits of the correct versions of all mechanisms.
func Default() []Target {
	return slices.Concat(mechanismTargets(), stableTargets(), sparseTargets(), numberTargets(), siloTargets(),
		quotaTargets(), tokenTargets(), sgdTargets())
}

// Broken returns audits of mechanisms with deliberate mistakes.
func Broken() []Target {
	return slices.Concat(brokenSparse(), brokenVotes(), brokenSGD(), brokenAccounts(), brokenTrees(),
		brokenTexts(), brokenSilos(), brokenQuota(), brokenTokens())
}

// Names returns the distinct names of targets in order.
func Names(targets []Target) []string {
	var names []string
	for _, t := range targets {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// Find returns the targets with the given names, in the order of targets. An unknown name is an error.
func Find(targets []Target, names ...string) ([]Target, error) {
	var found []Target
	for _, t := range targets {
		if slices.Contains(names, t.Name) {
			found = append(found, t)
		}
	}
	for _, name := range names {
		if !slices.Contains(Names(found), name) {
			return nil, fmt.Errorf("controls: no target %q: one of %s", name, strings.Join(Names(targets), ", "))
		}
	}
	return found, nil
}

type claimer func(delta float64) (audit.Claim, error)

func stated(epsilon, delta float64) claimer {
	return func(float64) (audit.Claim, error) { return audit.Claim{Epsilon: epsilon, Delta: delta}, nil }
}

func pure(event accountant.Event) claimer {
	return func(float64) (audit.Claim, error) {
		loss, failure, err := accountant.Divergence(accountant.ReplaceOne, math.Inf(1), event)
		return audit.Claim{Epsilon: loss, Delta: failure}, err
	}
}

func profile(event accountant.Event, relation accountant.Relation) claimer {
	return func(delta float64) (audit.Claim, error) {
		best := math.Inf(1)
		for _, account := range []accountant.Accountant{
			must(accountant.NewRDP(accountant.RDPConfig{Relation: relation})), must(accountant.NewPLD(accountant.PLDConfig{Relation: relation})),
		} {
			if err := account.Compose(event, 1); errors.Is(err, accountant.ErrUnsupportedEvent) {
				continue
			} else if err != nil {
				return audit.Claim{}, err
			}
			bound, err := account.Epsilon(context.Background(), delta)
			if err != nil {
				return audit.Claim{}, err
			}
			best = min(best, bound.Upper)
		}
		return audit.Claim{Epsilon: best, Delta: delta}, nil
	}
}

func pureOrProfile(event accountant.Event, isPure bool) claimer {
	if isPure {
		return pure(event)
	}
	return profile(event, accountant.ReplaceOne)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const lawAccuracy = 1e-9

type laws = iter.Seq2[[]float64, []float64]

func byLaw(name, on string, claim claimer, pairs laws) Target {
	return Target{Name: name, Method: ByLaw, On: on, audit: func(_ context.Context, e effort) (audit.Finding, error) {
		c, err := claim(e.delta)
		if err != nil {
			return audit.Finding{}, err
		}
		return audit.Exact(c, lawAccuracy, pairs)
	}}
}

func onePair(p, q []float64) laws {
	return func(yield func(p, q []float64) bool) { yield(p, q) }
}

func overVotes(teachers, classes int, law func(counts []int) []float64) laws {
	return func(yield func(p, q []float64) bool) {
		known := map[string][]float64{}
		var all [][]int
		for votes := range teachers + 1 {
			all = append(all, histograms(votes, classes)...)
		}
		for _, counts := range all {
			known[fmt.Sprint(counts)] = law(counts)
		}
		for _, counts := range all {
			for from := range classes + 1 { // the last value is an abstention
				for to := range from { // audit.Exact compares a pair in both directions
					other := slices.Clone(counts)
					if from < classes {
						other[from]--
					}
					if to < classes {
						other[to]++
					}
					if q, ok := known[fmt.Sprint(other)]; ok && !yield(known[fmt.Sprint(counts)], q) {
						return
					}
				}
			}
		}
	}
}

func histograms(votes, classes int) [][]int {
	if classes == 1 {
		return [][]int{{votes}}
	}
	var out [][]int
	for n := range votes + 1 {
		for _, rest := range histograms(votes-n, classes-1) {
			out = append(out, append([]int{n}, rest...))
		}
	}
	return out
}

type side[O comparable] func(key rng.Key, runs int) audit.Run[O]

func runs[O comparable](name, on string, n int, claim claimer, one, two side[O]) Target {
	return Target{Name: name, Method: ByRuns, On: on, Runs: n,
		audit: func(ctx context.Context, e effort) (audit.Finding, error) {
			c, err := claim(e.delta)
			if err != nil {
				return audit.Finding{}, err
			}
			first, second := one(e.key.Derive("one"), e.runs), two(e.key.Derive("two"), e.runs)
			return audit.BlackBox(ctx, first, second, audit.Config{Claim: c, Alpha: e.alpha, Runs: e.runs, Progress: e.progress})
		}}
}

type reservations struct {
	relation accountant.Relation
	event    accountant.Event
	size     int // number per ledger; the sum of their failure probabilities must fit one ledger
	ready    []*ledger.Reservation
}

func (p *reservations) take() *ledger.Reservation {
	if len(p.ready) == 0 {
		l := must(ledger.New(ledger.Config{Unit: "record of an audit", Relation: p.relation, Epsilon: 1e15, Delta: 0.9}))
		p.ready = must(l.ReserveBatch(slices.Repeat([]accountant.Event{p.event}, p.size)))
	}
	r := p.ready[0]
	p.ready = p.ready[1:]
	return r
}

func each[O comparable](relation accountant.Relation, event accountant.Event, run func(r *ledger.Reservation, key rng.Key) (O, error)) side[O] {
	return func(key rng.Key, _ int) audit.Run[O] {
		p := &reservations{relation: relation, event: event, size: 1000}
		if failure := must(pure(event)(0)).Delta; failure > 0 {
			p.size = max(1, int(min(1000, 0.5/failure)))
		}
		return func(i uint64) (O, error) { return run(p.take(), key.Derive("run", i)) }
	}
}
