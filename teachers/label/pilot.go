package label

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// Pilot estimates the agreement of teachers before a plan. It is the mean of the queries' largest vote
// counts, rounded down, plus discrete Gaussian noise. All fields are public.
type Pilot struct {
	Sigma      float64 // parameter of the noise, in votes
	Epsilon    float64 // cost of the pilot alone, at the delta of the ledger
	Released   int64   // Released, Share and LeastShare are 0 before the release
	Share      float64 // estimated mean fraction of teachers who vote for the largest class of a query
	LeastShare float64 // lower bound on this mean with probability 99 %
	// Part is the fraction of the remaining budget for the pilot. Most and Declared are estimated numbers of
	// correct labels if teachers always agree: with and without the pilot. After the charge, all three fields
	// are 0.
	Part, Most, Declared float64
}

// Part is a fraction of the Rényi divergence, which is proportional to 1/σ². Less noise costs good teachers
// more labels through the pilot's charge. More noise costs them more labels through the pilot's lower bound.

// A pilot's σ is pilotNoise · teachers, clipped to keep Pilot.Part in [leastPart, mostPart].
const pilotNoise, leastPart, mostPart = 0.0175, 0.02, 0.06

// PilotBlind is a caveat about pilots, printed for users.
const PilotBlind = "the pilot cannot see a majority for a wrong class, nor how single queries differ from the mean"

const pilotQuantile = 2.3264

const pilotName = "pilot"

func pilotEvent(sigma float64) accountant.Event {
	return accountant.DiscreteGaussian{Sigma: sigma, Sensitivity: 1}
}

func (p *Pilot) read(teachers, classes int) {
	share := func(votes float64) float64 { return max(votes/float64(teachers), 1/float64(classes)) }
	votes := min(float64(p.Released), float64(teachers))
	p.Share, p.LeastShare = min(share(votes+0.5), 1), share(votes-pilotQuantile*p.Sigma)
}

func (p *Pilot) draw(ctx context.Context, j *job, r *ledger.Reservation, key rng.Key) error {
	// One teacher changes each largest count by at most 1, so also the mean and the rounded mean. The
	// sensitivity is 1.
	noise, err := rng.NewDiscreteGaussian(p.Sigma)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	if err := r.Begin(pilotEvent(p.Sigma), ledger.Use{Secret: key.Releasable()}); err != nil {
		return fmt.Errorf("label: %w", err)
	}
	hash := j.Votes.Hash()
	p.Released = noise.Sample(key.DeriveBytes("votes", hash[:]).Stream())
	var all meanLargest
	for ballot, err := range j.Votes.Histograms(ctx) {
		if err != nil {
			return err
		}
		all.add(ballot.Histogram.Reveal())
	}
	p.Released += all.mean()
	return nil
}

type meanLargest struct{ largest, queries int64 }

func (m *meanLargest) add(counts []int) {
	m.largest, m.queries = m.largest+int64(slices.Max(counts)), m.queries+1
}

func (m meanLargest) mean() int64 { return m.largest / m.queries }

type pilotFile struct {
	Schema     string   `json:"schema"`
	Meaning    string   `json:"meaning"`
	Released   int64    `json:"released"`
	Run        identity `json:"run"`
	Releasable bool     `json:"releasable"`
}

var errPlanned = errors.New("label: the labels are planned already")

func (j *job) piloted(ctx context.Context) error {
	var p Pilot
	var id identity
	stages := []run.Stage{{
		Name: pilotName, Key: func(key rng.Key) rng.Key { return key.Derive(pilotName) },
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error {
			if err := p.draw(ctx, j, r[0], key); err != nil {
				return err
			}
			text, err := json.Marshal(pilotFile{"pate.pilot/1", "mean of the largest vote counts, rounded down, plus noise",
				p.Released, id, !j.withheld()})
			if err == nil {
				_, err = out.Write(append(text, '\n'))
			}
			return err
		},
		Read: func(file io.Reader) error {
			var is pilotFile
			err := json.NewDecoder(file).Decode(&is)
			p.Released = is.Released
			return err
		},
	}}
	r := run.Run{File: j.file(), Kind: kind, Units: j.units(), Seed: j.Seed, Stages: stages,
		Plan: func(ctx context.Context, before *run.Before) (plan run.Plan, err error) {
			j.account = before.Config()
			plan.Same, err = j.samePilot(before, &id, &stages[0])
			if err == nil && plan.Same == nil {
				id, p, err = j.newPilot(ctx, before, stages[0])
			}
			if err != nil {
				return plan, sealed(err)
			}
			hash := j.Votes.Hash()
			p.Sigma = id.Parameters["sigma"]
			plan.Settings, plan.Inputs, plan.Events = id, hash[:], [][]accountant.Event{{pilotEvent(p.Sigma)}}
			own, err := accountant.Epsilon(ctx, accountant.ByAuto, j.account.Relation, j.account.Delta, pilotEvent(p.Sigma))
			p.Epsilon = own.Upper
			if err == nil && plan.Same == nil {
				err = j.Plan.Pilot(p, false)
			}
			return plan, err
		}}
	if err := r.Do(ctx, nil); errors.Is(err, errPlanned) {
		return nil
	} else if err != nil {
		return err
	}
	p.Part, p.Most, p.Declared = 0, 0, 0
	p.read(j.Votes.Teachers(), j.Votes.Classes())
	j.pilot = &p
	planning := *j.Plan
	planning.Public.Share, planning.Public.LeastShare = p.Share, p.LeastShare
	j.Plan = &planning
	return j.Plan.Pilot(p, true)
}

