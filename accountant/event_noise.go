package accountant

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// Gaussian is one release of a function plus Gaussian noise.
type Gaussian struct {
	NoiseMultiplier float64 `json:"noise_multiplier"` // noise standard deviation / L2 sensitivity, > 0
}

// Validate implements Event.
func (e Gaussian) Validate() error { return validTree(e, 0) }

type gaussianRow struct {
	leaf
	Gaussian
}

func (e Gaussian) row() row { return gaussianRow{leafOf(e), e} }

func (gaussianRow) name() string { return "gaussian" }

func (r gaussianRow) words(p printer) (mechanism, parameters string) {
	return "noisy sum", "Gaussian, " + p.number(r.NoiseMultiplier) + " × sensitivity"
}

func (r gaussianRow) check() error {
	return positive("gaussian", "noise_multiplier", r.NoiseMultiplier)
}

func (r gaussianRow) curve() curve             { return gaussianCurve(1 / r.NoiseMultiplier) }
func (r gaussianRow) rho() float64             { return gaussianRho(1 / r.NoiseMultiplier) }
func (r gaussianRow) sampledAs() (Event, bool) { return r.Gaussian, true }
func (r gaussianRow) group(n int64) (Event, error) {
	return Gaussian{downBy(r.NoiseMultiplier, float64(n))}, nil
}

func (r gaussianRow) sampledCurve(q float64) curve { return sampledGaussianCurve(q, r.NoiseMultiplier) }
func (r gaussianRow) pair() (pld.Pair, error)      { return pld.Gaussian(r.NoiseMultiplier, 1), nil }

func (gaussianRow) attained(*pld.Sum, int64) (dominating bool) { return true }

// Laplace is one release of a function plus continuous Laplace noise.
type Laplace struct {
	NoiseMultiplier float64 `json:"noise_multiplier"` // noise scale / L1 sensitivity, > 0
}

// Validate implements Event.
func (e Laplace) Validate() error { return validTree(e, 0) }

type laplaceRow struct {
	leaf
	Laplace
}

func (e Laplace) row() row { return laplaceRow{leafOf(e), e} }

func (laplaceRow) name() string { return "laplace" }

func (r laplaceRow) words(p printer) (mechanism, parameters string) {
	return "noisy sum", "Laplace, " + p.number(r.NoiseMultiplier) + " × sensitivity"
}

func (r laplaceRow) check() error {
	return positive("laplace", "noise_multiplier", r.NoiseMultiplier)
}

func (r laplaceRow) curve() curve             { return laplaceCurve(1 / r.NoiseMultiplier) }
func (r laplaceRow) sampledAs() (Event, bool) { return r.Laplace, true }

// sampledCurve: a sample costs no more than all records (the divergence is convex).
func (r laplaceRow) sampledCurve(q float64) curve {
	return leastCurve(sampledPureCurve(q, mathx.Up(1/r.NoiseMultiplier)), r.curve())
}

func (r laplaceRow) guarantee() (guarantee, bool) {
	return guarantee{mathx.Up(1 / r.NoiseMultiplier), 0}, true
}

func (r laplaceRow) group(n int64) (Event, error) {
	return Laplace{downBy(r.NoiseMultiplier, float64(n))}, nil
}

func (r laplaceRow) pair() (pld.Pair, error) { return pld.Laplace(1 / r.NoiseMultiplier), nil }

func (laplaceRow) attained(*pld.Sum, int64) (dominating bool) { return true }

// DiscreteGaussian is one release of an integer-valued function plus discrete
// Gaussian noise (Canonne, Kamath, Steinke 2020) on every coordinate.
type DiscreteGaussian struct {
	Sigma       float64 `json:"sigma"`       // parameter of the noise law, > 0
	Sensitivity float64 `json:"sensitivity"` // L2 sensitivity of the function, > 0
}

// Validate implements Event.
func (e DiscreteGaussian) Validate() error { return validTree(e, 0) }

type discreteGaussianRow struct {
	leaf
	DiscreteGaussian
}

func (e DiscreteGaussian) row() row { return discreteGaussianRow{leafOf(e), e} }

func (discreteGaussianRow) name() string { return "discrete_gaussian" }

func (r discreteGaussianRow) words(p printer) (mechanism, parameters string) {
	return "noisy sum", fmt.Sprintf("discrete Gaussian, σ %s, sensitivity %s", p.number(r.Sigma), p.number(r.Sensitivity))
}

func (r discreteGaussianRow) check() error {
	return errors.Join(positive("discrete_gaussian", "sigma", r.Sigma),
		positive("discrete_gaussian", "sensitivity", r.Sensitivity))
}

