package aggregate

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
)

// Description holds what commands, plans and audits need of a mechanism. The names of runs in ledgers,
// plans, laws, calibrations and audits derive from it, so that a mechanism is described in one place.
type Description struct {
	Name       string // in flags, files and reports
	Short      string // what it does, in a few words
	Cost       string // of one query, in words and formulas
	Parameters []Parameter
	// New makes the mechanism. A setting has been checked by Check.
	New func(Setting) (Mechanism, error)

	Declines  bool // it may decline to answer
	Predicts  bool // it compares votes with the student's predictions
	Distances bool // it adds noise to how many votes must move, not to votes
	Fails     bool // it may release what it should not, with a small probability

	// Fit chooses all noise and thresholds together, where a single number would not do. delta is the
	// probability of releasing what it should not. Nil: WithNoise chooses.
	Fit func(s Setting, delta float64, least LeastNoise) (Setting, error)
	// Chances returns the chances on queries of so many classes, where these follow from votes on single
	// queries. Rough ones, good to 1e-2, are for comparing numbers of queries.
	Chances func(s Setting, classes int, rough bool) (Chances, error)
	// Ahead returns the probability that a class wins over others that are all x times the noise behind, for
	// continuous noise, where there is nothing to choose but one noise.
	Ahead func(x float64, rivals int) float64

	// Laws are its output laws with names. Nil: the law of the sampler, under the mechanism's own name.
	Laws []NamedLaw
	// Audit is a setting that an audit puts to the test, on two neighbours between which a
	// moved vote costs nearly what it can. Pure: the claim is an epsilon without delta.
	// Without Neighbours package controls has an audit of its own.
	Audit      Setting
	Neighbours [2][]int
	Pure       bool
}

// LeastNoise finds the least noise at which an event fits a budget. An error of event ends the search.
type LeastNoise func(event func(noise float64) (accountant.Event, error)) (float64, error)

// Find calls l. Where even the least noise that l tries fits, it returns that. An error that
// matches [accountant.ErrNoBracket] means that no noise is enough.
func (l LeastNoise) Find(event func(noise float64) (accountant.Event, error)) (float64, error) {
	noise, err := l(event)
	var bracket *accountant.NoBracketError
	if errors.As(err, &bracket) && !(bracket.Epsilon > bracket.Target.Epsilon) {
		return bracket.Last, nil
	}
	return noise, err
}

// Parameter describes one parameter of a mechanism. It has one name, for the
// flag, of the value in a [Setting], of the field of the config and of the event.
type Parameter struct {
	Name     string
	Doc      string  // what it is
	Unit     string  // of the number: "votes", "votes that move" or none
	Kind     string  // "noise", "threshold", "cap" or "share"
	Min, Max float64 // range, both ends included
	Whole    bool    // a whole number
	Ratio    float64 // of noise: to the other noise where both are chosen; 0: the same
	Instead  string  // parameter that can be given in place of this one
	WithIt   bool    // of a threshold: chosen together with the noise
	// Default is the value if none is given, and DefaultDoc its description. Nil:
	// it must be given, unless it is chosen.
	Default    func(queries int) float64
	DefaultDoc string
}

// Chosen reports whether the parameter may be left out and is then chosen for a budget.
func (p Parameter) Chosen() bool { return p.Kind == "noise" || p.WithIt }

// NamedLaw describes an output law of a mechanism.
type NamedLaw struct {
	Name       string
	Short      string
	Noise      string      // "continuous", "discrete", or "exact" where it is drawn without noise
	Parameters []Parameter // nil: those of the mechanism, but for caps
	Law        func(s Setting, h Histogram) (Law, error)
}

// Chances are the probabilities of one query that plans add up, to an absolute
// 1e-12. They are safe for concurrent use.
type Chances struct {
	Right    func(counts []int64, label int) float64 // that the label is given if any is
	Answered func(counts []int64) float64            // nil: always
}

// The noise that mechanisms take, in votes.
const (
	leastNoise = 0x1p-10
	mostNoise  = 0x1p40
)

