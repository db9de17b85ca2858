package online

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/quota"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
)

// Settings are the public values of a run, as recorded in its ledger.
type Settings struct {
	Mechanism string             `json:"mechanism"`
	Values    map[string]float64 `json:"parameters,omitempty"`
	Queries   int64              `json:"queries"`
	Classes   []string           `json:"classes,omitempty"`
	Tokens    int                `json:"vocabulary,omitempty"` // number of tokens, if there are no classes
	Quota     *quota.Terms       `json:"quota,omitempty"`      // of the mechanism Quota; Queries is then an expected number
}

// MostClasses is the largest number of Settings.Classes. Larger vocabularies set only Settings.Tokens.
const MostClasses = 1 << 15

func (s Settings) size() int { return max(s.Tokens, len(s.Classes)) }

// Check returns an error for settings that no run can have. Noise may be missing.
func (s Settings) Check() error {
	named := map[string]bool{}
	for _, name := range s.Classes {
		if name == "" || named[name] || strings.ContainsFunc(name, unicode.IsControl) || !utf8.ValidString(name) {
			return fmt.Errorf("class %q is empty, listed twice or no text", name)
		}
		named[name] = true
	}
	switch {
	case (s.Classes == nil) == (s.Tokens == 0):
		return errors.New("give the classes of the answers, or the size of the vocabulary")
	case s.size() < 2 || len(s.Classes) > MostClasses || s.Tokens > 1<<31:
		return fmt.Errorf("there must be 2 to %d classes, or 2 to 2^31 tokens", MostClasses)
	case !s.counted() && s.Queries != 0:
		return fmt.Errorf("--queries is not for mechanism %s, which charges only answers by votes", s.Mechanism)
	case s.Values["domain"] >= float64(s.size()):
		return fmt.Errorf("domain must be below the number of tokens, %d", s.size())
	case s.counted() && (s.Queries < 1 || s.Queries > math.MaxInt32):
		return fmt.Errorf("the number of queries must be between 1 and %d, not %d: all of them are charged", math.MaxInt32, s.Queries)
	}
	if s.Quota != nil {
		return checkQuota(*s.Quota)
	}
	d, is, err := s.Describe()
	if err != nil {
		return err
	}
	if v, votes := d.Parameter("teachers"); votes && v.Default != nil && is.Values["teachers"] == 0 && !d.Settled(is) {
		return errors.New("give --teachers or the noise: noise that hides the votes of all teachers is refused before the charge")
	}
	return d.Check(is)
}

// Describe returns the mechanism and its setting. Noise may be missing.
func (s Settings) Describe() (aggregate.Description, aggregate.Setting, error) {
	all := Mechanisms()
	i := slices.IndexFunc(all, func(d aggregate.Description) bool { return d.Name == s.Mechanism })
	if i < 0 {
		return aggregate.Description{}, aggregate.Setting{}, fmt.Errorf("mechanism %q does not answer questions one at a time", s.Mechanism)
	}
	return all[i], all[i].Complete(aggregate.Setting{Mechanism: s.Mechanism, Values: maps.Clone(s.Values), Queries: int(s.Queries)}), nil
}

// Capped reports whether the number of answers by votes has its own cap.
func (s Settings) Capped() bool { return s.Mechanism == "confident" || s.Mechanism == "screen" }

func (s Settings) counted() bool { return s.Mechanism != "screen" }

func (s Settings) choose(least aggregate.LeastNoise) (Settings, error) {
	if s.Quota != nil {
		t, err := s.Quota.Choose(least)
		if errors.Is(err, quota.ErrFutile) {
			err = &fault.Error{What: strings.TrimPrefix(err.Error(), "quota: "),
				Why: "labels would be hardly better than random; nothing was charged",
				Fix: "raise --epsilon, or expect fewer --queries", Err: err}
		}
		s.Quota = &t
		return s, err
	}
	d, is, err := s.Describe()
	if err != nil {
		return s, err
	}
	if !d.Settled(is) {
		noise, err := d.Least(is, func(event func(noise float64) (accountant.Event, error)) (float64, error) {
			return least(func(noise float64) (accountant.Event, error) { return event(number.Up(noise, 6)) }) // as it is used
		})
		switch {
		case errors.Is(err, accountant.ErrNoBracket): // nothing fits, and the reservation reports what is left
			noise = math.Inf(1)
		case err != nil:
			return s, fmt.Errorf("online: %w", err)
		default:
			noise = number.Up(noise, 6)
		}
		is = d.WithNoise(is, noise)
		if err := s.futile(is.Values); err != nil {
			return s, err
		}
	}
	s.Values = is.Values
	return s, nil
}

func (s Settings) futile(values map[string]float64) error {
	sigma, teachers := max(values["sigma"], values["sigma2"]), values["teachers"]
	// The largest of n independent normal noises is about sqrt(2 log n) standard deviations.
	if teachers == 0 || s.Mechanism == "clipped" || teachers >= sigma*max(2, math.Sqrt(2*math.Log(float64(s.size())))) {
		return nil
	}
	return &fault.Error{What: fmt.Sprintf("noise of %.4g votes hides the votes of %.0f teachers", sigma, teachers),
		Why: "answers would often be wrong, even if all teachers agree; nothing was charged",
		Fix: "raise --epsilon, ask fewer --queries, or train more teachers"}
}

// Event returns the worst-case event of the run. All noise must be set.
func (s Settings) Event() (accountant.Event, error) {
	if s.Quota != nil {
		m, err := quota.New(s.Quota.Config)
		if err != nil {
			return nil, err
		}
		return m.Event(), nil
	}
	d, is, err := s.Describe()
	if err != nil {
		return nil, err
	}
	return d.Event(is)
}

func (s Settings) mechanism() (tokens.Mechanism, error) {
	d, is, err := s.Describe()
	if err != nil {
		return nil, err
	}
	m, err := d.New(is)
	if err != nil {
		return nil, fmt.Errorf("online: %w", err)
	}
	return m.(described).Mechanism, nil
}

func (s Settings) start(r *ledger.Reservation, key rng.Key) (Answerer, error) {
	m, err := s.mechanism()
	if err != nil {
		return nil, err
	}
	if err := r.Begin(m.Event(), ledger.Use{Secret: key.Releasable()}); err != nil {
		return nil, fmt.Errorf("online: %w", err)
	}
	return newVoting(m, key.Derive("entry", uint64(r.Entry()))), nil
}
