package learn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/rng"
)

// Mechanism is something that can be explained.
type Mechanism struct {
	Name   string
	Short  string
	Long   string // what the trace teaches
	Inputs []Input
	trace  func(run) (Trace, error)
}

// Input is a parameter of a mechanism, as text.
type Input struct {
	Name    string
	Default string
	Usage   string
}

// Options are common to all mechanisms.
type Options struct {
	Seed  uint64  // of the noise
	Delta float64 // at which costs are stated, in (0, 1)
}

// Mechanisms are all that can be explained, in the order to read them.
func Mechanisms() []Mechanism {
	return []Mechanism{
		mean(),
		noisyArgmax(), confident(), interactive(),
		composition(), moments(),
		stable(), subsample(), sparseVector(), stableSVT(),
		gradient(),
	}
}

// Find returns the mechanism of that name.
func Find(name string) (Mechanism, error) {
	var names []string
	for _, m := range Mechanisms() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Mechanism{}, fmt.Errorf("learn: no trace of %q: one of %s", name, strings.Join(names, ", "))
}

// ErrInput is matched by errors about the value of an input.
var ErrInput = errors.New("learn: invalid input")

// Run traces one run. Inputs not in values have their defaults; others are refused.
func (m Mechanism) Run(values map[string]string, o Options) (Trace, error) {
	if !(o.Delta > 0 && o.Delta < 1) {
		return Trace{}, fmt.Errorf("%w: Delta must lie strictly between 0 and 1, not %v", ErrInput, o.Delta)
	}
	r := run{values: make(map[string]string), key: rng.SeedKey(o.Seed).Derive("explain " + m.Name), delta: o.Delta}
	for _, in := range m.Inputs {
		r.values[in.Name] = in.Default
	}
	for name, v := range values {
		if _, known := r.values[name]; !known {
			return Trace{}, fmt.Errorf("%w: %s has no input %q", ErrInput, m.Name, name)
		}
		r.values[name] = v
	}
	t, err := m.trace(r)
	if err != nil {
		return Trace{}, err
	}
	if err := t.finite(); err != nil {
		return Trace{}, err
	}
	t.Schema, t.Mechanism, t.Seed = Schema, m.Name, o.Seed
	return t, nil
}

// finite leaves out numbers that are infinite, which some formulas of the literature
// answer at extreme inputs; a vector, or a cost, that is infinite is no trace.
func (t *Trace) finite() error {
	infinite := func(n Number) bool {
		return slices.ContainsFunc(n.Values, func(x float64) bool { return !mathx.IsFinite(x) })
	}
	if slices.ContainsFunc(t.Cost.Numbers, infinite) {
		return fmt.Errorf("%w: no finite epsilon covers this at this delta", ErrInput)
	}
	lists := []*[]Number{&t.Released.Numbers}
	for i := range t.Steps {
		lists = append(lists, &t.Steps[i].Numbers)
	}
	for i := range t.Mistakes {
		lists = append(lists, &t.Mistakes[i].Numbers)
	}
	for _, numbers := range lists {
		for _, n := range *numbers {
			if len(n.Values) > 1 && infinite(n) {
				return fmt.Errorf("%w: %s is not finite", ErrInput, n.Name)
			}
		}
		*numbers = slices.DeleteFunc(*numbers, infinite)
	}
	return nil
}

// run is what a trace is made from.
type run struct {
	values map[string]string
	key    rng.Key
	delta  float64
}

// number reads an input that is a finite number.
func (r run) number(name string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(r.values[name]), 64)
	if err != nil || !mathx.IsFinite(x) {
		return 0, fmt.Errorf("%w: %s: %q is not a number", ErrInput, name, r.values[name])
	}
	return x, nil
}

// positive reads an input that is a finite number above 0.
func (r run) positive(name string) (float64, error) {
	x, err := r.number(name)
	if err == nil && !(x > 0) {
		return 0, fmt.Errorf("%w: %s: %v is not above 0", ErrInput, name, x)
	}
	return x, err
}

// numbers reads an input that is a list of finite numbers.
func (r run) numbers(name string) ([]float64, error) {
	var xs []float64
	for _, part := range strings.Split(r.values[name], ",") {
		x, err := run{values: map[string]string{name: part}}.number(name)
		if err != nil {
			return nil, err
		}
		xs = append(xs, x)
	}
	return xs, nil
}

// maxClasses keeps a trace readable.
const maxClasses = 100

// histogram reads an input that is a list of vote counts.
func (r run) histogram(name string) (aggregate.Histogram, []int, error) {
	xs, err := r.numbers(name)
	if err != nil {
		return aggregate.Histogram{}, nil, err
	}
	if len(xs) > maxClasses {
		return aggregate.Histogram{}, nil, fmt.Errorf("%w: %s: at most %d classes, not %d", ErrInput, name, maxClasses, len(xs))
	}
	counts := make([]int, len(xs))
	for i, x := range xs {
		if counts[i] = int(x); x != math.Trunc(x) || x < 0 || x > 1<<30 {
			return aggregate.Histogram{}, nil, fmt.Errorf("%w: %s: %v is not a number of votes", ErrInput, name, x)
		}
	}
	h, err := aggregate.NewHistogram(counts)
	if err != nil {
		return aggregate.Histogram{}, nil, fmt.Errorf("%w: %s: %w", ErrInput, name, err)
	}
	return h, counts, nil
}

// noise draws integer Gaussian noise, n values from a stream of their own.
func (r run) noise(label string, sigma float64, n int) ([]int64, error) {
	d, err := rng.NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	s := r.key.Derive(label).Stream()
	out := make([]int64, n)
	for i := range out {
		out[i] = d.Sample(s)
	}
	return out, nil
}

// maxRepeats bounds the numbers of queries and answers of a trace.
const maxRepeats = 1 << 40

// whole reads an input that is a number of queries or answers.
func (r run) whole(name string) (int, error) {
	x, err := r.number(name)
	if err != nil {
		return 0, err
	}
	if x != math.Trunc(x) || x < 1 || x > maxRepeats {
		return 0, fmt.Errorf("%w: %s: %v is not a whole number from 1 to 2^40", ErrInput, name, x)
	}
	return int(x), nil
}
