package stable

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
	"github.com/pate-go/pate/svt"
)

const (
	MStab = "m-stab"     // one charged test per query
	MSvec = "m-svec"     // sparse vector with new threshold noise after each refusal
	SVT   = "stable-svt" // sparse vector with one-sided noise and one noisy threshold
)

const (
	MStabLaplace  = "m-stab/laplace"
	MStabGaussian = "m-stab/gaussian"
	SVTPrinted    = "m-svec/printed"
	SVTCalibrated = "m-svec/calibrated"
)

// Config holds a mechanism and its parameters, in units of moved votes. Moving one vote closes a gap of two
// votes.
type Config struct {
	Mechanism string
	Sigma     float64 // MStab: standard deviation of Gaussian noise, instead of Scale
	Scale     float64 // MStab: scale of Laplace noise, instead of Sigma
	Lambda    float64 // MSvec: scale of the threshold noise; query noise has scale 2 Lambda
	B1, B2    float64 // SVT: scales of the threshold noise and of the query noise
	Threshold int64   // for the distance
	Queries   int     // MStab: cap on queries
	Failures  int     // MSvec, SVT: refusals after which the run stops
}

// Mechanism releases the plurality of votes if it is stable.
type Mechanism struct {
	test  *stability.MStab    // nil if svt is set
	svt   svt.StableMechanism // nil if test is set
	event accountant.Event
}

var _ aggregate.Mechanism = (*Mechanism)(nil)

func New(cfg Config) (*Mechanism, error) {
	var uses []string
	m, err := &Mechanism{}, error(nil)
	switch cfg.Mechanism {
	case MStab:
		uses = []string{"Sigma", "Scale", "Queries"}
		m.test, err = newMStab(cfg)
	case MSvec:
		uses = []string{"Lambda", "Failures"}
		m.svt, err = svt.NewMSvec(svt.MSvecConfig{Lambda: cfg.Lambda, Threshold: cfg.Threshold, Failures: cfg.Failures})
	case SVT:
		uses = []string{"B1", "B2", "Failures"}
		m.svt, err = svt.NewStableSVT(svt.StableSVTConfig{B1: cfg.B1, B2: cfg.B2, Threshold: cfg.Threshold, Failures: cfg.Failures})
	default:
		return nil, fmt.Errorf("stable: no mechanism %q: one of %s, %s, %s", cfg.Mechanism, MStab, MSvec, SVT)
	}
	if err != nil {
		return nil, fmt.Errorf("stable: %w", err)
	}
	for field, set := range map[string]bool{
		"Sigma": cfg.Sigma != 0, "Scale": cfg.Scale != 0, "Lambda": cfg.Lambda != 0, "B1": cfg.B1 != 0, "B2": cfg.B2 != 0,
		"Queries": cfg.Queries != 0, "Failures": cfg.Failures != 0,
	} {
		if set && !slices.Contains(uses, field) {
			return nil, fmt.Errorf("stable: %s has no %s, which must be 0", cfg.Mechanism, field)
		}
	}
	if m.test != nil {
		m.event = m.test.Event()
	} else {
		m.event = m.svt.Event()
	}
	return m, nil
}

func newMStab(cfg Config) (*stability.MStab, error) {
	c, err := mstabConfig(cfg.Sigma, cfg.Scale, cfg.Queries)
	if err != nil {
		return nil, err
	}
	c.Delta = 0.25
	m, err := stability.NewMStab(c)
	if err != nil {
		return nil, err
	}
	if cfg.Threshold == m.Threshold() {
		return m, nil
	}
	tail, _ := m.Law(m.Threshold() - cfg.Threshold)
	c.Delta = max(1e-15, math.Exp(tail)*(1+1e-9))
	if m, err = stability.NewMStab(c); err != nil || m.Threshold() != cfg.Threshold {
		return nil, fmt.Errorf("a threshold of %d releases an unstable answer with probability %.3g; it must be in [1e-15, 1/4]",
			cfg.Threshold, math.Exp(tail))
	}
	return m, nil
}

func mstabConfig(sigma, scale float64, queries int) (stability.MStabConfig, error) {
	c := stability.MStabConfig{Noise: stability.Gaussian, Sigma: sigma, Questions: queries}
	switch {
	case sigma != 0 && scale != 0:
		return c, fmt.Errorf("sigma %g and scale %g: Gaussian noise or Laplace noise, not both", sigma, scale)
	case scale != 0:
		c.Noise, c.Epsilon = stability.Laplace, 1/scale
	}
	return c, nil
}

