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

// sampledCurve: a sample costs no more than all records (the divergence is convex).
func (e Laplace) sampledCurve(q float64) curve {
	return leastCurve(sampledPureCurve(q, mathx.Up(1/e.NoiseMultiplier)), e.curve())
}

func (e Laplace) group(n int64) (Event, error) {
	return Laplace{downBy(e.NoiseMultiplier, float64(n))}, nil
}

// DiscreteGaussian is one release of an integer-valued function plus discrete Gaussian noise (Canonne,
// Kamath, Steinke 2020) on every coordinate.
type DiscreteGaussian struct {
	Sigma       float64 `json:"sigma" in:">0"`       // parameter of the noise law, > 0
	Sensitivity float64 `json:"sensitivity" in:">0"` // L2 sensitivity of the function, > 0
}

func (DiscreteGaussian) row() row {
	return row{"discrete_gaussian", "noisy sum",
		"discrete Gaussian, σ {sigma}, sensitivity {sensitivity}", attained}
}

// curve follows Canonne, Kamath, Steinke 2020, Theorem 4, with equality where order times shift is an
// integer.
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

// moved returns how many coordinates the worst neighbour moves, each by one. An integer vector of L2 norm
// below 2 has entries 0 and +-1 only, at most norm^2 nonzero. From norm 2 on, moving one coordinate by two
// competes with moving four by one, and neither is known to dominate.
func (e DiscreteGaussian) moved() (int64, error) {
	// A sensitivity typed to a few digits means the root it is near. An integer function that moves by less
	// than 1 does not move.
	moved := int64(math.Floor(math.Min(e.Sensitivity*e.Sensitivity*(1+2e-3), 1<<40)))
	switch {
	case moved > 3:
		return 0, &UnsupportedEventError{e, "from sensitivity 2 on no single shift is known to be the worst"}
	case moved > 0 && 80*e.Sigma > pld.MaxAtoms:
		return 0, &UnsupportedEventError{e, fmt.Sprintf("a sigma above %d is too fine for a privacy loss distribution", pld.MaxAtoms/80)}
	}
	return moved, nil
}

// DiscreteLaplace is one release of an integer-valued function plus discrete Laplace noise, mass
// proportional to exp(-|k|/Scale), on every coordinate.
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

// sampledCurve: a sample costs no more than all records (the divergence is convex).
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
