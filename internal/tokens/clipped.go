package tokens

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/aggregate/acceptance"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// ClippedConfig holds the parameters of a [Clipped] mechanism. All fields except Appears are required.
type ClippedConfig struct {
	Clip        float64 // C: a teacher's contribution to each token is in [-C, C]; > 0
	Steps       int64   // of the grid of contributions, from 0 to Clip; [1, 2^40]
	Teachers    int64   // public number by which the sum is divided; [1, 2^30]
	Temperature float64 // > 0
	Queries     int64   // cap on queries; the whole cap is charged; [1, 2^53]
	// Appears states that a record can only add or remove a teacher's whole contribution. Appears requires
	// the relation [accountant.AddRemove]. By default a record can change a contribution in any way.
	Appears bool
}

// Clipped answers with a token of a public list. The probability of token t is proportional to
//
//	exp((base_t + sum_i clip(l_i(t) - r_i(t), -C, C)/Teachers)/Temperature).
//
// Here C is Clip, and base_t is a public value or 0. For teacher i, l_i(t) is the log-probability of t, and
// r_i(t) is a reference value. Each clipped difference is rounded to a multiple of Clip/Steps. InvisibleInk
// (Vinod, Pillutla, Thakurta 2025) sets base_t and all r_i(t) to the public model's log-probability of t.
// Amin et al. 2024 set base_t = 0 and r_i(t) = max_s l_i(s) - C. The list must be a function of public data.
// A list of the teachers' likely tokens would reveal private texts.
type Clipped struct {
	cfg       ClippedConfig
	perStep   float64 // grid steps in a unit of log-probability
	distances *rng.DiscreteLaplace
}

const maxOptions = 1 << 18

// NewClipped returns the mechanism for cfg.
func NewClipped(cfg ClippedConfig) (*Clipped, error) {
	switch {
	case !(cfg.Clip > 0 && cfg.Clip <= 1e6):
		return nil, fmt.Errorf("tokens: Clip must be above 0 and at most 1e6, not %g", cfg.Clip)
	case cfg.Steps < 1 || cfg.Steps > 1<<40:
		return nil, fmt.Errorf("tokens: Steps must be in [1, 2^40], not %d", cfg.Steps)
	case cfg.Teachers < 1 || cfg.Teachers > 1<<30 || cfg.Teachers*cfg.Steps > 1<<52:
		return nil, fmt.Errorf("tokens: Teachers must be in [1, 2^30], and at most 2^52/Steps, not %d", cfg.Teachers)
	case !(cfg.Temperature > 0 && cfg.Temperature <= 1e6):
		return nil, fmt.Errorf("tokens: Temperature must be above 0 and at most 1e6, not %g", cfg.Temperature)
	}
	perStep := float64(cfg.Steps) / cfg.Clip
	distances, err := rng.NewDiscreteLaplace(cfg.Temperature * float64(cfg.Teachers) * perStep)
	if err != nil {
		return nil, fmt.Errorf("tokens: Temperature times Teachers times Steps/Clip: %w", err)
	}
	return &Clipped{cfg, perStep, distances}, checkQueries(cfg.Queries)
}

// Event implements [Mechanism].
func (m *Clipped) Event() accountant.Event {
	// If a contribution appears, the scores change by values in [-Steps, Steps]. So the log-ratios lie in an
	// interval of length 2 Steps/Scale = 2 C/(Teachers Temperature). If a contribution changes, or a record
	// is replaced, the interval is twice as long.
	interval := 2 * m.cfg.Steps
	if !m.cfg.Appears {
		interval *= 2
	}
	one := accountant.ExponentialMechanism{Epsilon: mathx.DivUp(float64(interval), m.distances.Scale())}
	return accountant.Repeated{Event: one, Count: m.cfg.Queries}
}

// Left implements [Mechanism].
func (m *Clipped) Left(s State) Left {
	left := max(0, m.cfg.Queries-s.Voted)
	return Left{left, left}
}

// Add adds the contribution of one teacher to the scores of a list. All slices have one value for each token.
// In the formula of [Clipped], r_i(t) is public[t], or max(teacher) - Clip if public is nil. NaN values
// contribute nothing.
func (m *Clipped) Add(scores []int64, teacher, public []float64) {
	own := math.Inf(-1)
	for _, l := range teacher {
		if l > own {
			own = l
		}
	}
	for t, l := range teacher {
		reference := own - m.cfg.Clip
		if public != nil {
			reference = public[t]
		}
		if d := l - reference; !math.IsNaN(d) {
			scores[t] += int64(math.Round(min(m.cfg.Clip, max(-m.cfg.Clip, d)) * m.perStep))
		}
	}
}

// Base returns the public scores for [Input].Base. The slice `public` has the public model's log-probability
// of each token of a list.
func (m *Clipped) Base(public []float64) []int64 {
	base := make([]int64, len(public))
	for t, l := range public {
		base[t] = int64(math.Round(min(maxBase, max(-maxBase, l*m.perStep*float64(m.cfg.Teachers)))))
	}
	return base
}

const maxBase = 1 << 60

// Start implements [Mechanism].
func (m *Clipped) Start(key rng.Key) Session {
	key = key.Derive("tokens clipped", math.Float64bits(m.cfg.Clip), uint64(m.cfg.Steps), math.Float64bits(m.distances.Scale()))
	return &clippedSession{Clipped: m, streams: key.Streams("query")}
}

type clippedSession struct {
	*Clipped
	turns   []int64
	streams *rng.Streams
	scores  []int64
}

func (c *clippedSession) Answer(s State, query uint64, in Input) (Answer, error) {
	if err := cmp.Or(c.Left(s).check(), in.checkScores(c.cfg.Teachers*c.cfg.Steps)); err != nil {
		return Answer{}, err
	}
	c.scores = append(c.scores[:0], in.Scores...)
	for t, b := range in.Base {
		c.scores[t] += b
	}
	c.turns = acceptance.Draw(c.turns[:0], len(c.scores), c.distances, c.streams.Of(query, in.Name))
	return Answer{in.List[acceptance.First(c.scores, c.turns)], Vote}, nil
}

func (in Input) checkScores(most int64) error {
	switch {
	case len(in.List) == 0 || len(in.List) > maxOptions:
		return fmt.Errorf("tokens: the list must have 1 to 2^18 tokens, not %d", len(in.List))
	case len(in.Scores) != len(in.List) || in.Base != nil && len(in.Base) != len(in.List):
		return errors.New("tokens: there must be one score and one base for each token of the list")
	}
	for t, score := range in.Scores {
		if score < -most || score > most || in.Base != nil && (in.Base[t] < -maxBase || in.Base[t] > maxBase) {
			return errors.New("tokens: a score is outside the range of the clipped sum")
		}
	}
	return nil
}