// curve returns that of Canonne, Kamath, Steinke 2020, Theorem 4, with equality where
// order times shift is an integer.
func (r discreteGaussianRow) curve() curve             { return gaussianCurve(r.Sensitivity / r.Sigma) }
func (r discreteGaussianRow) rho() float64             { return gaussianRho(r.Sensitivity / r.Sigma) }
func (r discreteGaussianRow) sampledAs() (Event, bool) { return r.DiscreteGaussian, true }

func (r discreteGaussianRow) group(n int64) (Event, error) {
	return DiscreteGaussian{r.Sigma, mathx.Up(r.Sensitivity * float64(n))}, nil
}

func (r discreteGaussianRow) sampledCurve(q float64) curve {
	return sampledDiscreteGaussianCurve(q, r.Sigma/r.Sensitivity)
}

func (r discreteGaussianRow) pair() (pld.Pair, error) {
	moved, err := r.moved()
	return pld.DiscreteGaussian(r.Sigma, moved), err
}

// moved returns how many coordinates the worst neighbour moves, each by one. An integer
// vector of L2 norm below 2 has entries 0 and +-1 only, at most norm^2 of them. From norm
// 2 on, moving one coordinate by two competes with moving four by one, and neither is known
// to dominate.
func (e DiscreteGaussian) moved() (int64, error) {
	// A sensitivity typed to a few digits means the root it is near. An integer function
	// that moves by less than 1 does not move.
	moved := int64(math.Floor(math.Min(e.Sensitivity*e.Sensitivity*(1+2e-3), 1<<40)))
	switch {
	case moved > 3:
		return 0, &UnsupportedEventError{e, "from sensitivity 2 on no single shift is known to be the worst"}
	case moved > 0 && 80*e.Sigma > pld.MaxAtoms:
		return 0, &UnsupportedEventError{e, fmt.Sprintf("a sigma above %d is too fine for a loss distribution", pld.MaxAtoms/80)}
	}
	return moved, nil
}

func (discreteGaussianRow) attained(*pld.Sum, int64) (dominating bool) { return true }

// DiscreteLaplace is one release of an integer-valued function plus discrete
// Laplace noise, mass proportional to exp(-|k|/Scale), on every coordinate.
type DiscreteLaplace struct {
	Scale       float64 `json:"scale"`       // > 0
	Sensitivity int64   `json:"sensitivity"` // L1 sensitivity of the function, >= 1
}

// Validate implements Event.
func (e DiscreteLaplace) Validate() error { return validTree(e, 0) }

type discreteLaplaceRow struct {
	leaf
	DiscreteLaplace
}

func (e DiscreteLaplace) row() row { return discreteLaplaceRow{leafOf(e), e} }

func (discreteLaplaceRow) name() string { return "discrete_laplace" }

func (r discreteLaplaceRow) words(p printer) (mechanism, parameters string) {
	return "noisy sum", fmt.Sprintf("discrete Laplace, scale %s, sensitivity %d", p.number(r.Scale), r.Sensitivity)
}

func (r discreteLaplaceRow) check() error {
	return errors.Join(positive("discrete_laplace", "scale", r.Scale),
		atLeast("discrete_laplace", "sensitivity", r.Sensitivity, 1))
}

func (r discreteLaplaceRow) curve() curve             { return discreteLaplaceCurve(r.Scale, r.Sensitivity) }
func (r discreteLaplaceRow) sampledAs() (Event, bool) { return r.DiscreteLaplace, true }

// sampledCurve: a sample costs no more than all records (the divergence is convex).
func (r discreteLaplaceRow) sampledCurve(q float64) curve {
	return leastCurve(sampledPureCurve(q, mathx.Up(float64(r.Sensitivity)/r.Scale)), r.curve())
}

func (r discreteLaplaceRow) guarantee() (guarantee, bool) {
	return guarantee{mathx.Up(float64(r.Sensitivity) / r.Scale), 0}, true
}

func (r discreteLaplaceRow) group(n int64) (Event, error) {
	s, err := mul(r.Sensitivity, n)
	return DiscreteLaplace{r.Scale, s}, err
}

func (r discreteLaplaceRow) pair() (pld.Pair, error) {
	if r.Sensitivity > pld.MaxAtoms {
		return pld.Pair{}, &UnsupportedEventError{r.event, fmt.Sprintf("a sensitivity above %d is too fine for a loss distribution", pld.MaxAtoms)}
	}
	return pld.DiscreteLaplace(r.Scale, r.Sensitivity), nil
}

func (discreteLaplaceRow) attained(*pld.Sum, int64) (dominating bool) { return true }
