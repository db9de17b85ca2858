package svt

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// StableSVTConfig holds the parameters of a [StableSVT]. [CalibrateStableSVT] computes such parameters.
// All fields except Threshold are required.
type StableSVTConfig struct {
	B1        float64 // scale of the threshold noise, in records; [2^-10, 2^40]
	B2        float64 // scale of the query noise, in records; [2^-10, 2^40]
	Threshold int64   // for the distance, in records; [0, 2^50]
	Failures  int     // refusals after which the run stops; [1, 2^30]
}

// Proof. Fix neighbours D and D'. Let G be the transcripts that release no query with f_i(D) != f_i(D').
//
//  1. Outside G some query with d_i = 0 was released, so rho > Threshold + nu_i >= Threshold. For all queries
//     together, this has probability at most P[rho > Threshold]: no union bound is needed.
//  2. On G all released answers agree. Couple rho = z under D with rho = z + 1 under D'.
//  3. A release, nu < d_i - Threshold + z, becomes nu < d'_i - Threshold + z + 1. The right side grows by 0
//     to 2, so a release is no less likely.
//  4. A refusal is less likely by a factor of at most e^(2/B2), and at most Q refusals occur.
//  5. With P[rho = z] = e^(1/B1) P[rho = z + 1], P_D(S and G) <= e^epsilon P_D'(S and G) for every S. Each
//     step is about one transcript, so the queries may be adaptive.
//
// Up to the first release of a query with d_i = 0, at most Q such queries are tried, because each failed try
// is a refusal. So the exact delta is P[rho > Threshold + min(nu_1..nu_Q)],
//
//	r1^(Threshold+1) (1 - r2^Q)/(1 - r1 r2^Q),   r = e^(-1/B),
//
// and a run with only unstable queries attains it. The event accountant.StableSVT charges the simpler bound.
// Sparse vector with exponential noise is known (Liu et al. 2024). The proof without a union bound is new. It
// was checked by enumeration and an adversarial review (see docs/claims.md).

// StableSVT releases any number of stable answers and stops after Failures refusals. Query i has the
// answer f_i and the distance d_i (see [StableSession.Ask]). All noise values are integers and never
// negative. The noise rho is drawn once, with P[rho = k] proportional to e^(-k/B1). The noise nu_i is
// drawn for query i, with P[nu_i = k] proportional to e^(-k/B2). The rule is
//
//	release f_i  iff  d_i - nu_i > Threshold - rho;  otherwise refuse;  stop at refusal Q = Failures
//
// This rule is (epsilon, delta)-differentially private for any number of adaptively chosen queries, with
//
//	epsilon = 1/B1 + 2 Q/B2,   delta = P[rho > Threshold] = e^(-(Threshold+1)/B1).
type StableSVT struct {
	drawn
	cfg StableSVTConfig
}

// NewStableSVT returns the mechanism for cfg.
func NewStableSVT(cfg StableSVTConfig) (*StableSVT, error) {
	if err := checkStable(cfg.Threshold, cfg.Failures); err != nil {
		return nil, err
	}
	d, err := newDrawn(Law{
		Threshold:      -float64(cfg.Threshold),
		ThresholdNoise: Noise{Geometric, cfg.B1},
		QueryNoise:     Noise{Geometric, cfg.B2},
		Stop:           cfg.Failures,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: B1 %g, B2 %g", err, cfg.B1, cfg.B2)
	}
	return &StableSVT{d, cfg}, nil
}

func checkStable(threshold int64, failures int) error {
	if err := checkStop("Failures", failures); err != nil {
		return err
	}
	if threshold < 0 || threshold > 1<<50 {
		return fmt.Errorf("svt: Threshold must be in [0, 2^50] records, not %d", threshold)
	}
	return nil
}

// CalibrateStableSVT returns the config of a whole run at (epsilon, delta). Let d be the distance to
// instability (package stability) at which an answer is refused with probability `refusal`. The config
// minimises d, to about (sqrt(log 1/delta) + sqrt(2 failures log 1/refusal))^2/epsilon.
func CalibrateStableSVT(epsilon, delta float64, failures int, refusal float64) (StableSVTConfig, error) {
	if !(epsilon >= 0x1p-20 && epsilon <= 0x1p9 && delta >= 1e-300 && delta < 1 && refusal >= 1e-12 && refusal < 1) {
		return StableSVTConfig{}, fmt.Errorf("svt: no stable sparse vector at epsilon %g, delta %g and refusal %g", epsilon, delta, refusal)
	}
	if err := checkStop("failures", failures); err != nil {
		return StableSVTConfig{}, err
	}
	q := float64(failures)
	a, b := math.Sqrt(-math.Log(delta)), math.Sqrt(-2*q*math.Log(refusal))
	const up = 1 + 0x1p-48 // exceeds the rounding error of epsilon
	cfg := StableSVTConfig{B1: (a + b) / (a * epsilon) * up, B2: 2 * q * (a + b) / (b * epsilon) * up, Failures: failures}
	cfg.Threshold = int64(max(0, math.Ceil(-math.Log(delta)*cfg.B1*up)-1))
	return cfg, nil
}

// Event implements [StableMechanism].
func (m *StableSVT) Event() accountant.Event {
	return accountant.StableSVT{B1: m.cfg.B1, B2: m.cfg.B2, Threshold: m.cfg.Threshold, Failures: int64(m.cfg.Failures)}
}

// LawAt implements [StableMechanism] in closed form.
func (m *StableSVT) LawAt(distance int64) (released, refused float64) {
	// At a distance d below the threshold w, the probability of a release is P[rho - nu > w - d] = r1^(w-d+1)
	// (1-r2)/(1-r1 r2). At or above w, the probability of a refusal is P[nu - rho >= d - w] = r2^(d-w)
	// (1-r1)/(1-r1 r2).
	above := float64(distance - m.cfg.Threshold)
	t1, t2 := 1/m.cfg.B1, 1/m.cfg.B2
	both := math.Log(-math.Expm1(-t1 - t2))
	if above < 0 {
		released = (above-1)*t1 + math.Log(-math.Expm1(-t2)) - both
		return released, math.Log1p(-math.Exp(released))
	}
	refused = -above*t2 + math.Log(-math.Expm1(-t1)) - both
	return math.Log1p(-math.Exp(refused)), refused
}

func (m *StableSVT) identity() (string, []uint64) {
	return "stable svt", []uint64{math.Float64bits(m.cfg.B1), math.Float64bits(m.cfg.B2), uint64(m.cfg.Threshold), uint64(m.cfg.Failures)}
}
