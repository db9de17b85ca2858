package silos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/label"
)

// Mechanism is the name of this package's mechanism in flags and results.
const Mechanism = "nearest-questions"

const kind = "silos"

// Config describes a release of labels. Sum, Ledger and Out are required.
type Config struct {
	*Sum
	SilosPerUnit int      // largest number of silos that may count one unit; 0 if hashes of units are to show that it is 1
	Sigma        float64  // noise of each count; 0 chooses the least noise that fits the rest of the budget
	Ledger       run.File // Expect must require the relation add_remove
	Out          string
	Seed         *uint64
}

type settings struct {
	Terms
	Sigma        float64 `json:"sigma"`
	SilosPerUnit int     `json:"silos_per_unit"`
}

func (s settings) plan() nearby.Plan {
	return nearby.Plan{Questions: s.Questions, Near: s.Votes, Sigma: s.Sigma, Drawn: s.Drawn, Silos: s.SilosPerUnit}
}

type release struct {
	Config
	as settings // with noise, once there is a plan
}

// Release charges the ledger and releases the noisy counts and labels of the silos' sum. A repeated release
// is resumed or checked, at no further cost.
func Release(ctx context.Context, c Config) (result label.Result, err error) {
	asked := settings{Terms: c.Sum.Terms, Sigma: c.Sigma}
	if asked.SilosPerUnit, err = c.perUnit(ctx, c.SilosPerUnit); err != nil {
		return result, err
	}
	r := &release{Config: c}
	err = run.Run{File: c.Ledger, Kind: kind, Units: run.Units{N: c.Size, Noun: c.Unit + "s"}, Seed: c.Seed,
		Plan: func(ctx context.Context, before *run.Before) (run.Plan, error) {
			r.as = asked
			return r.plan(ctx, before)
		},
		Stages: []run.Stage{{Out: c.Out, Draw: r.draw, Key: func(key rng.Key) rng.Key { return key.Derive("near") }}},
	}.Do(ctx, func(s *run.Session, done []run.Done) error {
		result, err = r.result(ctx, s, done[0])
		return err
	})
	return result, err
}

func (r *release) plan(ctx context.Context, before *run.Before) (p run.Plan, err error) {
	if p.Inputs, err = r.hash(); err != nil {
		return p, err
	}
	var recorded settings
	if p.Same, err = before.Find(p.Inputs, &recorded); err != nil {
		return p, err
	}
	if p.Same == nil {
		err = r.choose(ctx, before)
	} else {
		err = r.repeat(recorded)
	}
	if err != nil {
		return p, err
	}
	e, err := r.as.plan().Event()
	p.Events, p.Settings = [][]accountant.Event{{e}}, r.as
	return p, err
}

func (r *release) repeat(recorded settings) error {
	var differ []string
	if r.as.Sigma > 0 && r.as.Sigma != recorded.Sigma {
		differ = append(differ, fmt.Sprintf("sigma %v, not %v", recorded.Sigma, r.as.Sigma))
	}
	if r.as.SilosPerUnit != recorded.SilosPerUnit {
		differ = append(differ, fmt.Sprintf("silos per unit %d, not %d", recorded.SilosPerUnit, r.as.SilosPerUnit))
	}
	if differ != nil {
		return run.OtherRun("a run with other settings has charged these counts", differ,
			"counts are never released again with fresh noise", "repeat that run without changes")
	}
	r.as = recorded
	return nil
}

func (r *release) choose(ctx context.Context, before *run.Before) (err error) {
	event := func(sigma float64) (accountant.Event, error) {
		s := r.as
		s.Sigma = sigma
		return s.plan().Event()
	}
	if r.as.Sigma == 0 {
		r.as.Sigma, err = before.LeastNoise(ctx, event)
		if errors.Is(err, accountant.ErrNoBracket) { // the budget is used up, and Try reports it
			r.as.Sigma, err = 1<<20, nil
		}
	}
	if err != nil {
		return fmt.Errorf("silos: %w", err)
	}
	e, err := event(r.as.Sigma)
	if err != nil {
		return err
	}
	return before.Try(e)
}

func (r *release) draw(reserved []*ledger.Reservation, key rng.Key, out io.Writer) error {
	labels, err := r.as.plan().ReleaseVotes(reserved[0], key, len(r.Classes), r.Cells)
	if err != nil {
		return err
	}
	column, rows := "label", make([]string, len(r.Asked))
	if r.Seed != nil {
		column = published.WithheldLabel
	}
	for q, row := range r.Asked {
		rows[q] = strconv.Itoa(row)
	}
	return labels.Table(column, rows, func(class int) string { return r.Classes[class] }, r.Classes).Write(out, table.CSV)
}

func (r *release) result(ctx context.Context, s *run.Session, done run.Done) (label.Result, error) {
	values := map[string]float64{"sigma": r.as.Sigma, "votes": float64(r.as.Votes), "silos_per_unit": float64(r.as.SilosPerUnit)}
	answered, err := r.answered()
	if err != nil {
		return label.Result{}, err
	}
	result := label.Result{Asked: r.Questions, Answered: answered, Declined: r.Questions - answered,
		Calibrated: r.Sigma == 0, Releasable: r.Seed == nil,
		Setting: aggregate.Setting{Mechanism: Mechanism, Queries: r.Questions, Values: values},
		Resumed: done.Recorded, Complete: done.Complete, Entry: done.Entry, SHA256: done.SHA256}
	e, err := r.as.plan().Event()
	if err == nil {
		err = result.Charged(ctx, s.Ledger, s.Account, e)
	}
	return result, err
}

func (r *release) answered() (n int, err error) {
	f, err := durable.OpenRegular(r.Out)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	labels, err := published.ReadLabels(f, slices.Max(r.Asked)+1, nil, r.Classes)
	return labels.Released, err
}

// Describe returns a description of the run with this name in a ledger, or "" for runs of other packages.
func Describe(name string) string {
	var s settings
	if is, text := run.Kind(name); is != kind || json.Unmarshal(text, &s) != nil {
		return ""
	}
	return fmt.Sprintf("counts of silos at %d questions of %.8s, %d votes of each %s", s.Questions, s.Pool, s.Votes, s.Unit)
}
