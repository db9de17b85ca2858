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

// Validate implements Event.
func (e Selection) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (e PoissonSelection) Validate() error { return validTree(e, 0) }

type selectionRow struct {
	unsupported
	Selection
}

func (e Selection) row() row { return selectionRow{unsupported{e}, e} }

func (selectionRow) name() string        { return "selection" }
func (r selectionRow) children() []Event { return []Event{r.Event} }

func (r selectionRow) words(p printer) (mechanism, parameters string) {
	return "best of a random number of runs", fmt.Sprintf("η %s, γ %s", p.number(r.Eta), p.number(r.Gamma))
}

func (r selectionRow) check() error {
	if !(r.Eta > -1) || math.IsInf(r.Eta, 1) {
		return fmt.Errorf("%w: selection: eta must be a finite number above -1, got %v", ErrInvalidEvent, r.Eta)
	}
	if !(r.Gamma > 0 && r.Gamma < 1) {
		return fmt.Errorf("%w: selection: gamma must be in (0, 1), got %v", ErrInvalidEvent, r.Gamma)
	}
	return nil
}

func (r selectionRow) flatten(t *terms, count int64, rel Relation) error {
	return t.selection(r.event, selected{eta: r.Eta, gamma: r.Gamma}, r.Event, count, rel)
}

// group: the theorem compares runs, at whatever distance.
func (r selectionRow) group(n int64) (Event, error) {
	return Selection{r.Eta, r.Gamma, Group{n, r.Event}}, nil
}

type poissonSelectionRow struct {
	unsupported
	PoissonSelection
}

func (e PoissonSelection) row() row { return poissonSelectionRow{unsupported{e}, e} }

func (poissonSelectionRow) name() string        { return "poisson_selection" }
func (r poissonSelectionRow) children() []Event { return []Event{r.Event} }

func (r poissonSelectionRow) words(p printer) (mechanism, parameters string) {
	return "best of a Poisson number of runs", "mean " + p.number(r.Mean)
}

func (r poissonSelectionRow) check() error { return positive("poisson_selection", "mean", r.Mean) }

func (r poissonSelectionRow) flatten(t *terms, count int64, rel Relation) error {
	return t.selection(r.event, selected{mean: r.Mean}, r.Event, count, rel)
}

func (r poissonSelectionRow) group(n int64) (Event, error) {
	return PoissonSelection{r.Mean, Group{n, r.Event}}, nil
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
