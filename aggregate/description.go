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

// Description describes a mechanism for commands, plans and audits.
type Description struct {
	Name       string // in flags, files and reports
	Short      string // purpose in a few words
	Cost       string // privacy cost of one query, in words and formulas
	Parameters []Parameter
	// New makes the mechanism of a setting that passed Check.
	New func(Setting) (Mechanism, error)

	Declines  bool // the mechanism may decline to answer
	Predicts  bool // the mechanism compares votes with the student's predictions
	Distances bool // noise is added to the number of votes that must change, not to vote counts
	Fails     bool // with a small probability the mechanism releases an answer that it must refuse

	// Fit returns s with thresholds and the least noise that `least` finds for a budget. If Fails is set,
	// delta bounds the probability that a run releases an answer that it must refuse. If Fit is nil, use
	// [Description.Least] and [Description.WithNoise].
	Fit func(s Setting, delta float64, least LeastNoise) (Setting, error)
	// Chances returns the outcome probabilities for queries with the given number of classes. If rough is
	// set, a probability has an error of at most 1e-2. Chances is nil if an answer depends on more than the
	// votes of its query.
	Chances func(s Setting, classes int, rough bool) (Chances, error)
	// Ahead is for a class that leads every rival by x times the noise parameter. It returns the probability
	// that this class wins under continuous noise. Ahead is nil if the mechanism may decline.
	Ahead func(x float64, rivals int) float64

	// Laws lists output distributions by name. If Laws is nil, Mechanism.Law is the only output
	// distribution, and its name is Description.Name.
	Laws []NamedLaw
	// Audit is the setting that an audit tests. Neighbours holds two histograms that differ by one moved
	// vote. Their privacy loss is nearly the largest. If Neighbours is empty, see package internal/controls.
	Audit      Setting
	Neighbours [2][]int
	Pure       bool // the delta of the mechanism is 0
}

// LeastNoise returns the least noise at which event(noise) fits a budget. It returns any error of event
// unchanged.
type LeastNoise func(event func(noise float64) (accountant.Event, error)) (float64, error)

// Find returns the least noise at which event(noise) fits the budget. If every noise fits, Find returns the
// least noise tried. If no noise fits, the error matches [accountant.ErrNoBracket].
func (l LeastNoise) Find(event func(noise float64) (accountant.Event, error)) (float64, error) {
	noise, err := l(event)
	var bracket *accountant.NoBracketError
	if errors.As(err, &bracket) && !(bracket.Epsilon > bracket.Target.Epsilon) {
		return bracket.Last, nil
	}
	return noise, err
}

// Parameter describes one parameter of a mechanism.
type Parameter struct {
	Name     string  // flag, key in [Setting].Values and, with a capital letter, field of the config
	Doc      string  // description
	Unit     string  // unit of the value: "votes", "moved votes" or empty
	Kind     string  // "noise", "threshold", "cap" or "share"
	Min, Max float64 // range, both ends included
	Whole    bool    // the value is a whole number
	Ratio    float64 // this noise divided by the other noise if both are chosen; 0: equal
	Instead  string  // parameter that can replace this one
	WithIt   bool    // the threshold is chosen together with the noise
	// Default returns the value of a missing parameter, as DefaultDoc describes. If Default is nil and Chosen
	// is false, a missing parameter is an error.
	Default    func(queries int) float64
	DefaultDoc string
}

// Chosen reports whether a plan chooses the value of p if a setting lacks it.
func (p Parameter) Chosen() bool { return p.Kind == "noise" || p.WithIt }

// NamedLaw describes an output distribution of a mechanism.
type NamedLaw struct {
	Name       string
	Short      string
	Noise      string      // "continuous", "discrete", or "exact" for sampling without added noise
	Parameters []Parameter // nil: the mechanism's parameters except caps
	Law        func(s Setting, h Histogram) (Law, error)
}

// Chances computes the outcome probabilities of one query. The absolute error is 1e-12, unless the caller
// asked for rough values. Concurrent calls are safe.
type Chances struct {
	Right    func(counts []int64, label int) float64 // probability that label is released if there is an answer
	Answered func(counts []int64) float64            // probability of an answer; nil: 1
}

const (
	leastNoise = 0x1p-10
	mostNoise  = 0x1p40
)

func noiseParameter(name, doc string) Parameter {
	return Parameter{Name: name, Doc: doc, Unit: "votes", Kind: "noise", Min: leastNoise, Max: mostNoise}
}

func answersCap() Parameter {
	return Parameter{Name: "answers", Doc: "maximum number of answers, all of which are charged", Kind: "cap", Min: 1, Max: maxQueries, Whole: true,
		Default: func(queries int) float64 { return float64(queries) }, DefaultDoc: "as many as queries"}
}

