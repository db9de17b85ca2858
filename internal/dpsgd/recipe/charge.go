package recipe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

const relation = accountant.AddRemove

// ErrBudget reports that the statistics alone cost more than the epsilon of a plan.
var ErrBudget = errors.New("recipe: the budget is too small")

// ErrUncovered reports that a plan has too little noise for its shared ledger. Without accountant.ByRDP, the
// charge would not cover the difference between discrete and continuous noise.
var ErrUncovered = errors.New("recipe: at so little noise DP-SGD charges only ledgers of accountant rdp")

// ErrSpent reports that a shared ledger has no budget left for a training.
var ErrSpent = errors.New("recipe: the ledger has nothing left for a model")

type claim struct {
	delta float64
	draws int // number of noise values (see dpsgd.LatticeDelta)
}

const (
	latticeShare = 1e-3 // of delta, reserved for the difference between discrete and continuous noise
	coverShare   = 1e-4 // of the delta of a ledger, charged with each event for the same purpose
)

func (p Plan) claim(s Shape, delta float64) (claim, error) {
	columns, err := p.Recipe.Columns(s)
	if err != nil {
		return claim{}, err
	}
	m, err := p.Recipe.newModel(s, columns, rng.SeedKey(0))
	if err != nil {
		return claim{}, err
	}
	draws := p.train(1).GaussianDraws(len(m.Parameters()))
	if _, ok := p.Recipe.learned(s); ok {
		draws += columns + features.Channels*(features.Channels+1)/2
	}
	return claim{delta, draws}, nil
}

func (c Config) charges(p Plan, noise float64) []accountant.Event {
	events := p.events(noise)
	if c.Shared != nil && c.Shared.Account.Method() != accountant.ByRDP {
		for i, e := range events {
			events[i] = accountant.WithFailure{Event: e, Delta: coverShare * c.Shared.Account.Delta}
		}
	}
	return events
}

func (r *runner) together(rows []Row) (together claim, all accountant.Composed, err error) {
	together.delta = r.Delta
	for i, row := range rows {
		if row.Account == nil {
			continue
		}
		one, err := r.Plans[i].claim(r.shape, r.Delta)
		if err != nil {
			return claim{}, all, err
		}
		together.draws += one.draws * r.Seeds
		all.Events = append(all.Events, accountant.Repeated{Event: whole(row.Account.Events), Count: int64(r.Seeds)})
	}
	return together, all, nil
}

// continuous reports whether epsilon may be computed as for continuous noise, although the noise is discrete.
func (c claim) continuous(epsilon float64) bool {
	return dpsgd.LatticeDelta(c.draws, epsilon) <= latticeShare*c.delta
}

func (c claim) calibrate(ctx context.Context, p Plan) (float64, error) {
	account, delta := accountant.PLDConfig{Relation: relation}.NewAccount, c.delta*(1-latticeShare)
	if !c.continuous(p.Epsilon) {
		account, delta = accountant.RDPConfig{Relation: relation}.NewAccount, c.delta
	}
	target := accountant.Target{Epsilon: p.Epsilon, Delta: delta}
	noise, _, err := accountant.CalibrateNoise(ctx, account, target, func(noise float64) (accountant.Event, error) {
		return p.Event(noise), nil
	})
	switch {
	case errors.Is(err, accountant.ErrNoBracket):
		return 0, fmt.Errorf("%w: %w", ErrBudget, err)
	case err != nil:
		return 0, fmt.Errorf("recipe: noise: %w", err)
	}
	return noise, nil
}

func (c claim) epsilonOf(ctx context.Context, e accountant.Event) (accountant.Bound, error) {
	var b accountant.Bound
	account, err := accountant.NewPLD(accountant.PLDConfig{Relation: relation})
	if err == nil {
		err = account.Compose(e, 1)
	}
	if err == nil {
		b, err = account.Epsilon(ctx, c.delta*(1-latticeShare))
	}
	if err != nil || c.continuous(b.Upper) {
		return b, wrapped(err)
	}
	bound, err := accountant.Epsilon(ctx, accountant.ByRDP, relation, c.delta, e) // valid for discrete noise
	return bound.Bound, wrapped(err)
}

func ledgerBudget(events []accountant.Event, delta float64) (float64, error) {
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, relation, delta, events...)
	if err != nil {
		return 0, wrapped(err)
	}
	const room = 1e-6
	budget := math.Max(b.Upper*(1+room), room)
	if math.IsInf(budget, 1) {
		return 0, errors.New("recipe: the noise is so small that no finite epsilon holds")
	}
	return budget, nil
}

