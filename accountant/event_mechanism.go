package accountant

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// Gaussian is one release of a function plus Gaussian noise.
type Gaussian struct {
	NoiseMultiplier float64 `json:"noise_multiplier" in:">0"` // noise standard deviation / L2 sensitivity, > 0
}

func (Gaussian) row() row {
	return row{"gaussian", "noisy sum", "Gaussian, {noise_multiplier} × sensitivity", attained}
}

func (e Gaussian) curve() curve                 { return gaussianCurve(1 / e.NoiseMultiplier) }
func (e Gaussian) rho() float64                 { return gaussianRho(1 / e.NoiseMultiplier) }
func (e Gaussian) sampledAs() (Event, bool)     { return e, true }
func (e Gaussian) sampledCurve(q float64) curve { return sampledGaussianCurve(q, e.NoiseMultiplier) }
func (e Gaussian) pair() (pld.Pair, error)      { return pld.Gaussian(e.NoiseMultiplier, 1), nil }

func (e Gaussian) group(n int64) (Event, error) {
	return Gaussian{downBy(e.NoiseMultiplier, float64(n))}, nil
}

// Laplace is one release of a function plus continuous Laplace noise.
type Laplace struct {
	NoiseMultiplier float64 `json:"noise_multiplier" in:">0"` // noise scale / L1 sensitivity, > 0
}

func (Laplace) row() row {
	return row{"laplace", "noisy sum", "Laplace, {noise_multiplier} × sensitivity", attained}
}

func (e Laplace) curve() curve { return laplaceCurve(1 / e.NoiseMultiplier) }
func (e Laplace) guarantee() (guarantee, bool) {
	return guarantee{mathx.Up(1 / e.NoiseMultiplier), 0}, true
}
func (e Laplace) sampledAs() (Event, bool) { return e, true }
func (e Laplace) pair() (pld.Pair, error)  { return pld.Laplace(1 / e.NoiseMultiplier), nil }

func (e Laplace) sampledCurve(q float64) curve {
	return leastCurve(sampledPureCurve(q, mathx.Up(1/e.NoiseMultiplier)), e.curve())
}

func (e Laplace) group(n int64) (Event, error) {
	return Laplace{downBy(e.NoiseMultiplier, float64(n))}, nil
}

// DiscreteGaussian is one release of an integer-valued function plus discrete Gaussian noise on every
// coordinate (Canonne, Kamath, Steinke 2020).
type DiscreteGaussian struct {
	Sigma       float64 `json:"sigma" in:">0"`       // parameter of the noise distribution, > 0
	Sensitivity float64 `json:"sensitivity" in:">0"` // L2 sensitivity of the function, > 0
}

func (DiscreteGaussian) row() row {
	return row{"discrete_gaussian", "noisy sum",
		"discrete Gaussian, σ {sigma}, sensitivity {sensitivity}", attained}
}

// curve follows Theorem 4 of Canonne, Kamath, Steinke 2020.
func (e DiscreteGaussian) curve() curve             { return gaussianCurve(e.Sensitivity / e.Sigma) }
func (e DiscreteGaussian) rho() float64             { return gaussianRho(e.Sensitivity / e.Sigma) }
func (e DiscreteGaussian) sampledAs() (Event, bool) { return e, true }

func (e DiscreteGaussian) sampledCurve(q float64) curve {
	return sampledDiscreteGaussianCurve(q, e.Sigma/e.Sensitivity)
}

func (e DiscreteGaussian) group(n int64) (Event, error) {
	return DiscreteGaussian{e.Sigma, mathx.Up(e.Sensitivity * float64(n))}, nil
}

func (e DiscreteGaussian) pair() (pld.Pair, error) {
	moved, err := e.moved()
	return pld.DiscreteGaussian(e.Sigma, moved), err
}