func (m *Mechanism) Event() accountant.Event { return m.event }

// LawAt returns the exact log probabilities of release and refusal of a first query, given its distance to
// instability.
func (m *Mechanism) LawAt(distance int64) (released, refused float64) {
	if m.test != nil {
		return m.test.Law(distance)
	}
	return m.svt.LawAt(distance)
}

func (m *Mechanism) Law(h aggregate.Histogram) (aggregate.Law, error) { return lawOf(h, m.LawAt) }

func lawOf(h aggregate.Histogram, at func(distance int64) (released, refused float64)) (aggregate.Law, error) {
	winner, distance, err := plurality(h)
	if err != nil {
		return aggregate.Law{}, err
	}
	law := aggregate.Law{LogLabels: make([]float64, h.Classes())}
	for class := range law.LogLabels {
		law.LogLabels[class] = math.Inf(-1)
	}
	law.LogLabels[winner], law.LogDeclined = at(distance)
	return law, nil
}

func plurality(h aggregate.Histogram) (winner int, distance int64, err error) {
	if winner, distance, err = stability.Plurality(h.Reveal(), stability.VoteMoves, stability.LowestIndex); err != nil {
		return 0, 0, fmt.Errorf("stable: %w", err)
	}
	return winner, distance, nil
}

// RunLaw returns the distribution of a whole run if m is a sparse vector (see [svt.Law]). For MStab, law is
// empty and sequential is false, because the queries of MStab are independent.
func (m *Mechanism) RunLaw() (law svt.Law, sequential bool) {
	if m.test != nil {
		return svt.Law{}, false
	}
	return m.svt.Law(), true
}

// DistanceFor returns the least distance with at least the given probability of release. For any tie rule, a
// gap of 2*distance + 1 votes suffices.
func (m *Mechanism) DistanceFor(probability float64) (int64, error) {
	if m.test != nil {
		return m.test.DistanceFor(probability)
	}
	return svt.DistanceFor(m.svt, probability)
}

// Start begins a run. Runs of MSvec and SVT stop after Config.Failures refusals. Answers of MSvec depend on
// the query order.
func (m *Mechanism) Start(r *ledger.Reservation, key rng.Key) (aggregate.Session, error) {
	if m.test != nil {
		s, err := stability.Start[int](m.test, r, key)
		if err != nil {
			return nil, fmt.Errorf("stable: %w", err)
		}
		return session{s.Releasable(), func(query uint64, winner int, distance int64) (int, bool, error) {
			a, err := s.Ask(query, winner, distance)
			return a.Value, a.Released, err
		}}, nil
	}
	s, err := svt.Start[int](m.svt, r, key)
	if err != nil {
		return nil, fmt.Errorf("stable: %w", err)
	}
	return session{s.Releasable(), func(query uint64, winner int, distance int64) (int, bool, error) {
		a, err := s.Ask(query, winner, distance)
		return a.Value, a.Released, err
	}}, nil
}

type session struct {
	releasable bool
	test       func(query uint64, winner int, distance int64) (value int, released bool, err error)
}

func (s session) Ask(query uint64, votes aggregate.Histogram) (aggregate.Answer, error) {
	none := aggregate.Answer{Label: aggregate.NoLabel}
	winner, distance, err := plurality(votes)
	if err != nil {
		return none, err
	}
	winner, released, err := s.test(query, winner, distance)
	switch {
	case errors.Is(err, stability.ErrExhausted) || errors.Is(err, svt.ErrExhausted):
		return none, fmt.Errorf("%w: %w", aggregate.ErrExhausted, err)
	case err != nil:
		return none, fmt.Errorf("stable: %w", err)
	case !released:
		return none, nil
	}
	return aggregate.Answer{Label: winner, Answered: true}, nil
}

func (s session) AskBatch(first uint64, votes []aggregate.Histogram) ([]aggregate.Answer, error) {
	answers := make([]aggregate.Answer, 0, len(votes))
	for i, h := range votes {
		a, err := s.Ask(first+uint64(i), h)
		if err != nil {
			return answers, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

func (s session) Releasable() bool { return s.releasable }
