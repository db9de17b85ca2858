package learn

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// lesson is a Trace in the making. It reads inputs, takes the values that the text
// names, and tells the text section by section. Its first error is kept: methods after
// it do nothing that matters, and no trace comes out.
type lesson struct {
	Trace
	inputs map[string]string
	key    rng.Key
	delta  float64
	text   phrases
	values map[string]any
	told   map[string]bool // sections
	err    error
}

func newLesson(name string, inputs map[string]string, o Options) (*lesson, error) {
	own, err := readText(name)
	if err != nil {
		return nil, err
	}
	shared, err := readText("shared")
	if err != nil {
		return nil, err
	}
	t, err := parseTexts(shared, own)
	if err != nil {
		return nil, err
	}
	return &lesson{
		Trace:  Trace{Schema: Schema, Mechanism: name, Seed: o.Seed, Title: own.title},
		inputs: inputs, key: rng.SeedKey(o.Seed).Derive("explain " + name), delta: o.Delta,
		text: t, values: make(map[string]any), told: make(map[string]bool),
	}, nil
}

// let gives the text a value by name. A number is written there as in the tables.
func (l *lesson) let(name string, value any) {
	if x, ok := value.(float64); ok {
		value = short(x)
	}
	l.values[name] = value
}

// fail keeps the first error.
func (l *lesson) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// execute fills in a phrase.
func (l *lesson) execute(name string) string {
	var b strings.Builder
	if err := l.text.fill(&b, name, l.values); err != nil {
		l.fail(fmt.Errorf("learn: %s: %w", l.Mechanism, err))
	}
	return b.String()
}

// section returns the section of that id.
func (l *lesson) section(id string) (heading, words string, f *Formula) {
	l.told[id] = true
	words, f, err := setOut(l.execute(id))
	if err != nil {
		l.fail(err)
	}
	return l.execute(headingOf(id)), words, f
}

// step tells a section as the next step, with vectors that have a value for each class.
func (l *lesson) step(id string, numbers ...Number) { l.stepOver("", id, numbers...) }

// stepOver tells a step with vectors that run over something else.
func (l *lesson) stepOver(index, id string, numbers ...Number) {
	heading, words, f := l.section(id)
	l.Steps = append(l.Steps, Step{Name: heading, Words: words, Formula: f, Numbers: numbers, Index: index})
}

// The headings of what is released and what it cost.
const (
	releasedHeading = "What is released"
	costHeading     = "What it cost"
)

// release tells what is released.
func (l *lesson) release(numbers ...Number) {
	_, words, f := l.section(releasedHeading)
	l.Released = Section{Words: words, Formula: f, Numbers: numbers}
}

// cost tells what the run cost.
func (l *lesson) cost(numbers ...Number) {
	_, words, f := l.section(costHeading)
	l.Cost = Section{Words: words, Formula: f, Numbers: numbers}
}

// mistake tells a section whose heading begins with If.
func (l *lesson) mistake(id string, numbers ...Number) {
	heading, words, f := l.section(id)
	condition, found := strings.CutPrefix(heading, "If ")
	if !found || f != nil {
		l.fail(fmt.Errorf("learn: %s: %q must begin with If and have no formula", l.Mechanism, heading))
	}
	l.Mistakes = append(l.Mistakes, Mistake{If: condition, Words: words, Numbers: numbers})
}

// invalid returns an error about inputs.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInput, fmt.Errorf(format, args...))
}

// number reads an input that is a finite number, and lets the text name it.
func (l *lesson) number(name string) float64 {
	x, err := finite(l.inputs[name])
	if err != nil {
		l.fail(invalid("%s: %w", name, err))
	}
	l.let(name, x)
	return x
}

// positive reads a number that is above 0.
func (l *lesson) positive(name string) float64 {
	x := l.number(name)
	if !(x > 0) {
		l.fail(invalid("%s: %v is not above 0", name, x))
	}
	return x
}

// maxRepeats bounds the numbers of queries and answers of a trace.
const maxRepeats = 1 << 40

// whole reads a number of queries, answers or the like.
func (l *lesson) whole(name string) int {
	x := l.number(name)
	if x != math.Trunc(x) || x < 1 || x > maxRepeats {
		l.fail(invalid("%s: %v is not a whole number from 1 to 2^40", name, x))
		return 0
	}
	l.let(name, int(x))
	return int(x)
}

// numbers reads an input that is a list of finite numbers.
func (l *lesson) numbers(name string) []float64 {
	var xs []float64
	for part := range strings.SplitSeq(l.inputs[name], ",") {
		x, err := finite(part)
		if err != nil {
			l.fail(invalid("%s: %w", name, err))
		}
		xs = append(xs, x)
	}
	return xs
}

func finite(text string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !mathx.IsFinite(x) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return x, nil
}

// maxClasses keeps a trace readable.
const maxClasses = 100

// histogram reads an input that is a list of vote counts.
func (l *lesson) histogram(name string) (aggregate.Histogram, []int) {
	xs := l.numbers(name)
	if len(xs) > maxClasses {
		l.fail(invalid("%s: at most %d classes, not %d", name, maxClasses, len(xs)))
	}
	counts := make([]int, len(xs))
	for i, x := range xs {
		if counts[i] = int(x); x != math.Trunc(x) || x < 0 || x > 1<<30 {
			l.fail(invalid("%s: %v is not a number of votes", name, x))
			counts[i] = 0
		}
	}
	h, err := aggregate.NewHistogram(counts)
	if err != nil {
		l.fail(invalid("%s: %w", name, err))
	}
	l.let("teachers", total(counts))
	return h, counts
}

// noise draws integer Gaussian noise, n values from a stream of their own.
func (l *lesson) noise(label string, sigma float64, n int) []int64 {
	out := make([]int64, n)
	d, err := rng.NewDiscreteGaussian(sigma)
	if err != nil {
		l.fail(invalid("%w", err))
		return out
	}
	s := l.key.Derive(label).Stream()
	for i := range out {
		out[i] = d.Sample(s)
	}
	return out
}

// uniform draws a number from 0 to 1, below 1.
func uniform(s *rng.Stream) float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

// epsilon returns what events cost together by the Rényi accountant.
func (l *lesson) epsilon(events ...accountant.Event) float64 {
	epsilon, err := renyiEpsilon(l.delta, events...)
	if err != nil {
		l.fail(err)
	}
	return epsilon
}

// pure returns what events cost together without any delta.
func (l *lesson) pure(events ...accountant.Event) float64 {
	account, err := theorems.NewBasic(accountant.AddRemove)
	if err == nil {
		var epsilon float64
		if epsilon, err = epsilonBy(account, 0, events...); err == nil {
			return epsilon
		}
	}
	l.fail(err)
	return 0
}
