package accountant

import (
	"fmt"
	"math"
)

// Selection runs Event a random number of times, independently, and releases
// the best run by a score that is part of its output: a private search over
// hyper-parameters (Liu, Talwar 2019; Papernot, Steinke 2022). The number of
// runs has the truncated negative binomial law; Eta = 1 is the geometric law of
// mean 1/Gamma, Eta = 0 the logarithmic law. The law must be public and the
// number of runs must not be looked at by anybody who sees the data.
type Selection struct {
	Eta   float64 `json:"eta"`   // shape, > -1
	Gamma float64 `json:"gamma"` // in (0, 1); a small one means many runs
	Event Event   `json:"event"`
}

// PoissonSelection is Selection with a Poisson number of runs, which may be
// none.
type PoissonSelection struct {
	Mean  float64 `json:"mean"` // > 0
	Event Event   `json:"event"`
}

func (Selection) event()        {}
func (PoissonSelection) event() {}

// Validate implements Event.
func (e Selection) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (e PoissonSelection) Validate() error { return validTree(e, 0) }

func (e Selection) validate() error {
	if !(e.Eta > -1) || math.IsInf(e.Eta, 1) {
		return fmt.Errorf("%w: selection: eta must be a finite number above -1, got %v", ErrInvalidEvent, e.Eta)
	}
	if !(e.Gamma > 0 && e.Gamma < 1) {
		return fmt.Errorf("%w: selection: gamma must be in (0, 1), got %v", ErrInvalidEvent, e.Gamma)
	}
	return nil
}

// logMean returns the log of the expected number of runs, rounded up:
// eta (1-gamma) / (gamma (1-gamma^eta)), or (1/gamma - 1)/log(1/gamma) at 0.
func (e Selection) logMean() float64 {
	l := math.Log(e.Gamma)
	shape := -l // the limit of (1-gamma^eta)/eta
	if x := e.Eta * l; math.Abs(x) > 1e-290 {
		shape = -math.Expm1(x) / e.Eta
	}
	log, logShape := math.Log1p(-e.Gamma), math.Log(shape)
	// The terms cancel when there is hardly more than one run.
	return log - l - logShape + 8e-16*(math.Abs(l)+math.Abs(log)+math.Abs(logShape))
}
