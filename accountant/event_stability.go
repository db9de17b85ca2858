package accountant

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// MStab is one propose-test-release of a stable answer: release it if and only
// if its distance to instability plus Laplace noise of scale 1/Epsilon exceeds
// Threshold (Dwork, Lei 2009; Smith, Thakurta 2013). The noise is continuous;
// with discrete Laplace noise and an integer threshold charge
// WithFailure{PureDP{Epsilon}, exp(-Epsilon*Threshold)/2} instead.
type MStab struct {
	Epsilon   float64 `json:"epsilon"`   // of the distance, which has sensitivity 1, > 0
	Threshold float64 `json:"threshold"` // >= 0
}

// Validate implements Event.
func (e MStab) Validate() error { return validTree(e, 0) }

// failure returns P[noise > Threshold], rounded up.
func (e MStab) failure() float64 {
	log := math.Max(-800, -e.Epsilon*e.Threshold) // e^-800 is 0 already
	return math.Min(1, mathx.Up(0.5*math.Exp(log)*(1+4e-16*(2-log))))
}

type mstabRow struct {
	leaf
	MStab
}

func (e MStab) row() row { return mstabRow{leafOf(e), e} }

func (mstabRow) name() string { return "m_stab" }

func (r mstabRow) words(p printer) (mechanism, parameters string) {
	return "release of a stable answer", fmt.Sprintf("ε %s, threshold %s", p.claim(r.Epsilon), p.number(r.Threshold))
}

func (r mstabRow) check() error {
	return errors.Join(positive("m_stab", "epsilon", r.Epsilon),
		nonNegative("m_stab", "threshold", r.Threshold))
}

func (r mstabRow) flatten(t *terms, count int64, rel Relation) error {
	if err := t.fail(r.failure(), count); err != nil {
		return err
	}
	return t.curves.add(r.event, count)
}

// curve and pair are those of the good event; the failure is counted apart.
func (r mstabRow) curve() curve                 { return laplaceCurve(r.Epsilon) }
func (r mstabRow) guarantee() (guarantee, bool) { return guarantee{r.Epsilon, r.failure()}, true }

func (r mstabRow) pair() (pld.Pair, error) { return pld.Laplace(r.Epsilon), nil }

// AboveThreshold is one run of the sparse vector technique with continuous
// Laplace noise: one noisy threshold of scale 1/Epsilon1, fresh query noise of
// scale 2 Answers/Epsilon2, halt at the last of Answers positive answers
// (Dwork, Roth 2014; Lyu, Su, Li 2017, Algorithm 7). Charge integer noise as
// PureDP{Epsilon1 + Epsilon2}.
type AboveThreshold struct {
	Epsilon1 float64 `json:"epsilon1"` // of the threshold, > 0
	Epsilon2 float64 `json:"epsilon2"` // of all answers together, > 0
	Answers  int64   `json:"answers"`  // >= 1
}

// Validate implements Event.
func (e AboveThreshold) Validate() error { return validTree(e, 0) }

type aboveThresholdRow struct {
	leaf
	AboveThreshold
}

func (e AboveThreshold) row() row { return aboveThresholdRow{leafOf(e), e} }

func (aboveThresholdRow) name() string { return "above_threshold" }

func (r aboveThresholdRow) words(p printer) (mechanism, parameters string) {
	return "sparse vector", fmt.Sprintf("ε %s + %s, %d answers", p.claim(r.Epsilon1), p.claim(r.Epsilon2), r.Answers)
}

func (r aboveThresholdRow) check() error {
	return errors.Join(positive("above_threshold", "epsilon1", r.Epsilon1),
		positive("above_threshold", "epsilon2", r.Epsilon2),
		atLeast("above_threshold", "answers", r.Answers, 1))
}

func (r aboveThresholdRow) curve() curve { return aboveThresholdCurve(r.AboveThreshold) }

func (r aboveThresholdRow) guarantee() (guarantee, bool) {
	return guarantee{mathx.Up(r.Epsilon1 + r.Epsilon2), 0}, true
}

func (r aboveThresholdRow) group(n int64) (Event, error) {
	g := float64(n)
	return AboveThreshold{mathx.Up(r.Epsilon1 * g), mathx.Up(r.Epsilon2 * g), r.Answers}, nil
}

func (r aboveThresholdRow) pair() (pld.Pair, error) {
	return pld.Response(mathx.Up(r.Epsilon1 + r.Epsilon2)), nil
}

// StableSVT is one run of the stable sparse vector with one-sided integer
// noise: a threshold noise of mass proportional to exp(-k/B1), fresh query
// noise of mass proportional to exp(-k/B2), k >= 0; stable answers are released
// free of further charge until Failures queries have failed.
type StableSVT struct {
	B1        float64 `json:"b1"`        // > 0
	B2        float64 `json:"b2"`        // > 0
	Threshold int64   `json:"threshold"` // >= 0
	Failures  int64   `json:"failures"`  // >= 1
}

// Validate implements Event.
func (e StableSVT) Validate() error { return validTree(e, 0) }

// failure returns the chance that the threshold noise is beyond the threshold, rounded
// up.
func (e StableSVT) failure() float64 {
	return math.Min(1, mathx.Up(math.Exp(-(float64(e.Threshold)+1)/e.B1)*(1+1e-12)))
}

// epsilon returns what the threshold noise and the failed queries cost, rounded up.
func (e StableSVT) epsilon() float64 {
	return mathx.Up((1/e.B1 + 2*float64(e.Failures)/e.B2) * (1 + 4e-16))
}

type stableSVTRow struct {
	leaf
	StableSVT
}

func (e StableSVT) row() row { return stableSVTRow{leafOf(e), e} }

func (stableSVTRow) name() string { return "stable_svt" }

func (r stableSVTRow) words(p printer) (mechanism, parameters string) {
	return "sparse vector of stable answers", fmt.Sprintf("b %s, %s, threshold %d, %d failures",
		p.number(r.B1), p.number(r.B2), r.Threshold, r.Failures)
}

func (r stableSVTRow) check() error {
	return errors.Join(positive("stable_svt", "b1", r.B1), positive("stable_svt", "b2", r.B2),
		atLeast("stable_svt", "threshold", r.Threshold, 0),
		atLeast("stable_svt", "failures", r.Failures, 1))
}

func (r stableSVTRow) flatten(t *terms, count int64, rel Relation) error {
	if err := t.fail(r.failure(), count); err != nil {
		return err
	}
	return t.curves.add(r.event, count)
}

func (r stableSVTRow) curve() curve                 { return pureCurve(r.epsilon()) }
func (r stableSVTRow) guarantee() (guarantee, bool) { return guarantee{r.epsilon(), r.failure()}, true }

func (r stableSVTRow) pair() (pld.Pair, error) { return pld.Response(r.epsilon()), nil }
