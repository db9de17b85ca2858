package recipe

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/run"
)

// Shared is a ledger that other runs charge too.
type Shared struct {
	File    run.File
	Account ledger.Config // what it was made with, or is to be; relation add_remove
}

// runID names a run in a ledger and in its files. It is a pseudorandom function of
// the data and of all that the outcome depends on under the run's secret key, and says
// nothing about them.
func (j *job) runID() (string, error) {
	id, err := j.Key.DeriveBytes("recipe data", j.hash[:]).DeriveBytes("recipe plan", []byte(j.bound())).MarshalText()
	if err != nil {
		return "", fmt.Errorf("recipe: %w", err)
	}
	return hex.EncodeToString(id[len(id)-16:]), nil
}

// bound returns all that the outcome depends on, as text. Runs of earlier versions are named
// by such a text without the distances, and the ends and the packing of public records, which
// change nothing about a training, and without Poisson sampling.
func (j *job) bound() string {
	p, none := j.plan, dpsgd.Distances{}
	p.Recipe.Train.Distances = none
	text := strings.NewReplacer(fmt.Sprintf(" Distances:%+v", none), "", fmt.Sprintf(" Sampling:%+v", dpsgd.Sampling{}), "", " Ends:[]}", "}", " Packed:<nil>", "").Replace(fmt.Sprintf("%+v %d", p, j.seed))
	if j.RowsPerUnit > 1 {
		text += fmt.Sprintf(" rows per unit %d", j.RowsPerUnit)
	}
	if j.Records > 0 {
		text += fmt.Sprintf(" records %d", j.Records)
	}
	return text
}

// ownFile returns the ledger of one run by itself, and how it is made.
func (c Config) ownFile(name, id string, events []accountant.Event) (run.File, error) {
	budget, err := ledgerBudget(events, c.Delta)
	if err != nil {
		return run.File{}, err
	}
	noise := ledger.SeededNoise
	if c.Key.Releasable() {
		noise = ledger.SecretNoise
	}
	return run.File{
		Path: results.Folder(c.Dir).Private("ledger", name+".jsonl"),
		New:  ledger.Config{Unit: c.Unit, Relation: relation, Epsilon: budget, Delta: c.Delta, Run: id, Noise: noise, Waived: c.Task.Waived()},
	}, nil
}

// TryLedger checks, before anything is written, that the plan of a new run fits the
// shared ledger, which may not be there yet: the error is the one Run would return.
func (c Config) TryLedger(ctx context.Context, fresh bool) error {
	var l *ledger.Ledger
	if fresh {
		trial, err := run.Trial(c.Shared.Account)
		if err != nil {
			return err
		}
		l = trial
	} else {
		book, err := c.Shared.File.Open(ctx, c.Shared.Account)
		if err != nil {
			return err
		}
		defer book.Close()
		l = book.Ledger
	}
	if method := l.Config().Accountant; method != "" && method != accountant.ByRDP {
		return fmt.Errorf("recipe: %w: its accountant is %s, and DP-SGD charges ledgers of accountant rdp", ledger.ErrUnfit, method)
	}
	noise, err := c.chooseNoise(ctx, l, c.Plans[0])
	if err != nil {
		return err
	}
	if err := l.Try(whole(c.Plans[0].events(noise))); err != nil {
		return fmt.Errorf("recipe: %w", err)
	}
	return nil
}

// leastLeft is the epsilon below which what is left of a ledger is no budget: a model
// would be all noise.
const leastLeft = 1e-3

// chooseNoise returns the noise of a plan: given, chosen for its epsilon, or chosen for what is
// left of a shared ledger.
func (c Config) chooseNoise(ctx context.Context, shared *ledger.Ledger, p Plan) (float64, error) {
	switch {
	case p.NoiseMultiplier != 0:
		return p.NoiseMultiplier, nil
	case p.Epsilon != 0:
		to, err := p.claim(c.Shape(), c.Delta)
		if err != nil {
			return 0, err
		}
		return to.calibrate(ctx, p)
	}
	noise, err := shared.LeastNoise(ctx, func(noise float64) (accountant.Event, error) { return whole(p.events(noise)), nil })
	left := shared.Left().Epsilon
	switch {
	case errors.Is(err, accountant.ErrNoBracket), err == nil && left < leastLeft:
		return 0, fmt.Errorf("%w: a release of epsilon %.2g would still fit", ErrSpent, left)
	case err != nil:
		return 0, fmt.Errorf("recipe: noise: %w", err)
	}
	return noise * (1 + 1e-9), nil // several charges round otherwise than their sum
}
