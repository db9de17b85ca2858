package learn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/internal/mathx"
)

// Mechanism is something that can be explained. Short, Long and Inputs are the beginning of its text.
type Mechanism struct {
	Name   string
	Short  string
	Long   string // what the trace teaches
	Inputs []Input
	trace  func(*lesson)
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

// Mechanisms returns all that can be explained, in the order to read them. Run returns the error of a text that
// cannot be read.
func Mechanisms() (all []Mechanism) {
	for _, m := range []Mechanism{
		{Name: "mean", trace: traceMean},
		{Name: "noisy-argmax", trace: traceNoisyArgmax},
		{Name: "confident", trace: traceConfident},
		{Name: "interactive", trace: traceInteractive},
		{Name: "composition", trace: traceComposition},
		{Name: "moments", trace: traceMoments},
		{Name: "stability", trace: traceStable},
		{Name: "subsample-aggregate", trace: traceSubsample},
		{Name: "sparse-vector", trace: traceSparse},
		{Name: "stable-svt", trace: traceStableSVT},
		{Name: "dpsgd", trace: traceGradient},
		{Name: "bayes", trace: traceBayes},
	} {
		t, _ := readText(m.Name)
		m.Short, m.Long, m.Inputs = t.short, t.long, t.inputs
		all = append(all, m)
	}
	return all
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
	l, err := m.lesson(values, o)
	if err == nil {
		err = l.Trace.finite()
	}
	if err != nil {
		return Trace{}, err
	}
	return l.Trace, nil
}

// lesson makes the lesson of one run.
func (m Mechanism) lesson(values map[string]string, o Options) (l *lesson, err error) {
	defer Catch(&err)
	inputs := make(map[string]string)
	for _, in := range m.Inputs {
		inputs[in.Name] = in.Default
	}
	for name, v := range values {
		if _, known := inputs[name]; !known {
			refuse("%s has no input %q", m.Name, name)
		}
		inputs[name] = v
	}
	l = newLesson(m.Name, inputs, o)
	m.trace(l)
	return l, nil
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
	for _, p := range t.parts() {
		for _, n := range *p.numbers {
			if len(n.Values) > 1 && infinite(n) {
				return fmt.Errorf("%w: %s is not finite", ErrInput, n.Name)
			}
		}
		*p.numbers = slices.DeleteFunc(*p.numbers, infinite)
	}
	return nil
}
