package aggregate

import (
	"maps"
	"reflect"
	"slices"

	"github.com/pate-go/pate/accountant"
)

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
