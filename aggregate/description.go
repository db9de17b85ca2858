package aggregate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
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

// Setting chooses a mechanism and its parameters.
type Setting struct {
	Mechanism string             // [Description].Name
	Values    map[string]float64 // by [Parameter].Name; what is missing is chosen or has a default
	Queries   int                // cap on questions, all of which are charged for
	Teachers  int                // that may vote, which is public; needed by mechanisms that predict
	// Predict returns the student's probability of each class, of mechanisms that
	// compare votes with predictions.
	Predict func(query uint64) ([]float64, error)
}

// With returns a copy of s in which the parameter has the value.
func (s Setting) With(parameter string, value float64) Setting {
	s.Values = maps.Clone(s.Values)
	if s.Values == nil {
		s.Values = map[string]float64{}
	}
	s.Values[parameter] = value
	return s
}

// has reports whether the parameter was given a value.
func (s Setting) has(parameter string) bool {
	_, ok := s.Values[parameter]
	return ok
}

// lacks reports whether neither the parameter nor what can stand in its place was given a value.
func (s Setting) lacks(p Parameter) bool {
	return !s.has(p.Name) && !(p.Instead != "" && s.has(p.Instead))
}

// Equal reports whether two settings have the same mechanism, values and queries.
func (s Setting) Equal(other Setting) bool {
	return s.Mechanism == other.Mechanism && s.Queries == other.Queries && maps.Equal(s.Values, other.Values)
}

// MostNoise returns the largest noise that s has.
func (d Description) MostNoise(s Setting) float64 {
	most := 0.0
	for _, p := range d.Noise() {
		most = max(most, s.Values[p.Name])
	}
	return most
}

// Noise returns the parameters that are noise.
func (d Description) Noise() []Parameter {
	var out []Parameter
	for _, p := range d.Parameters {
		if p.Kind == "noise" {
			out = append(out, p)
		}
	}
	return out
}

// Parameter returns the parameter with the name.
func (d Description) Parameter(name string) (Parameter, bool) {
	i := slices.IndexFunc(d.Parameters, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}, false
	}
	return d.Parameters[i], true
}

// Settled reports whether s has all noise that the mechanism needs, and whatever is chosen together with it.
func (d Description) Settled(s Setting) bool {
	for _, p := range d.Parameters {
		if p.Chosen() && s.lacks(p) {
			return false
		}
	}
	return true
}

// WithNoise fills in the noise that s does not have, for a mechanism whose noise is chosen by one number.
func (d Description) WithNoise(s Setting, noise float64) Setting {
	missing := slices.DeleteFunc(d.Noise(), func(p Parameter) bool { return !s.lacks(p) })
	for _, p := range missing {
		if !s.lacks(p) { // another stands in its place by now
			continue
		}
		factor := 1.0
		if p.Ratio != 0 && len(missing) > 1 {
			factor = p.Ratio
		}
		s = s.With(p.Name, min(max(noise*factor, p.Min), p.Max))
	}
	return s
}

// Least finds the noise for WithNoise at which the whole session fits a budget. Where
// even the least noise that can be drawn fits, it returns that.
func (d Description) Least(s Setting, least LeastNoise) (float64, error) {
	noise, err := least.Find(func(noise float64) (accountant.Event, error) { return d.Event(d.WithNoise(s, noise)) })
	if err != nil {
		return 0, err
	}
	return min(max(noise, leastNoise), mostNoise), nil
}

// Complete fills in the parameters that have a default.
func (d Description) Complete(s Setting) Setting {
	for _, p := range d.Parameters {
		if p.Default != nil && !s.has(p.Name) {
			s = s.With(p.Name, p.Default(s.Queries))
		}
	}
	return s
}

// Event returns the worst case of a whole session.
func (d Description) Event(s Setting) (accountant.Event, error) {
	if d.Predicts && s.Predict == nil { // which changes no cost
		s.Predict = func(uint64) ([]float64, error) { return nil, nil }
	}
	m, err := d.New(s)
	if err != nil {
		return nil, err
	}
	return m.Event(), nil
}

// One returns s for a single query, and whether that costs less than all of s: a
// mechanism that pays for refusals costs the same.
func (d Description) One(s Setting) (one Setting, cheaper bool, err error) {
	one = s
	one.Queries = 1
	for _, p := range d.Parameters {
		if p.Kind == "cap" && p.Name != "failures" {
			one = one.With(p.Name, 1)
		}
	}
	all, err := d.Event(s)
	if err != nil {
		return one, false, err
	}
	single, err := d.Event(one)
	return one, err == nil && (s.Queries == 1 || !reflect.DeepEqual(all, single)), err
}
