package experiments

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

type release struct {
	key  rng.Key
	draw func(r *ledger.Reservation, key rng.Key, out io.Writer) error
}

type paid struct {
	*run.Session
	labels release // set before they are released
}

// open opens the ledger of one method and seed. The first call of Next charges the labels and the pool counts
// in `counts` together.
func (c point) open(ctx context.Context, method string, seed int, bound []byte, e accountant.Event, counts []run.Stage) (*paid, error) {
	// The argument bound holds all inputs of the labels except the data. The name of the run is a
	// pseudorandom function of the data and of bound under the secret key. So a repeated run is not charged
	// again and releases the same labels, and a run with other inputs is refused.
	data := c.Hash()
	id, err := c.Key.DeriveBytes("ledger", data[:]).DeriveBytes("bound", bound).MarshalText()
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	var plan run.Plan
	var stages []run.Stage
	add := func(events []accountant.Event, stage run.Stage) {
		name := stage.Name + "-" + c.file(method, seed) + ".csv"
		if !c.Key.Releasable() { // the name marks it
			name = "seeded-" + name
		}
		path, mode, wrong := results.Folder(c.Dir).Place(c.releasable(), name)
		err = cmp.Or(err, wrong)
		stage.Out, stage.Mode, stage.Redraw = path, mode, true
		plan.Events, stages = append(plan.Events, events), append(stages, stage)
	}
	p := &paid{}
	for i, stage := range counts {
		add(c.pool.Events()[i], stage)
	}
	add([]accountant.Event{e}, run.Stage{
		Name: "labels",
		Key:  func(rng.Key) rng.Key { return p.labels.key },
		Draw: func(of []*ledger.Reservation, key rng.Key, out io.Writer) error {
			return p.labels.draw(of[0], key, out)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	p.Session, err = run.Run{
		File: run.File{
			Path: results.Folder(c.Dir).Private("ledger", c.file(method, seed)+".jsonl"),
			New: ledger.Config{
				Unit: c.Unit, Relation: relation, Epsilon: c.epsilon, Delta: c.Delta, Waived: c.Task.Waived(),
				Run: hex.EncodeToString(id[len(id)-16:]), Accountant: accountant.ByAuto,
			},
		},
		Key: c.Key, Stages: stages,
		Plan: func(context.Context, *run.Before) (run.Plan, error) { return plan, nil },
	}.Open(ctx)
	return p, wrapped(err)
}

// leave first charges a method, unless it is already charged, and then releases the labels of the method.
func (c point) leave(ctx context.Context, method string, seed int, bound []byte, e accountant.Event, labels release) (err error) {
	p := c.drawn.take(method)
	if p == nil {
		if p, err = c.open(ctx, method, seed, bound, e, nil); err != nil {
			return err
		}
	}
	p.labels = labels
	defer p.Close()
	if _, err := p.Next(ctx); err != nil {
		return fmt.Errorf("experiments: %s: %w", method, err)
	}
	return nil
}

func (c point) file(method string, seed int) string {
	return fmt.Sprintf("%s-%d", FileName(method, c.epsilon, len(c.Epsilons) > 1), seed)
}

func (c Config) releasable() bool { return c.Key.Releasable() && c.Task.Withheld() == "" }

// FileName returns a method's part of file names. If `several` is true, the part includes epsilon.
func FileName(method string, epsilon float64, several bool) string {
	name := strings.ReplaceAll(method, "/", "-")
	if several {
		name += "-epsilon-" + number.Exact(epsilon)
	}
	return name
}

func (c Config) subfolder(seed int) (string, error) {
	path := results.Folder(c.Dir).Private(fmt.Sprintf("run-%d", seed) + c.drawn.suffix())
	if err := durable.PrivateFolder(path); err != nil {
		return "", fmt.Errorf("run: %w", err)
	}
	return path, nil
}

const relation = accountant.AddRemove

// claimOf returns the cost of an event at delta by the tightest accountant. The caller must reserve the event
// before the first draw.
func claimOf(ctx context.Context, e accountant.Event, delta float64) (accountant.Claim, error) {
	claim, err := accountant.Epsilon(ctx, accountant.ByAuto, relation, delta, e)
	return claim, wrapped(err)
}

func wrapped(err error) error {
	if err != nil {
		return fmt.Errorf("experiments: %w", err)
	}
	return nil
}

func epsilonOf(e accountant.Event, delta float64) (accountant.Bound, error) {
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, relation, delta, e)
	return b.Bound, wrapped(err)
}

func calibrate(ctx context.Context, c point, event func(noise float64) (accountant.Event, error)) (float64, error) {
	target := accountant.Target{Epsilon: c.epsilon, Delta: c.Delta}
	account := accountant.AutoConfig{Relation: relation}.NewAccount
	noise, _, err := accountant.CalibrateNoise(ctx, account, target, func(noise float64) (accountant.Event, error) {
		e, err := event(noise)
		return c.withPool(e), err
	})
	return noise, err
}

func (c point) withPool(e accountant.Event) accountant.Event {
	if c.pool == nil || e == nil {
		return e
	}
	return accountant.Composed{Events: append(partsOf(c.pool.Event()), partsOf(e)...)}
}

func partsOf(e accountant.Event) []accountant.Event {
	if c, ok := e.(accountant.Composed); ok {
		return c.Events
	}
	return []accountant.Event{e}
}

func (r *Row) charge(ctx context.Context, e accountant.Event, c point) error {
	e = c.withPool(e)
	claim, err := claimOf(ctx, e, c.Delta)
	if err != nil {
		return err
	}
	bound, err := epsilonOf(e, c.Delta)
	if err != nil {
		return err
	}
	epsilon := claim.Upper
	r.Epsilon, r.Accountant, r.Releasable = &epsilon, claim.By, c.releasable()
	parts := partsOf(e)
	r.Account = &accountant.Schedule{Relation: relation, Events: parts}
	r.Charged, err = shares(parts, bound.Order)
	return err
}

func shares(events []accountant.Event, order float64) ([]Charge, error) {
	total := 0.0
	charged := make([]Charge, len(events))
	for i, e := range events {
		divergence, _, err := accountant.Divergence(relation, order, e)
		if err != nil {
			return nil, fmt.Errorf("experiments: %w", err)
		}
		charged[i].Event, charged[i].Count = describe(e)
		charged[i].Share = divergence
		total += divergence
	}
	for i := range charged {
		charged[i].Share /= total
	}
	return charged, nil
}

func describe(e accountant.Event) (string, int64) {
	parts := accountant.Describe(e,
		func(x float64) string { return number.Digits(x, 4) },
		func(x float64) string { return number.DigitsUp(x, 4) })
	names, runs := make([]string, len(parts)), int64(1)
	for i, p := range parts {
		names[i], runs = strings.TrimSuffix(p.Mechanism+", "+p.Parameters, ", "), p.Count
	}
	if len(parts) != 1 {
		runs = 1
	}
	return strings.Join(names, " and "), runs
}
