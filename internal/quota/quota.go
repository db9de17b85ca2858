package quota

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/rng"
)

// MostVotes is the largest number of votes of a unit.
const MostVotes = math.MaxUint16

// Config holds the public parameters of the mechanism. Only Lead has a default.
type Config struct {
	Votes   int     `json:"votes"`          // votes of a unit at all questions together; [1, MostVotes]
	Sigma   float64 `json:"sigma"`          // standard deviation of the noise on each count, in votes
	Classes int     `json:"classes"`        // at least 2
	Lead    float64 `json:"lead,omitempty"` // least noisy lead of a label over the next class, in Sigma; default 0: none is declined
}

// Mechanism answers questions by noisy counts of votes.
type Mechanism struct {
	cfg   Config
	noise *rng.DiscreteGaussian
}

func New(cfg Config) (*Mechanism, error) {
	switch {
	case cfg.Votes < 1 || cfg.Votes > MostVotes:
		return nil, fmt.Errorf("quota: Votes must be between 1 and %d, not %d", MostVotes, cfg.Votes)
	case cfg.Classes < 2:
		return nil, fmt.Errorf("quota: Classes must be at least 2, not %d", cfg.Classes)
	case !(cfg.Lead >= 0):
		return nil, fmt.Errorf("quota: Lead must not be negative, but is %v", cfg.Lead)
	}
	noise, err := rng.NewDiscreteGaussian(cfg.Sigma)
	if err != nil {
		return nil, fmt.Errorf("quota: Sigma: %w", err)
	}
	return &Mechanism{cfg, noise}, nil
}

// Event returns one event that covers any number of questions. Neighbours differ by one added or removed
// unit.
func (m *Mechanism) Event() accountant.Event {
	return event(m.noise.Sigma(), m.cfg.Votes)
}

func event(sigma float64, votes int) accountant.Event {
	return accountant.Repeated{Event: accountant.DiscreteGaussian{Sigma: sigma, Sensitivity: 1}, Count: int64(votes)}
}

// Start begins a session with the votes of private rows. It fails unless r charges m.Event() in a ledger with
// the relation add_remove.
func (m *Mechanism) Start(r *ledger.Reservation, key rng.Key, private neighbours.Rows) (*Session, error) {
	voters, err := newVoters(private, m.cfg)
	if err != nil {
		return nil, err
	}
	if key.IsZero() {
		return nil, errors.New("quota: zero Key: make one with rng.NewKey or rng.SeedKey")
	}
	if err := r.Begin(m.Event(), ledger.Use{Relation: accountant.AddRemove, Secret: key.Releasable()}); err != nil {
		return nil, fmt.Errorf("quota: %w", err)
	}
	key = key.Derive("entry", uint64(r.Entry())).Derive("quota", uint64(m.cfg.Votes), math.Float64bits(m.noise.Sigma()))
	return &Session{m: m, voters: voters, streams: key.Streams("question")}, nil
}
