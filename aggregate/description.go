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

// Description describes a mechanism for commands, plans and audits. Names in ledgers, plans, laws,
// calibrations and audits derive from it, so that a mechanism is described in one place.
type Description struct {
	Name       string // in flags, files and reports
	Short      string // what it does, in a few words
	Cost       string // cost of one query, in words and formulas
	Parameters []Parameter
	// New makes the mechanism from a setting that has passed Check.
	New func(Setting) (Mechanism, error)

	Declines  bool // the mechanism may decline to answer
	Predicts  bool // votes are compared with the student's predictions
	Distances bool // noise is added to the number of votes that must move, not to votes
	Fails     bool // with a small probability an answer is released that must be refused

	// Fit chooses all noise and thresholds together, if a single number is not enough. delta is the
	// probability of releasing an answer that must be refused. If Fit is nil, WithNoise chooses.
	Fit func(s Setting, delta float64, least LeastNoise) (Setting, error)
	// Chances returns the probabilities for queries with the given number of classes, if they depend on the
	// query's own votes alone. If rough, they are accurate to 1e-2, to compare numbers of queries.
	Chances func(s Setting, classes int, rough bool) (Chances, error)
	// Ahead returns the probability that a class wins over rivals classes, all x noise scales behind, for
	// continuous noise. It is set if a single noise is the only parameter to choose.
	Ahead func(x float64, rivals int) float64

	// Laws lists named output distributions. Nil: the sampler's distribution, under the mechanism's name.
	Laws []NamedLaw
	// Audit is the setting that an audit tests, on two Neighbours for which a moved vote costs nearly the
	// maximum. Pure: the claim is an epsilon without delta. Without Neighbours, package controls audits the
	// mechanism in its own way.
	Audit      Setting
	Neighbours [2][]int
	Pure       bool
}

// LeastNoise finds the least noise at which an event fits a budget. An error of event ends the search.
type LeastNoise func(event func(noise float64) (accountant.Event, error)) (float64, error)

// Find calls l. If even the least noise that l tries fits the budget, Find returns that noise. An error that
// matches [accountant.ErrNoBracket] means that no noise is enough.
func (l LeastNoise) Find(event func(noise float64) (accountant.Event, error)) (float64, error) {
	noise, err := l(event)
	var bracket *accountant.NoBracketError
	if errors.As(err, &bracket) && !(bracket.Epsilon > bracket.Target.Epsilon) {
		return bracket.Last, nil
	}
	return noise, err
}

// Parameter describes one parameter of a mechanism. The flag, the value in a [Setting], the field of the
// config and the field of the event all have its name.
type Parameter struct {
	Name     string
	Doc      string  // description
	Unit     string  // of the value: "votes", "moved votes" or empty
	Kind     string  // "noise", "threshold", "cap" or "share"
	Min, Max float64 // range, both ends included
	Whole    bool    // a whole number
	Ratio    float64 // of this noise to the other if both are chosen; 0: equal
	Instead  string  // parameter that can be given in place of this one
	WithIt   bool    // this threshold is chosen together with the noise
	// Default returns the value if none is given, and DefaultDoc describes it. If Default is nil, a value
	// must be given unless the parameter is chosen.
	Default    func(queries int) float64
	DefaultDoc string
}

// Chosen reports whether the parameter is chosen to fit a budget if it is left out.
func (p Parameter) Chosen() bool { return p.Kind == "noise" || p.WithIt }

// NamedLaw describes an output distribution of a mechanism.
type NamedLaw struct {
	Name       string
	Short      string
	Noise      string      // "continuous", "discrete", or "exact" if drawn without noise
	Parameters []Parameter // nil: the mechanism's parameters except caps
	Law        func(s Setting, h Histogram) (Law, error)
}

// Chances are the probabilities for one query that plans add up, accurate to an absolute 1e-12 unless rough.
// They are safe for concurrent use.
type Chances struct {
	Right    func(counts []int64, label int) float64 // probability that label is released, given an answer
	Answered func(counts []int64) float64            // probability of an answer; nil: 1
}