// CheckValues returns an error for an unknown parameter or a value out of range. It also refuses values for
// both a parameter and its alternative (Instead).
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

// Check returns an error for an invalid setting. Parameters that a plan chooses may be missing.
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

func (d Description) ParameterNames() []string {
	var names []string
	for _, p := range d.Parameters {
		names = append(names, p.Name)
	}
	return names
}

func making[M Mechanism](one func(Setting) (M, error)) func(Setting) (Mechanism, error) {
	return func(s Setting) (Mechanism, error) {
		m, err := one(s)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

func continuous[M interface{ ContinuousLaw(Histogram) (Law, error) }](one func(Setting) (M, error)) func(Setting, Histogram) (Law, error) {
	return func(s Setting, h Histogram) (Law, error) {
		m, err := one(s)
		if err != nil {
			return Law{}, err
		}
		return m.ContinuousLaw(h)
	}
}

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

// Setting is a mechanism with its parameters.
type Setting struct {
	Mechanism string             // [Description].Name
	Values    map[string]float64 // by [Parameter].Name; a missing value is chosen or has a default
	Queries   int                // cap on queries; the whole cap is charged
	Teachers  int                // public number of teachers that may vote, for mechanisms that predict
	// Predict returns the student's probability of each class, for the mechanism "interactive".
	Predict func(query uint64) ([]float64, error)
}

// With returns a copy of s with the given value of a parameter.
func (s Setting) With(parameter string, value float64) Setting {
	s.Values = maps.Clone(s.Values)
	if s.Values == nil {
		s.Values = map[string]float64{}
	}
	s.Values[parameter] = value
	return s
}

func (s Setting) has(parameter string) bool {
	_, ok := s.Values[parameter]
	return ok
}

func (s Setting) lacks(p Parameter) bool {
	return !s.has(p.Name) && !(p.Instead != "" && s.has(p.Instead))
}

// Equal reports whether s and other have the same mechanism, values and number of queries.
func (s Setting) Equal(other Setting) bool {
	return s.Mechanism == other.Mechanism && s.Queries == other.Queries && maps.Equal(s.Values, other.Values)
}

func (d Description) MostNoise(s Setting) float64 {
	most := 0.0
	for _, p := range d.Noise() {
		most = max(most, s.Values[p.Name])
	}
	return most
}

func (d Description) Noise() []Parameter {
	var out []Parameter
	for _, p := range d.Parameters {
		if p.Kind == "noise" {
			out = append(out, p)
		}
	}
	return out
}

// Parameter returns the parameter with the given name, or false if there is none.
func (d Description) Parameter(name string) (Parameter, bool) {
	i := slices.IndexFunc(d.Parameters, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}, false
	}
	return d.Parameters[i], true
}

// Settled reports whether s leaves no parameter for a plan to choose.
func (d Description) Settled(s Setting) bool {
	for _, p := range d.Parameters {
		if p.Chosen() && s.lacks(p) {
			return false
		}
	}
	return true
}

// WithNoise sets the noise parameters that s lacks to noise, clamped to their range. If s lacks two, a
// parameter with a nonzero Ratio gets Ratio*noise instead.
func (d Description) WithNoise(s Setting, noise float64) Setting {
	missing := slices.DeleteFunc(d.Noise(), func(p Parameter) bool { return !s.lacks(p) })
	for _, p := range missing {
		if !s.lacks(p) { // the alternative already has a value
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

// Least returns the least noise for which WithNoise(s, noise) fits the budget that `least` checks. The noise
// is clamped to the range that mechanisms accept.
func (d Description) Least(s Setting, least LeastNoise) (float64, error) {
	noise, err := least.Find(func(noise float64) (accountant.Event, error) { return d.Event(d.WithNoise(s, noise)) })
	if err != nil {
		return 0, err
	}
	return min(max(noise, leastNoise), mostNoise), nil
}

// Complete sets every missing parameter that has a default.
func (d Description) Complete(s Setting) Setting {
	for _, p := range d.Parameters {
		if p.Default != nil && !s.has(p.Name) {
			s = s.With(p.Name, p.Default(s.Queries))
		}
	}
	return s
}

// Event returns the event that bounds the cost of all queries of s, for any data.
func (d Description) Event(s Setting) (accountant.Event, error) {
	if d.Predicts && s.Predict == nil { // predictions do not change the privacy cost
		s.Predict = func(uint64) ([]float64, error) { return nil, nil }
	}
	m, err := d.New(s)
	if err != nil {
		return nil, err
	}
	return m.Event(), nil
}

// One returns s with one query. The result `cheaper` is false if s has several queries and one query costs as
// much as all. For example, a mechanism may charge only declined queries.
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