// moved returns the largest number of coordinates that change by 1 between neighbours.
func (e DiscreteGaussian) moved() (int64, error) {
	// An integer vector of L2 norm below 2 has at most norm^2 nonzero entries, all 1 or -1. If the norm is 2
	// or more, one entry may be 2, or four entries may be 1. Neither change is known to dominate, so moved
	// returns an error.
	// The tolerance accepts rounded roots such as 1.414. A sensitivity below 1 means a constant function.
	moved := int64(math.Floor(math.Min(e.Sensitivity*e.Sensitivity*(1+2e-3), 1<<40)))
	switch {
	case moved > 3:
		return 0, &UnsupportedEventError{e, "from sensitivity 2 on no single shift is known to be the worst"}
	case moved > 0 && 80*e.Sigma > pld.MaxAtoms:
		return 0, &UnsupportedEventError{e, fmt.Sprintf("a sigma above %d is too fine for a privacy loss distribution", pld.MaxAtoms/80)}
	}
	return moved, nil
}

// DiscreteLaplace is one release of an integer-valued function plus discrete Laplace noise on every
// coordinate. The mass of k is proportional to exp(-|k|/Scale).
type DiscreteLaplace struct {
	Scale       float64 `json:"scale" in:">0"`      // > 0
	Sensitivity int64   `json:"sensitivity" in:"1"` // L1 sensitivity of the function, >= 1
}

func (DiscreteLaplace) row() row {
	return row{"discrete_laplace", "noisy sum",
		"discrete Laplace, scale {scale}, sensitivity {sensitivity}", attained}
}

func (e DiscreteLaplace) epsilon() float64             { return mathx.Up(float64(e.Sensitivity) / e.Scale) }
func (e DiscreteLaplace) curve() curve                 { return discreteLaplaceCurve(e.Scale, e.Sensitivity) }
func (e DiscreteLaplace) guarantee() (guarantee, bool) { return guarantee{e.epsilon(), 0}, true }
func (e DiscreteLaplace) sampledAs() (Event, bool)     { return e, true }

func (e DiscreteLaplace) sampledCurve(q float64) curve {
	return leastCurve(sampledPureCurve(q, e.epsilon()), e.curve())
}

func (e DiscreteLaplace) group(n int64) (Event, error) {
	s, err := mul(e.Sensitivity, n)
	return DiscreteLaplace{e.Scale, s}, err
}

func (e DiscreteLaplace) pair() (pld.Pair, error) {
	if e.Sensitivity > pld.MaxAtoms {
		return pld.Pair{}, &UnsupportedEventError{e, fmt.Sprintf("a sensitivity above %d is too fine for a privacy loss distribution", pld.MaxAtoms)}
	}
	return pld.DiscreteLaplace(e.Scale, e.Sensitivity), nil
}

// PureDP is any mechanism that is Epsilon-differentially private.
type PureDP struct {
	Epsilon float64 `json:"epsilon" in:">=0"` // >= 0
}

func (PureDP) row() row { return row{"pure", "mechanism of pure ε", "ε {^epsilon}", attained} }

func (e PureDP) curve() curve                 { return pureCurve(e.Epsilon) }
func (e PureDP) sampledAs() (Event, bool)     { return e, true }
func (e PureDP) sampledCurve(q float64) curve { return sampledPureCurve(q, e.Epsilon) }
func (e PureDP) guarantee() (guarantee, bool) { return guarantee{e.Epsilon, 0}, true }
func (e PureDP) pair() (pld.Pair, error)      { return pld.Response(e.Epsilon), nil }

// RandomizedResponse is one randomised response. Epsilon is the largest log-ratio of its probabilities. It is
// accounted as binary randomised response, the worst mechanism with this Epsilon.
type RandomizedResponse struct {
	Epsilon float64 `json:"epsilon" in:">=0"` // >= 0
}

func (RandomizedResponse) row() row {
	return row{"randomized_response", "randomised response", "ε {^epsilon}", attained}
}

func (e RandomizedResponse) curve() curve                 { return pureCurve(e.Epsilon) }
func (e RandomizedResponse) sampledAs() (Event, bool)     { return PureDP(e), true }
func (e RandomizedResponse) guarantee() (guarantee, bool) { return guarantee{e.Epsilon, 0}, true }
func (e RandomizedResponse) pair() (pld.Pair, error)      { return pld.Response(e.Epsilon), nil }

