package accountant

import (
	"errors"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// PureDP is any mechanism that is Epsilon-differentially private.
type PureDP struct {
	Epsilon float64 `json:"epsilon"` // >= 0
}

// Validate implements Event.
func (e PureDP) Validate() error { return validTree(e, 0) }

type pureDPRow struct {
	leaf
	PureDP
}

func (e PureDP) row() row { return pureDPRow{leafOf(e), e} }

func (pureDPRow) name() string { return "pure" }

func (r pureDPRow) words(p printer) (mechanism, parameters string) {
	return "mechanism of pure ε", "ε " + p.claim(r.Epsilon)
}

func (r pureDPRow) check() error                 { return nonNegative("pure", "epsilon", r.Epsilon) }
func (r pureDPRow) curve() curve                 { return pureCurve(r.Epsilon) }
func (r pureDPRow) sampledAs() (Event, bool)     { return r.PureDP, true }
func (r pureDPRow) guarantee() (guarantee, bool) { return guarantee{r.Epsilon, 0}, true }

func (r pureDPRow) sampledCurve(q float64) curve { return sampledPureCurve(q, r.Epsilon) }
func (r pureDPRow) pair() (pld.Pair, error)      { return pld.Response(r.Epsilon), nil }

func (pureDPRow) attained(*pld.Sum, int64) (dominating bool) { return true }

// RandomizedResponse is one randomised response whose largest log-ratio is
// Epsilon. Its cost is that of the binary one, the worst of that Epsilon.
type RandomizedResponse struct {
	Epsilon float64 `json:"epsilon"` // >= 0
}

// Validate implements Event.
func (e RandomizedResponse) Validate() error { return validTree(e, 0) }

type randomizedResponseRow struct {
	leaf
	RandomizedResponse
}

func (e RandomizedResponse) row() row { return randomizedResponseRow{leafOf(e), e} }

func (randomizedResponseRow) name() string { return "randomized_response" }

func (r randomizedResponseRow) words(p printer) (mechanism, parameters string) {
	return "randomised response", "ε " + p.claim(r.Epsilon)
}

func (r randomizedResponseRow) check() error {
	return nonNegative("randomized_response", "epsilon", r.Epsilon)
}

func (r randomizedResponseRow) curve() curve                 { return pureCurve(r.Epsilon) }
func (r randomizedResponseRow) sampledAs() (Event, bool)     { return PureDP(r.RandomizedResponse), true }
func (r randomizedResponseRow) guarantee() (guarantee, bool) { return guarantee{r.Epsilon, 0}, true }

func (r randomizedResponseRow) pair() (pld.Pair, error) { return pld.Response(r.Epsilon), nil }

func (randomizedResponseRow) attained(*pld.Sum, int64) (dominating bool) { return true }

// KaryResponse is one randomised response among Categories answers: the true
// one with a chance e^Epsilon times that of each other. It is a local mechanism
// whose input is replaced, so it is accounted under replace_one.
type KaryResponse struct {
	Epsilon    float64 `json:"epsilon"`    // largest log-ratio, >= 0
	Categories int64   `json:"categories"` // >= 2
}

// Validate implements Event.
func (e KaryResponse) Validate() error { return validTree(e, 0) }

type karyResponseRow struct {
	leaf
	KaryResponse
}

func (e KaryResponse) row() row { return karyResponseRow{leafOf(e), e} }

const karyNeedsReplaceOne = "a response is about a record that is there: it is accounted under replace_one; randomized_response holds it under both"

func (karyResponseRow) name() string { return "k_randomized_response" }

func (r karyResponseRow) words(p printer) (mechanism, parameters string) {
	return "randomised response", fmt.Sprintf("ε %s among %d", p.claim(r.Epsilon), r.Categories)
}

func (r karyResponseRow) check() error {
	return errors.Join(nonNegative("k_randomized_response", "epsilon", r.Epsilon),
		atLeast("k_randomized_response", "categories", r.Categories, 2))
}

func (karyResponseRow) relation() Relation { return ReplaceOne }

func (r karyResponseRow) flatten(t *terms, count int64, rel Relation) error {
	if rel != ReplaceOne {
		return &UnsupportedEventError{r.event, karyNeedsReplaceOne}
	}
	return t.curves.add(r.event, count)
}

func (r karyResponseRow) curve() curve                 { return karyCurve(r.Epsilon, r.Categories) }
func (r karyResponseRow) guarantee() (guarantee, bool) { return guarantee{r.Epsilon, 0}, true }

func (r karyResponseRow) pair() (pld.Pair, error) { return pld.Kary(r.Epsilon, r.Categories), nil }

func (karyResponseRow) attained(*pld.Sum, int64) (dominating bool) { return true }

// ExponentialMechanism is one selection by the exponential mechanism (Gumbel
// noise). Its log-ratios lie in an interval of length Epsilon (bounded range),
// which permute-and-flip does not satisfy: charge that as PureDP.
type ExponentialMechanism struct {
	Epsilon float64 `json:"epsilon"` // pure epsilon of one selection, >= 0
}

// Validate implements Event.
func (e ExponentialMechanism) Validate() error { return validTree(e, 0) }

type exponentialMechanismRow struct {
	leaf
	ExponentialMechanism
}

func (e ExponentialMechanism) row() row { return exponentialMechanismRow{leafOf(e), e} }

func (exponentialMechanismRow) name() string { return "exponential" }

func (r exponentialMechanismRow) words(p printer) (mechanism, parameters string) {
	return "exponential mechanism", "ε " + p.claim(r.Epsilon)
}

func (r exponentialMechanismRow) check() error {
	return nonNegative("exponential", "epsilon", r.Epsilon)
}

func (r exponentialMechanismRow) curve() curve                 { return boundedRangeCurve(r.Epsilon) }
func (r exponentialMechanismRow) guarantee() (guarantee, bool) { return guarantee{r.Epsilon, 0}, true }

// rho returns that of bounded range (Cesar, Rogers 2021) or of pure privacy.
func (r exponentialMechanismRow) rho() float64 {
	return math.Min(gaussianRho(r.Epsilon/2), pureRho(r.Epsilon))
}

func (r exponentialMechanismRow) group(n int64) (Event, error) {
	return ExponentialMechanism{mathx.Up(r.Epsilon * float64(n))}, nil
}

func (r exponentialMechanismRow) pair() (pld.Pair, error) { return pld.BoundedRange(r.Epsilon), nil }

// attained adds the choice between two candidates that one record turns around.
func (r exponentialMechanismRow) attained(s *pld.Sum, n int64) (dominating bool) {
	s.AddOdds(r.Epsilon/2, n)
	return false
}

// ZCDP is any mechanism that satisfies Rho-zero-concentrated differential
// privacy (Bun, Steinke 2016).
type ZCDP struct {
	Rho float64 `json:"rho"` // >= 0
}

// Validate implements Event.
func (e ZCDP) Validate() error { return validTree(e, 0) }

type zcdpRow struct {
	leaf
	ZCDP
}

func (e ZCDP) row() row { return zcdpRow{leafOf(e), e} }

func (zcdpRow) name() string { return "zcdp" }

func (r zcdpRow) words(p printer) (mechanism, parameters string) {
	return "mechanism of zero-concentrated cost", "ρ " + p.claim(r.Rho)
}

func (r zcdpRow) check() error { return nonNegative("zcdp", "rho", r.Rho) }
func (r zcdpRow) curve() curve { return linearCurve(r.Rho) }
func (r zcdpRow) rho() float64 { return r.Rho }

func (r zcdpRow) group(n int64) (Event, error) {
	g := float64(n)
	return ZCDP{mathx.Up(r.Rho * g * g * (1 + 2e-16))}, nil
}

func (r zcdpRow) pair() (pld.Pair, error) {
	return pld.Pair{}, &UnsupportedEventError{r.event, "zero-concentrated privacy bounds moments of the loss, not its distribution: no pair dominates it"}
}

// NonPrivate reveals its input. Accountants answer an infinite epsilon; a sample
// of it is refused.
type NonPrivate struct{}

// Validate implements Event.
func (e NonPrivate) Validate() error { return validTree(e, 0) }

type nonPrivateRow struct {
	leaf
	NonPrivate
}

func (e NonPrivate) row() row { return nonPrivateRow{leafOf(e), e} }

func (nonPrivateRow) name() string { return "non_private" }

func (nonPrivateRow) words(printer) (mechanism, parameters string) {
	return "release without protection", ""
}

func (nonPrivateRow) guarantee() (guarantee, bool) { return guarantee{math.Inf(1), 0}, true }
func (r nonPrivateRow) group(int64) (Event, error) { return r.NonPrivate, nil }

func (nonPrivateRow) pair() (pld.Pair, error) { return pld.Revealing(), nil }

func (nonPrivateRow) attained(*pld.Sum, int64) (dominating bool) { return true }