// samePilot returns the recorded pilot of these votes and sets id, or returns nil. In both cases it sets
// stage.Out to the path of this pilot or of a new pilot. If labels are recorded, but the pilot or its file is
// missing, the error is errPlanned.
func (j *job) samePilot(before *run.Before, id *identity, stage *run.Stage) (same *run.Recorded, err error) {
	labels, pilots, err := recordedRuns(before)
	if err != nil {
		return nil, err
	}
	from, to := j.Votes.Range()
	hash := j.Votes.Hash()
	stage.Out = fmt.Sprintf("%s.pilot-%d.json", j.Ledger, len(pilots)+1)
	for i, r := range pilots {
		if is, err := r.Of(hash[:]); err != nil {
			return nil, err
		} else if is && r.id.Pool == j.Pool && r.id.Queries == [2]int{from, to} {
			*id, same, stage.Out = r.id, r.Recorded, fmt.Sprintf("%s.pilot-%d.json", j.Ledger, i+1)
		}
	}
	if at(labels, j.Pool, from) != nil {
		if there, err := durable.Exists(stage.Out); err != nil || same == nil || !there {
			return nil, errPlanned
		}
	}
	return same, nil
}

func (j *job) newPilot(ctx context.Context, before *run.Before, stage run.Stage) (id identity, p Pilot, err error) {
	if j.account.Mode != ledger.Filter {
		return id, p, &fault.Error{What: "a pilot needs a ledger of mode filter",
			Why: "the cost of the labels follows from what the pilot released, and in mode reserved all costs are fixed before the first release",
			Fix: "declare how often a teacher is right, plan without a pilot, or choose a new ledger of mode filter"}
	}
	for _, path := range []string{stage.Out, j.Out} {
		if err := (run.Stage{Out: path}).Clear(); err != nil {
			return id, p, err
		}
	}
	whole, err := before.LeastNoise(ctx, func(sigma float64) (accountant.Event, error) { return pilotEvent(sigma), nil })
	if errors.Is(err, accountant.ErrNoBracket) { // nothing is left
		whole, err = math.MaxInt32, nil
	}
	if err != nil {
		return id, p, fmt.Errorf("label: the noise of a pilot: %w", err)
	}
	teachers := j.Votes.Teachers()
	sigma := number.Up(min(max(pilotNoise*float64(teachers), whole/math.Sqrt(mostPart)), whole/math.Sqrt(leastPart)), 4)
	p.Part = whole * whole / (sigma * sigma)
	from, to := j.Votes.Range()
	id = identity{Pool: j.Pool, Queries: [2]int{from, to}, Mechanism: pilotName, Parameters: map[string]float64{"sigma": sigma},
		Teachers: teachers, Classes: j.Votes.Classes()}
	best := Pilot{Sigma: sigma, Released: int64(teachers)}
	best.read(id.Teachers, id.Classes)
	planning := *j.Plan
	planning.Public.Share, planning.Public.LeastShare = best.Share, best.LeastShare
	p.Most, err = planning.possible(ctx, before, to-from, pilotEvent(sigma))
	planning.Public.Share, planning.Public.Accuracy = 0, alwaysAgree
	if err == nil && p.Most > 0 {
		p.Declared, err = planning.possible(ctx, before, to-from)
	} else if err == nil {
		none := &plan.NoPlanError{Goal: planning.Goal}
		none.Goal.Epsilon, none.Goal.Delta = j.account.Epsilon, j.account.Delta
		err = &fault.Error{What: fmt.Sprintf("a pilot with noise of %.3g votes would show too little of %d teachers, even if all agreed",
			sigma, teachers), Why: "no plan would hold at its lower bound; nothing was charged or written",
			Fix: "declare how often a teacher is right, have more teachers, or raise epsilon", Err: none}
	}
	return id, p, err
}

const alwaysAgree = 0.999
