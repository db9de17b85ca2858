package accountant

import (
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

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

// RandomizedResponse is one randomised response whose largest log-ratio is Epsilon. It costs as much as the
// binary one, the worst of that Epsilon.
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

// KaryResponse is one randomised response among Categories answers: the true one with a chance e^Epsilon
// times the chance of each other. It is a local mechanism whose input is replaced, so it is accounted under
// replace_one.
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

// ExponentialMechanism is one selection by the exponential mechanism (Gumbel noise). Its log-ratios lie in
// an interval of length Epsilon (bounded range), which permute-and-flip does not satisfy: charge that as
// PureDP.
type ExponentialMechanism struct {
	Epsilon float64 `json:"epsilon" in:">=0"` // pure epsilon of one selection, >= 0
}

func (ExponentialMechanism) row() row {
	return row{"exponential", "exponential mechanism", "ε {^epsilon}", bounded}
}

func (e ExponentialMechanism) curve() curve                 { return boundedRangeCurve(e.Epsilon) }
func (e ExponentialMechanism) guarantee() (guarantee, bool) { return guarantee{e.Epsilon, 0}, true }
func (e ExponentialMechanism) pair() (pld.Pair, error)      { return pld.BoundedRange(e.Epsilon), nil }

// rho returns the lesser of the bound of bounded range (Cesar, Rogers 2021) and of pure privacy.
func (e ExponentialMechanism) rho() float64 {
	return math.Min(gaussianRho(e.Epsilon/2), pureRho(e.Epsilon))
}

func (e ExponentialMechanism) group(n int64) (Event, error) {
	return ExponentialMechanism{mathx.Up(e.Epsilon * float64(n))}, nil
}

// attained adds the choice between two candidates that one record turns around.
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

// NonPrivate reveals its input. Accountants return an infinite epsilon and refuse to sample it.
type NonPrivate struct{}

func (NonPrivate) row() row { return row{"non_private", "release without protection", "", attained} }

func (NonPrivate) guarantee() (guarantee, bool) { return guarantee{math.Inf(1), 0}, true }
func (NonPrivate) group(int64) (Event, error)   { return NonPrivate{}, nil }
func (NonPrivate) pair() (pld.Pair, error)      { return pld.Revealing(), nil }
