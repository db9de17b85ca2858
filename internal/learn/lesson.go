package learn

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/template"
	"github.com/pate-go/pate/rng"
)

type failure struct{ err error }

// Must returns v if err is nil, and otherwise panics with err. A caller must defer [Catch].
func Must[T any](v T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return v
}

// Catch stores the error of a failed [Must] in *err. Functions that call Must defer Catch.
func Catch(err *error) {
	switch p := recover().(type) {
	case nil:
	case failure:
		*err = p.err
	default:
		panic(p)
	}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInput, fmt.Errorf(format, args...))
}

func valid[T any](v T, err error) T {
	if err != nil {
		err = invalid("%w", err)
	}
	return Must(v, err)
}

func refuse(format string, args ...any) { Must(0, invalid(format, args...)) }

type lesson struct {
	Trace
	inputs map[string]string
	key    rng.Key
	delta  float64
	text   *template.Template
	values map[string]any
	told   map[string]bool // sections used
}

func newLesson(name string, inputs map[string]string, o Options) *lesson {
	own, shared := Must(readText(name)), Must(readText("shared"))
	return &lesson{
		Trace:  Trace{Schema: Schema, Mechanism: name, Seed: o.Seed, Title: own.title},
		inputs: inputs, key: rng.SeedKey(o.Seed).Derive("explain " + name), delta: o.Delta,
		text: Must(parseTexts(shared, own)), values: make(map[string]any), told: make(map[string]bool),
	}
}

func (l *lesson) let(name string, value any) {
	if x, ok := value.(float64); ok {
		value = shortened(x)
	}
	l.values[name] = value
}

func (l *lesson) execute(name string) string {
	text, err := l.text.Fill(name, l.values)
	if err != nil {
		Must(0, fmt.Errorf("learn: %s: %w", l.Mechanism, err))
	}
	return text
}

type shortened float64

func (x shortened) String() string { return short(float64(x)) }

func (l *lesson) section(id string) (heading, words string, f *Formula) {
	l.told[id] = true
	words, f, err := setOut(l.execute(id))
	return l.execute(headingOf(id)), Must(words, err), f
}

func (l *lesson) step(id string, numbers ...Number) { l.stepOver("", id, numbers...) }

func (l *lesson) stepOver(index, id string, numbers ...Number) {
	heading, words, f := l.section(id)
	l.Steps = append(l.Steps, Step{Name: heading, Words: words, Formula: f, Numbers: numbers, Index: index})
}

const (
	releasedHeading = "What is released"
	costHeading     = "What it cost"
)

func (l *lesson) release(numbers ...Number) {
	_, words, f := l.section(releasedHeading)
	l.Released = Section{Words: words, Formula: f, Numbers: numbers}
}

func (l *lesson) cost(numbers ...Number) {
	_, words, f := l.section(costHeading)
	l.Cost = Section{Words: words, Formula: f, Numbers: numbers}
}

func (l *lesson) mistake(id string, numbers ...Number) {
	heading, words, f := l.section(id)
	condition, found := strings.CutPrefix(heading, "If ")
	if !found || f != nil {
		Must(0, fmt.Errorf("learn: %s: %q must begin with If and have no formula", l.Mechanism, heading))
	}
	l.Mistakes = append(l.Mistakes, Mistake{If: condition, Words: words, Numbers: numbers})
}

func (l *lesson) number(name string) float64 {
	x := l.finite(name, l.inputs[name])
	l.let(name, x)
	return x
}

func (l *lesson) finite(name, text string) float64 {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !mathx.IsFinite(x) {
		refuse("%s: %q is not a number", name, text)
	}
	return x
}

func (l *lesson) positive(name string) float64 {
	x := l.number(name)
	if !(x > 0) {
		refuse("%s: %v is not above 0", name, x)
	}
	return x
}

const maxRepeats = 1 << 40

func (l *lesson) whole(name string) int {
	x := l.number(name)
	if x != math.Trunc(x) || x < 1 || x > maxRepeats {
		refuse("%s: %v is not a whole number from 1 to 2^40", name, x)
	}
	l.let(name, int(x))
	return int(x)
}

func (l *lesson) numbers(name string) (xs []float64) {
	for part := range strings.SplitSeq(l.inputs[name], ",") {
		xs = append(xs, l.finite(name, part))
	}
	return xs
}

const maxClasses = 100

func (l *lesson) histogram(name string) (aggregate.Histogram, []int) {
	xs := l.numbers(name)
	if len(xs) > maxClasses {
		refuse("%s: at most %d classes, not %d", name, maxClasses, len(xs))
	}
	counts := make([]int, len(xs))
	for i, x := range xs {
		if counts[i] = int(x); x != math.Trunc(x) || x < 0 || x > 1<<30 {
			refuse("%s: %v is not a number of votes", name, x)
		}
	}
	h, err := aggregate.NewHistogram(counts)
	if err != nil {
		refuse("%s: %w", name, err)
	}
	l.let("teachers", total(counts))
	return h, counts
}

func (l *lesson) noise(label string, sigma float64, n int) []int64 {
	out := make([]int64, n)
	d, s := valid(rng.NewDiscreteGaussian(sigma)), l.key.Derive(label).Stream()
	for i := range out {
		out[i] = d.Sample(s)
	}
	return out
}

func uniform(s *rng.Stream) float64 { return float64(s.Uint64()>>11) * 0x1p-53 }

func (l *lesson) epsilon(events ...accountant.Event) float64 {
	return Must(renyiEpsilon(l.delta, events...))
}

func (l *lesson) pure(events ...accountant.Event) float64 {
	return epsilonBy(Must(theorems.NewBasic(accountant.AddRemove)), 0, events...)
}

// Mechanism is a mechanism that can be traced. Short, Long and Inputs come from files in internal/learn/text.
type Mechanism struct {
	Name   string
	Short  string
	Long   string // paragraph for the command's help
	Inputs []Input
	trace  func(*lesson)
}

type Input struct {
	Name    string
	Default string
	Usage   string
}

type Options struct {
	Seed  uint64  // seed of the noise
	Delta float64 // delta of all epsilons, in (0, 1)
}

// Mechanisms returns all mechanisms in reading order. If the text file of a mechanism is unreadable, its Run
// returns the error.
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

var ErrInput = errors.New("learn: invalid input")

// Run traces one run of the mechanism m. An input without an entry in the map values has its default. An
// unknown input is an error.
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