// KaryResponse is one randomised response among Categories answers. The true answer has e^Epsilon times the
// probability of each other answer. Only replace_one is supported, because in a local mechanism every person
// gives an answer.
type KaryResponse struct {
	Epsilon    float64 `json:"epsilon" in:">=0"`  // largest log-ratio, >= 0
	Categories int64   `json:"categories" in:"2"` // >= 2
}

func (KaryResponse) row() row {
	return row{"k_randomized_response", "randomised response", "ε {^epsilon} among {categories}", attained}
}

func (KaryResponse) relation() Relation { return ReplaceOne }

const karyNeedsReplaceOne = "a response is about a record that is there: it is accounted under replace_one; randomized_response holds it under both"

func (e KaryResponse) flatten(t *terms, count int64) {
	if t.rel != ReplaceOne {
		t.refuse(e, karyNeedsReplaceOne)
	}
	t.add(e, count)
}

func (e KaryResponse) curve() curve                 { return karyCurve(e.Epsilon, e.Categories) }
func (e KaryResponse) guarantee() (guarantee, bool) { return guarantee{e.Epsilon, 0}, true }
func (e KaryResponse) pair() (pld.Pair, error)      { return pld.Kary(e.Epsilon, e.Categories), nil }

// ExponentialMechanism is one selection by the exponential mechanism (Gumbel noise). Its log-ratios lie in an
// interval of length Epsilon (bounded range). Permute-and-flip has no bounded range: charge PureDP instead.
type ExponentialMechanism struct {
	Epsilon float64 `json:"epsilon" in:">=0"` // pure epsilon of one selection, >= 0
}

func (ExponentialMechanism) row() row {
	return row{"exponential", "exponential mechanism", "ε {^epsilon}", bounded}
}

func (e ExponentialMechanism) curve() curve                 { return boundedRangeCurve(e.Epsilon) }
func (e ExponentialMechanism) guarantee() (guarantee, bool) { return guarantee{e.Epsilon, 0}, true }
func (e ExponentialMechanism) pair() (pld.Pair, error)      { return pld.BoundedRange(e.Epsilon), nil }

// rho returns the smaller zCDP bound, from bounded range (Cesar, Rogers 2021) or from pure privacy.
func (e ExponentialMechanism) rho() float64 {
	return math.Min(gaussianRho(e.Epsilon/2), pureRho(e.Epsilon))
}

func (e ExponentialMechanism) group(n int64) (Event, error) {
	return ExponentialMechanism{mathx.Up(e.Epsilon * float64(n))}, nil
}

// attained bounds the cost from below, by two neighbours with the same two candidates and swapped scores.
func (e ExponentialMechanism) attained(s *pld.Sum, n int64) (dominating bool) {
	s.AddOdds(e.Epsilon/2, n)
	return false
}

// ZCDP is any mechanism that satisfies Rho-zero-concentrated differential privacy (Bun, Steinke 2016).
type ZCDP struct {
	Rho float64 `json:"rho" in:">=0"` // >= 0
}

func (ZCDP) row() row {
	return row{"zcdp", "mechanism of zero-concentrated cost", "ρ {^rho}", bounded}
}

func (e ZCDP) curve() curve { return linearCurve(e.Rho) }
func (e ZCDP) rho() float64 { return e.Rho }

func (e ZCDP) group(n int64) (Event, error) {
	g := float64(n)
	return ZCDP{mathx.Up(e.Rho * g * g * (1 + 2e-16))}, nil
}

func (e ZCDP) pair() (pld.Pair, error) {
	return pld.Pair{}, &UnsupportedEventError{e, "zero-concentrated privacy bounds moments of the loss, not its distribution: no pair dominates it"}
}

// NonPrivate reveals its input. Accountants return an infinite epsilon. Sampling of NonPrivate is an error.
type NonPrivate struct{}

func (NonPrivate) row() row { return row{"non_private", "release without protection", "", attained} }

func (NonPrivate) guarantee() (guarantee, bool) { return guarantee{math.Inf(1), 0}, true }
func (NonPrivate) group(int64) (Event, error)   { return NonPrivate{}, nil }
func (NonPrivate) pair() (pld.Pair, error)      { return pld.Revealing(), nil }
