package controls

import (
	"context"
	"fmt"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/rng"
)

// side makes the runs of a mechanism on one of two inputs.
type side[O comparable] func(key rng.Key, runs int) (audit.Run[O], error)

// runs returns a target that is run on two inputs.
func runs[O comparable](name, on string, n int, claim claimer, one, two side[O]) Target {
	return Target{Name: name, Method: ByRuns, On: on, Runs: n,
		audit: func(ctx context.Context, e effort) (audit.Finding, error) {
			c, err := claim(e.delta)
			if err != nil {
				return audit.Finding{}, err
			}
			first, err := one(e.key.Derive("one"), e.runs)
			if err != nil {
				return audit.Finding{}, err
			}
			second, err := two(e.key.Derive("two"), e.runs)
			if err != nil {
				return audit.Finding{}, err
			}
			return audit.BlackBox(ctx, first, second, audit.Config{Claim: c, Alpha: e.alpha, Runs: e.runs, Progress: e.progress})
		}}
}

// reservations hands out reservations for one event: a run needs one, as any run does. An audit has no
// budget of its own, since its inputs are made up.
type reservations struct {
	event accountant.Event
	size  int // how many are reserved at a time; their failures must fit one ledger
	ready []*ledger.Reservation
}

func (p *reservations) take() (*ledger.Reservation, error) {
	if len(p.ready) == 0 {
		l, err := ledger.New(ledger.Config{Unit: "record of an audit", Relation: accountant.ReplaceOne, Epsilon: 1e15, Delta: 0.9})
		if err != nil {
			return nil, err
		}
		if p.ready, err = l.ReserveBatch(slices.Repeat([]accountant.Event{p.event}, p.size)); err != nil {
			return nil, fmt.Errorf("controls: reserving: %w", err)
		}
	}
	r := p.ready[0]
	p.ready = p.ready[1:]
	return r, nil
}

// each makes a side of a mechanism that is charged anew for every run.
func each[O comparable](event accountant.Event, run func(r *ledger.Reservation, key rng.Key) (O, error)) side[O] {
	return func(key rng.Key, _ int) (audit.Run[O], error) {
		p := &reservations{event: event, size: 1000}
		if failure := must(pure(event)(0)).Delta; failure > 0 {
			p.size = max(1, int(min(1000, 0.5/failure)))
		}
		return func(i uint64) (none O, err error) {
			r, err := p.take()
			if err != nil {
				return none, err
			}
			return run(r, key.Derive("run", i))
		}, nil
	}
}