// noiseParameter describes noise in votes.
func noiseParameter(name, doc string) Parameter {
	return Parameter{Name: name, Doc: doc, Unit: "votes", Kind: "noise", Min: leastNoise, Max: mostNoise}
}

// answersCap describes a cap on answers.
func answersCap() Parameter {
	return Parameter{Name: "answers", Doc: "cap on answers, all of which are charged", Kind: "cap", Min: 1, Max: maxQueries, Whole: true,
		Default: func(queries int) float64 { return float64(queries) }, DefaultDoc: "as many as queries"}
}

// CheckValues reports a wrong value of s: no parameter of the
// mechanism, out of range, or two of which only one can be.
func (d Description) CheckValues(s Setting) error {
	for name, v := range s.Values {
		p, ok := d.Parameter(name)
		if !ok {
			return fmt.Errorf("aggregate: %s has no %s; it takes %s", d.Name, name, strings.Join(d.ParameterNames(), ", "))
		}
		if !(v >= p.Min && v <= p.Max) {
			return fmt.Errorf("aggregate: %s must be in [%.4g, %.4g]%s, not %g", name, p.Min, p.Max, p.inUnit(), v)
		}
		if p.Whole && v != math.Trunc(v) {
			return fmt.Errorf("aggregate: %s must be a whole number%s, not %v", name, p.inUnit(), v)
		}
		if p.Instead != "" && s.has(p.Instead) {
			return fmt.Errorf("aggregate: %s takes %s or %s, not both", d.Name, name, p.Instead)
		}
	}
	return nil
}

// Check reports a fault of s, which may lack parameters that are chosen later.
func (d Description) Check(s Setting) error {
	if err := d.CheckValues(s); err != nil {
		return err
	}
	some := slices.ContainsFunc(d.Parameters, func(p Parameter) bool { return p.Chosen() && s.has(p.Name) })
	if d.Fit != nil && some && !d.Settled(s) {
		return fmt.Errorf("aggregate: %s takes %s together, or chooses them all", d.Name, strings.Join(d.chosenNames(), ", "))
	}
	for _, p := range d.Parameters {
		if !s.has(p.Name) && !p.Chosen() && p.Default == nil {
			return fmt.Errorf("aggregate: %s needs %s, %s%s", d.Name, p.Name, p.Doc, p.inUnit())
		}
	}
	if d.Fit != nil && !some {
		return nil
	}
	_, err := d.Event(d.WithNoise(d.Complete(s), 1))
	return err
}

func (p Parameter) inUnit() string {
	if p.Unit == "" {
		return ""
	}
	return ", in " + p.Unit
}

// chosenNames lists the parameters that are chosen together.
func (d Description) chosenNames() []string {
	var names []string
	for _, p := range d.Parameters {
		if !p.Chosen() {
			continue
		}
		name := p.Name
		if p.Instead != "" {
			name = p.Name + " or " + p.Instead
		}
		if _, second := d.Parameter(p.Instead); !second || p.Name < p.Instead {
			names = append(names, name)
		}
	}
	return names
}

// ParameterNames lists the names of the parameters.
func (d Description) ParameterNames() []string {
	var names []string
	for _, p := range d.Parameters {
		names = append(names, p.Name)
	}
	return names
}

// making returns a constructor as [Description].New, without the typed nil beside its error.
func making[M Mechanism](one func(Setting) (M, error)) func(Setting) (Mechanism, error) {
	return func(s Setting) (Mechanism, error) {
		m, err := one(s)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

// continuous returns the law with continuous noise as [NamedLaw].Law.
func continuous[M interface{ ContinuousLaw(Histogram) (Law, error) }](one func(Setting) (M, error)) func(Setting, Histogram) (Law, error) {
	return func(s Setting, h Histogram) (Law, error) {
		m, err := one(s)
		if err != nil {
			return Law{}, err
		}
		return m.ContinuousLaw(h)
	}
}

// Descriptions lists the noisy argmax mechanisms.
func Descriptions() []Description {
	return []Description{
		gnmaxDescription(),
		confidentDescription(),
		interactiveDescription(),
		lnmaxDescription(),
		exponentialDescription(),
		permuteAndFlipDescription(),
	}
}
