package museum

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Exhibit is a published mistake.
type Exhibit struct {
	Name    string
	Chapter string // of the course
	Source  string
	Year    int
	Did     string // the mistake
	Why     string
	Inputs  string  // two neighbouring inputs
	Epsilon float64 // claimed, at Delta
	Delta   float64
	// FoundEpsilon is the least epsilon at Delta on these inputs, or 0 if none exists.
	FoundEpsilon float64
	FoundDelta   float64 // least delta at Epsilon, if FoundEpsilon is 0
	Rare         bool    // the evidence is too rare for sampling

	run mechanism // nil if the mechanism is in package controls
}

//go:embed exhibits.json
var exhibitsFile []byte

// Exhibits returns all exhibits.
func Exhibits() (all []Exhibit) {
	_ = json.Unmarshal(exhibitsFile, &all) // a test checks the file
	runs := mechanisms()
	for i, e := range all {
		all[i].run = runs[e.Name]
	}
	return all
}

// Sample returns a function that draws an output of the mechanism with the mistake. The argument `in` is 1
// with the record and 0 without it. Sample panics if the mechanism is in package controls.
func (e Exhibit) Sample(in int, rnd *rand.Rand) func() string {
	t := &trial{in: in, rnd: rnd, laws: map[noise][]float64{}}
	return func() string { return fmt.Sprint(e.run(t)) }
}

// Laws returns the log probabilities of all outputs with and without the record, in the same order. If right
// is true, Laws uses the corrected mechanism. Laws panics if the mechanism is in package controls.
func (e Exhibit) Laws(right bool) (with, without []float64) {
	p, q := e.run.enumerate(1, right), e.run.enumerate(0, right)
	outputs := maps.Clone(p)
	maps.Copy(outputs, q)
	for _, o := range slices.Sorted(maps.Keys(outputs)) {
		with, without = append(with, math.Log(p[o])), append(without, math.Log(q[o]))
	}
	return with, without
}

// Exercise returns a question with a numeric answer, and its solution.
func (e Exhibit) Exercise() (question string, answer float64, solution string) {
	asked, found := fmt.Sprintf("Which ε can be proved at least, at δ = %g?", e.Delta), "ε"
	if answer = e.FoundEpsilon; answer == 0 {
		asked, found = fmt.Sprintf("No ε holds at δ = %g. Which δ can be proved at least, at ε = %g?", e.Delta, e.Epsilon), "δ"
		answer = e.FoundDelta
	}
	return fmt.Sprintf("A published mistake (%d, %s). %s. Here the claim is ε = %g, δ = %g. Neighbours: %s. What is wrong? %s",
			e.Year, e.Source, e.Did, e.Epsilon, e.Delta, e.Inputs, asked), answer,
		fmt.Sprintf("%s The answer is %s = %g (pate audit --suite %s).", e.Why, found, answer, e.Name)
}