// Shared is a ledger that other runs may also charge.
type Shared struct {
	File    run.File
	Account ledger.Config // of the existing or new file; relation add_remove
}

const kind = "dpsgd"

type settings struct {
	Plan        Plan    `json:"plan"`
	Seed        int     `json:"seed,omitzero"` // index of the run within its plan
	RowsPerUnit int     `json:"rows_per_unit"`
	Records     int     `json:"records,omitzero"` // declared number
	Noise       float64 `json:"noise_multiplier,omitzero"`
}

func (j *job) settings() settings {
	return settings{Plan: j.plan, Seed: j.seed, RowsPerUnit: j.RowsPerUnit, Records: j.Records}
}

// Recorded returns a recorded run that the new run would repeat, and the recorded settings s. The data must
// have the given hash. The settings s must equal asked(s): the new run's settings, with noise or price from
// s. Without a match, the returned run is nil.
func Recorded[S any](before *run.Before, hash []byte, asked func(is S) S) (*run.Recorded, S, error) {
	for i := range before.Recorded {
		r := &before.Recorded[i]
		var is S
		same, err := r.Of(hash)
		if err != nil {
			return nil, is, err
		}
		if !same || len(r.Differs) > 0 || r.Read(&is) != nil {
			continue // other data or noise: charged in addition to this run
		}
		if text, err := json.Marshal(asked(is)); err != nil || bytes.Equal(text, r.Settings) {
			return r, is, err
		}
	}
	return nil, *new(S), nil
}

func (j *job) withNoise(noise float64) settings {
	s := j.settings()
	s.Noise = noise
	return s
}

func (j *job) ownFile(noise float64) (run.File, error) {
	budget, err := ledgerBudget(j.plan.events(noise), j.Delta)
	if err != nil {
		return run.File{}, err
	}
	return run.File{
		Path: results.Folder(j.Dir).Private("ledger", j.Prefix+j.name()+".jsonl"),
		New:  ledger.Config{Unit: j.Unit, Relation: relation, Epsilon: budget, Delta: j.Delta, Run: j.id, Waived: j.Task.Waived()},
	}, nil
}

// TryLedger returns nil if a new run fits in the shared ledger. Otherwise TryLedger returns the error
// that Run would return. TryLedger writes nothing. The ledger file need not exist.
func (c Config) TryLedger(ctx context.Context) error {
	try := run.Run{
		File: c.Shared.File, Kind: kind, Stages: make([]run.Stage, 1),
		Plan: func(ctx context.Context, before *run.Before) (run.Plan, error) {
			noise, err := c.chooseNoise(ctx, before.Ledger, c.Plans[0])
			return run.Plan{Events: [][]accountant.Event{c.charges(c.Plans[0], noise)}}, err
		},
	}
	if c.Shared.Account.Noise == ledger.SeededNoise {
		try.Key = rng.SeedKey(0)
	}
	return wrapped(try.Try(ctx))
}

func wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("recipe: %w", err)
}

// leastLeft is the smallest remaining epsilon for which a run starts.
const leastLeft = 1e-3

func (c Config) chooseNoise(ctx context.Context, shared *ledger.Ledger, p Plan) (float64, error) {
	to, err := p.claim(c.Shape(), c.Delta)
	noise := p.NoiseMultiplier
	switch {
	case err != nil:
	case noise != 0:
	case p.Epsilon != 0:
		noise, err = to.calibrate(ctx, p)
	default:
		noise, err = c.leastNoise(ctx, shared, p)
	}
	if err != nil {
		return 0, err
	}
	for _, e := range c.charges(p, noise) {
		if e, ok := e.(accountant.WithFailure); ok && !dpsgd.LatticeCovered(e.Event, e.Delta, to.draws) {
			return 0, ErrUncovered
		}
	}
	return noise, nil
}

func (c Config) leastNoise(ctx context.Context, shared *ledger.Ledger, p Plan) (float64, error) {
	noise, err := shared.LeastNoise(ctx, func(noise float64) (accountant.Event, error) { return whole(c.charges(p, noise)), nil })
	left := shared.Left().Epsilon
	switch {
	case errors.Is(err, accountant.ErrNoBracket), err == nil && left < leastLeft:
		return 0, fmt.Errorf("%w: a release of epsilon %.2g would still fit", ErrSpent, left)
	case err != nil:
		return 0, fmt.Errorf("recipe: noise: %w", err)
	}
	return noise * (1 + 1e-9), nil // several charges round differently from their sum
}
