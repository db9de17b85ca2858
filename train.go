package pate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// Trained describes a released model. All fields may be published.
type Trained struct {
	NoiseMultiplier float64 // noise chosen for the budget
	Event           accountant.Event
	Epsilon         float64 // cost of all charges to the ledger, at Delta, rounded up
	Delta           float64
	Releasable      bool
	Resumed         bool // an earlier call charged this run
	Complete        bool // an earlier call completed the run, and the model was loaded from the file
}

// TrainOptions configures [Train]. Budget and Out are required.
type TrainOptions struct {
	Budget
	Out string // path of the model
}

const leastLeft = 1e-3

type noise struct {
	Multiplier float64 `json:"noise_multiplier"`
}

// Train trains model in place with [dpsgd.Train] and saves model to TrainOptions.Out (see [nn.Model.Load]).
// Train chooses the least noise that fits the remaining budget, so cfg.NoiseMultiplier must be 0. Each
// privacy unit must have at most one record (see [dpsgd.Data.Records]). Train charges the ledger before the
// first step. It commits the hash of the file before the file appears. After an error the model is unchanged.
//
// Data, configuration and initial parameters identify a run. A second call with the same arguments resumes an
// interrupted run with the same noise. For a complete run, the call loads the file.
func Train(ctx context.Context, model *nn.Model, data dpsgd.Data, cfg dpsgd.Config, o TrainOptions) (trained Trained, err error) {
	file, err := o.file(o.Out)
	if err != nil {
		return trained, err
	}
	if cfg.NoiseMultiplier != 0 || len(cfg.Phases) > 0 || cfg.NonPrivate {
		return trained, errors.New("pate: Train chooses the noise: leave Config.NoiseMultiplier, Phases and NonPrivate empty, or call dpsgd.Train")
	}
	cfg.NoiseMultiplier = 1 // any positive value, to find other mistakes before a ledger is created
	if err := errors.Join(cfg.Validate(), model.Check(data)); err != nil {
		return trained, err
	}
	before := slices.Clone(model.Parameters())
	r := run.Run{
		File: file, Kind: "train", Units: run.Units{N: data.Records(), Noun: "records"}, Seed: o.Seed,
		Stages: []run.Stage{{Out: o.Out, Read: model.Load, Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
			if _, err := dpsgd.Train(ctx, model, data, cfg, r[0], key); err != nil {
				return err
			}
			return model.Save(out)
		}}},
	}
	inputs := dpsgd.Fingerprint(model, data, cfg)
	r.Plan = func(ctx context.Context, before *run.Before) (run.Plan, error) {
		var of noise
		same, err := before.Find(inputs, &of)
		if err == nil && same == nil {
			of.Multiplier, err = o.leastNoise(ctx, before, cfg)
		}
		cfg.NoiseMultiplier = of.Multiplier
		return run.Plan{Events: [][]accountant.Event{{cfg.Event()}}, Settings: of, Inputs: inputs, Same: same}, err
	}
	err = r.Do(ctx, func(s *run.Session, done []run.Done) (err error) {
		trained = Trained{
			NoiseMultiplier: cfg.NoiseMultiplier, Event: cfg.Event(), Epsilon: s.Account.Epsilon, Delta: s.Account.Delta,
			Releasable: s.Account.Releasable(), Resumed: done[0].Recorded, Complete: done[0].Complete,
		}
		if s.Account.Mode == ledger.Reserved {
			trained.Epsilon, err = s.Ledger.Epsilon()
		}
		return err
	})
	if err != nil {
		copy(model.Parameters(), before)
		return Trained{}, err
	}
	return trained, nil
}

func (o TrainOptions) leastNoise(ctx context.Context, before *run.Before, cfg dpsgd.Config) (float64, error) {
	least, err := before.LeastNoise(ctx, func(noise float64) (accountant.Event, error) {
		cfg.NoiseMultiplier = number.Up(noise, 6) // more noise may cost 1e-6 more
		return cfg.Event(), nil
	})
	left := before.Left().Epsilon
	switch {
	case errors.Is(err, ledger.ErrSealed):
		return 0, &fault.Error{What: o.Ledger + " allows no further charge", Why: "the ledger was made for a single run, which is complete",
			Fix: "choose another ledger; one with Budget.Shared can be charged again"}
	case errors.Is(err, accountant.ErrNoBracket), err == nil && left < leastLeft:
		return 0, &fault.Error{
			What: fmt.Sprintf("%s has too little left for a model: the largest release that fits has epsilon %.2g",
				o.Ledger, left), Why: "earlier runs have spent the budget; nothing more was charged",
			Fix: "choose another ledger and add up both budgets"}
	case err != nil:
		return 0, fmt.Errorf("pate: noise: %w", err)
	}
	return number.Up(least, 6), nil
}
