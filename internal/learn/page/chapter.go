package page

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pate-go/pate/internal/learn"
	"github.com/pate-go/pate/internal/museum"
)

// Chapter is a claim with an interactive picture.
type Chapter struct {
	Name string
	// Text holds the text by heading: Title, Chapter (one line), Claim, Look (things to try), Wrong (the
	// misconception) and Right (the correction).
	Text      map[string]string
	Knobs     []Knob
	Scenes    []Scene // situations to select; the first is the default
	Exercises []Exercise
	Code      []string // functions whose source is shown, as package.Function
	// Needs is a warning about a slow computation, or "".
	Needs string

	draw  func(*reader) View
	trace func(*reader) (mechanism string, inputs map[string]string)
}

// Knob is an input control of a picture, with a text value.
type Knob struct {
	ID      string   `json:"id"`
	Label   string   `json:"label"`
	Kind    Kind     `json:"kind"`
	Min     float64  `json:"min,omitempty"` // for a Range
	Max     float64  `json:"max,omitempty"`
	Step    float64  `json:"step,omitempty"`
	Choices []Choice `json:"choices,omitempty"` // for a Pick
	Default string   `json:"default"`
	For     string   `json:"for,omitempty"`  // shown only if another knob has one of these values, such as "mechanism=a|b"
	Play    bool     `json:"play,omitempty"` // can be animated
}

// Kind is the type of a [Knob], an input control.
type Kind string

const (
	Range Kind = "range" // a number between Min and Max
	Pick  Kind = "pick"  // one of Choices
	Words Kind = "words" // a typed list of numbers
	Move  Kind = "move"  // a vote that moves between classes, such as "0>1", or empty
)

// Choice is one of the values of a knob, with a label.
type Choice struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// Scene is a named choice of knob values.
type Scene struct {
	Name      string
	Situation Situation
}

// Situation maps knob ids to values. A missing knob has its default value.
type Situation map[string]string

//go:embed chapters.json
var chapterFile []byte

func Chapters() (all []Chapter) {
	_ = json.Unmarshal(chapterFile, &all) // a test checks the file
	complete := map[string]func(*Chapter){
		"noisy-argmax": noisyArgmax, "composition": composition, "stability": stable, "subsample-aggregate": subsample,
		"sparse-vector": sparseVector, "pate": pateItself, "dpsgd": gradients, "comparing": comparing,
	}
	exhibits := museum.Exhibits()
	for i := range all {
		c := &all[i]
		title, text, _ := learn.Course(c.Name)
		c.Text = map[string]string{"Title": title}
		maps.Copy(c.Text, text)
		complete[c.Name](c)
		for _, e := range exhibits {
			if e.Chapter == c.Name {
				question, answer, solution := e.Exercise()
				c.Exercises = append(c.Exercises, Exercise{e.Name, question, solution, func() float64 { return answer }, 0.02})
			}
		}
	}
	return all
}

func Find(name string) (Chapter, error) {
	var names []string
	for _, c := range Chapters() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Chapter{}, fmt.Errorf("page: no chapter %q: one of %s", name, strings.Join(names, ", "))
}

// ErrSituation matches errors about the value of a knob.
var ErrSituation = errors.New("page: not a situation")

func (c Chapter) Draw(s Situation) (v View, err error) {
	defer learn.Catch(&err)
	v = c.draw(c.read(s))
	return v, v.check()
}

// Trace traces the mechanism of a situation step by step.
func (c Chapter) Trace(s Situation) (t learn.Trace, err error) {
	defer learn.Catch(&err)
	name, inputs := c.trace(c.read(s))
	return learn.Must(learn.Find(name)).Run(inputs, learn.Options{Seed: 7, Delta: Delta})
}

// Delta is the δ of all chapters.
const Delta = 1e-5

// Defaults returns the situation with the default value of each knob.
func (c Chapter) Defaults() Situation {
	s := make(Situation)
	for _, k := range c.Knobs {
		s[k.ID] = k.Default
	}
	return s
}

func (c Chapter) read(s Situation) *reader {
	r := &reader{values: c.Defaults()}
	for id, value := range s {
		if _, known := r.values[id]; !known {
			refuse("%s has no knob %q", c.Name, id)
		}
		r.values[id] = value
	}
	for _, k := range c.Knobs {
		value := r.values[k.ID]
		if k.Kind == Range {
			if x := r.number(k.ID); !(x >= k.Min && x <= k.Max) {
				refuse("%s: from %g to %g, not %q", k.Label, k.Min, k.Max, value)
			}
		}
		if k.Kind == Pick && !slices.ContainsFunc(k.Choices, func(c Choice) bool { return c.Value == value }) {
			refuse("%s: no choice %q", k.Label, value)
		}
	}
	return r
}

func (c *Chapter) exercise(name string, tolerance float64, answer func() float64) {
	c.Exercises = append(c.Exercises, Exercise{
		Name: name, Question: c.Text["Exercise "+name], Solution: c.Text["Solution "+name], answer: answer, tolerance: tolerance})
}

// Exercise is a question with a numeric answer.
type Exercise struct {
	Name      string
	Question  string
	Solution  string
	answer    func() float64
	tolerance float64 // relative
}

// Answer returns the right answer.
func (e Exercise) Answer() (x float64, err error) {
	defer learn.Catch(&err)
	return e.answer(), nil
}

// Check reports whether an answer is right, and returns text for the reader.
func (c Chapter) Check(exercise string, given float64) (right bool, words string, err error) {
	for _, e := range c.Exercises {
		if e.Name != exercise {
			continue
		}
		answer, err := e.Answer()
		if err != nil {
			return false, "", err
		}
		switch off := given - answer; {
		case math.Abs(off) <= e.tolerance*math.Abs(answer):
			return true, fmt.Sprintf("Right: %s.", short(answer)), nil
		case off > 0:
			return false, "Less than that.", nil
		}
		return false, "More than that.", nil
	}
	return false, "", fmt.Errorf("page: %s has no exercise %q", c.Name, exercise)
}