// The range of noise that mechanisms accept, in votes.
const (
	leastNoise = 0x1p-10
	mostNoise  = 0x1p40
)

func noiseParameter(name, doc string) Parameter {
	return Parameter{Name: name, Doc: doc, Unit: "votes", Kind: "noise", Min: leastNoise, Max: mostNoise}
}

func answersCap() Parameter {
	return Parameter{Name: "answers", Doc: "cap on answers, all of which are charged", Kind: "cap", Min: 1, Max: maxQueries, Whole: true,
		Default: func(queries int) float64 { return float64(queries) }, DefaultDoc: "as many as queries"}
}

// CheckValues reports a wrong value of s: an unknown parameter, a value out of range, or both of two values
// that exclude each other.
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

// Check reports a wrong setting. Parameters that are chosen later may be missing.
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

// chosenNames returns the names of the parameters that are chosen together.
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

// ParameterNames returns the names of the parameters.
func (d Description) ParameterNames() []string {
	var names []string
	for _, p := range d.Parameters {
		names = append(names, p.Name)
	}
	return names
}

// making adapts a constructor to [Description].New. With an error the mechanism is a nil interface, not a
// typed nil.
func making[M Mechanism](one func(Setting) (M, error)) func(Setting) (Mechanism, error) {
	return func(s Setting) (Mechanism, error) {
		m, err := one(s)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
}

// continuous returns a [NamedLaw].Law that makes the mechanism with one and calls its ContinuousLaw.
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
	Values    map[string]float64 // by [Parameter].Name; missing values are chosen or have a default
	Queries   int                // cap on questions, all of which are charged for
	Teachers  int                // public number of teachers that may vote; needed by mechanisms that predict
	// Predict returns the student's probability of each class, for mechanisms that compare votes with
	// predictions.
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

// has reports whether the parameter has a value.
func (s Setting) has(parameter string) bool {
	_, ok := s.Values[parameter]
	return ok
}

// lacks reports whether neither the parameter nor its alternative has a value.
func (s Setting) lacks(p Parameter) bool {
	return !s.has(p.Name) && !(p.Instead != "" && s.has(p.Instead))
}

// Equal reports whether two settings have the same mechanism, values and queries.
func (s Setting) Equal(other Setting) bool {
	return s.Mechanism == other.Mechanism && s.Queries == other.Queries && maps.Equal(s.Values, other.Values)
}

// MostNoise returns the largest noise in s.
func (d Description) MostNoise(s Setting) float64 {
	most := 0.0
	for _, p := range d.Noise() {
		most = max(most, s.Values[p.Name])
	}
	return most
}

// Noise returns the parameters of kind "noise".
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

// Settled reports whether s has all noise of the mechanism, and all parameters that are chosen with the
// noise.
func (d Description) Settled(s Setting) bool {
	for _, p := range d.Parameters {
		if p.Chosen() && s.lacks(p) {
			return false
		}
	}
	return true
}

// WithNoise fills in the noise that s lacks, for a mechanism whose noise is chosen by one number.
func (d Description) WithNoise(s Setting, noise float64) Setting {
	missing := slices.DeleteFunc(d.Noise(), func(p Parameter) bool { return !s.lacks(p) })
	for _, p := range missing {
		if !s.lacks(p) { // its alternative has been filled in
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

// Least returns the noise for WithNoise at which the whole session fits a budget. If even the least noise
// that can be drawn fits, it returns that noise.
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

// Event returns the event of a whole session in the worst case.
func (d Description) Event(s Setting) (accountant.Event, error) {
	if d.Predicts && s.Predict == nil { // predictions do not change the cost
		s.Predict = func(uint64) ([]float64, error) { return nil, nil }
	}
	m, err := d.New(s)
	if err != nil {
		return nil, err
	}
	return m.Event(), nil
}

// One returns s for a single query, and whether one query costs less than all of s. A mechanism that pays
// for refusals costs the same.
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
