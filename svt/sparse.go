package svt

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// SparseVectorConfig holds the parameters of a [SparseVector]. All fields except Threshold and Monotone are
// required.
type SparseVectorConfig struct {
	Noise       Kind    // DiscreteLaplace, or Geometric, which is one-sided and has half the variance
	Epsilon     float64 // of the whole run, for any number of queries; [2^-20, 2^9]
	Answers     int     // number of queries above that ends the run; [1, 2^30]
	Sensitivity int64   // largest change of a query by one record; [1, 2^20]
	Threshold   int64   // public; [-2^50, 2^50]
	Monotone    bool    // one record changes all queries in the same direction, like counts under add/remove
}

// SparseVector answers any number of integer queries. The answer is "above" if a value reaches a public
// threshold with noise, and otherwise "below". Only answers "above" cost privacy. If Answers is 1,
// SparseVector is AboveThreshold (Dwork, Roth 2014, Algorithm 1). With c = Answers, SparseVector is Algorithm
// 7 of Lyu, Su, Li 2017:
//
//	rho = noise of scale Sensitivity/e1, once;  nu_i = noise of scale 2 c Sensitivity/e2, per query
//	query i is above iff  value_i + nu_i >= Threshold + rho;  stop after c above
//
// SparseVector is Epsilon-differentially private, with e1 + e2 = Epsilon. Proof:
//
//  1. On a neighbour, replace rho by rho + Sensitivity. This shift costs e1.
//  2. Then value_i - rho falls by 0 to 2 Sensitivity.
//  3. So an answer "below" stays "below" with the same nu_i, at no cost.
//  4. For an answer "above", nu_i rises by the same amount. This costs at most e2/c, for at most c answers.
//  5. For monotone queries, nu_i of scale c Sensitivity/e2 is enough. If all values rise, rho moves by
//     Sensitivity. If all values fall, rho stays. Then value_i - rho falls by at most Sensitivity.
//  6. All shifts of noise are upwards, so noise that is never negative is enough.
//
// The split e1 : e2 = 1 : (2c)^(2/3), or 1 : c^(2/3) for monotone queries, has the least variance (Lyu, Su,
// Li 2017, section 4.2).
//
// A distance to instability is not a monotone query. A real query of sensitivity s must be rounded to a
// multiple of a unit u. In units, the sensitivity is then floor(s/u) + 1. Tests refute five errors of the
// literature: no query noise, no stop, noise that does not grow with c, noise multiplied by epsilon, and
// release of the noisy value.
type SparseVector struct {
	drawn
	cfg SparseVectorConfig
}

// ThresholdShare returns e1/Epsilon, the share of the threshold noise in Epsilon, for the least variance (see
// [SparseVector]).
func ThresholdShare(answers int, monotone bool) float64 {
	c := float64(answers)
	if !monotone {
		c *= 2
	}
	return 1 / (1 + math.Pow(c, 2.0/3))
}

func NewSparseVector(cfg SparseVectorConfig) (*SparseVector, error) {
	switch {
	case cfg.Noise != DiscreteLaplace && cfg.Noise != Geometric:
		return nil, fmt.Errorf("svt: Noise must be DiscreteLaplace or Geometric, not %d", cfg.Noise)
	case !(cfg.Epsilon >= 0x1p-20 && cfg.Epsilon <= 0x1p9):
		return nil, fmt.Errorf("svt: Epsilon must be in [2^-20, 2^9], not %g", cfg.Epsilon)
	case checkStop("Answers", cfg.Answers) != nil:
		return nil, checkStop("Answers", cfg.Answers)
	case cfg.Sensitivity < 1 || cfg.Sensitivity > 1<<20:
		return nil, fmt.Errorf("svt: Sensitivity must be in [1, 2^20], not %d", cfg.Sensitivity)
	case cfg.Threshold < -1<<50 || cfg.Threshold > 1<<50:
		return nil, fmt.Errorf("svt: Threshold must be between -2^50 and 2^50, not %d", cfg.Threshold)
	}
	share, moves := ThresholdShare(cfg.Answers, cfg.Monotone), 2*float64(cfg.Answers)
	if cfg.Monotone {
		moves = float64(cfg.Answers)
	}
	s := float64(cfg.Sensitivity) * (1 + 0x1p-48) // covers the rounding errors below
	d, err := newDrawn(Law{
		Threshold:      float64(cfg.Threshold),
		ThresholdNoise: Noise{cfg.Noise, s / (cfg.Epsilon * share)},
		QueryNoise:     Noise{cfg.Noise, moves * s / (cfg.Epsilon * (1 - share))},
		Stop:           cfg.Answers,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: choose another Epsilon", err)
	}
	return &SparseVector{d, cfg}, nil
}

func checkStop(field string, n int) error {
	if n < 1 || n > 1<<30 {
		return fmt.Errorf("svt: %s must be in [1, 2^30], not %d: it is what will be charged for", field, n)
	}
	return nil
}

// Event returns the worst-case event of a whole run.
func (m *SparseVector) Event() accountant.Event { return accountant.PureDP{Epsilon: m.cfg.Epsilon} }

// Session is a run of a [SparseVector]. Concurrent use is safe.
type Session struct{ run[bool] }

// Start begins a run. Start fails if r does not charge exactly m.Event(), or if r was used before.
func (m *SparseVector) Start(r *ledger.Reservation, key rng.Key) (*Session, error) {
	s := &Session{run[bool]{drawn: m.drawn, threshold: m.cfg.Threshold, stop: m.cfg.Answers}}
	return s, s.start(m.Event(), r, key, "sparse vector", uint64(m.cfg.Noise), uint64(m.cfg.Answers), uint64(m.cfg.Threshold),
		math.Float64bits(m.law.ThresholdNoise.Scale), math.Float64bits(m.law.QueryNoise.Scale))
}

// Ask reports whether value reaches the threshold. Each query must have its own public number. A repeated
// number returns the stored answer. After the stop, the error matches [ErrExhausted]. Releasing a noisy value
// needs another charge and independent noise.
func (s *Session) Ask(query uint64, value int64) (above bool, err error) {
	return s.ask(query, value, func(above bool) bool { return above })
}
