package publish

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
)

// Numbers are the public numbers from which a method is chosen.
type Numbers struct {
	Units, Classes int     // Units is the declared number
	Directions     float64 // effective number of directions in public rows; 0 for images
	Epsilon        float64
}

// Choice is the expected result of a method.
type Choice struct {
	Method string
	// Share is the expected fraction of the accuracy gap that the method closes. The gap is between the most
	// frequent class and a model without privacy.
	Share  float64
	Reason string
}

// Bounds of the choice. These bounds and the fractions were fitted on seventeen tables
// (experiments/peers/tables.py, FIT) at epsilon 1, 2 and 8.
const (
	manyDirections = 5   // for each class; with more directions all rows are about equally far apart
	votesOfClass   = 700 // least product of epsilon and units per class for votes at near rows
)

// Choose returns all methods with their expected results, best first. It uses public numbers only. A linear
// model has one direction for each class, so it separates more classes than directions badly. Distances in
// few directions are informative. So units vote at near rows if the classes are at least as many as the
// directions and each class has enough units for the noise.
func Choose(n Numbers) []Choice {
	classes, votes := float64(n.Classes), n.Epsilon*float64(n.Units)/float64(n.Classes)
	shape := fmt.Sprintf("%d classes and about %.0f directions of the rows: ", n.Classes, n.Directions)
	linear, near, sample, teachers := 0.95, 0.85, 0.7, 0.7
	suits, distances := "a linear model is enough", "distances add little"
	switch {
	case n.Directions == 0: // images
		shape = "images: "
	case n.Directions > manyDirections*classes:
		linear, near, sample, teachers = 0.85, 0.6, 0.5, 0.3
		distances = "distances mean little"
	case n.Directions <= classes:
		linear, near, sample, teachers = 0.85, 0.95, 0.85, 0.85
		suits, distances = "a linear model separates them badly", "distances mean much"
	}
	if votes < votesOfClass {
		near, sample, teachers = min(near, 0.8), sample-0.2, teachers-0.2
		distances = fmt.Sprintf("%.0f units of a class are few votes", votes/n.Epsilon)
	}
	choices := []Choice{
		{DPSGD, linear, shape + suits},
		{Nearest, near, shape + distances},
		{Sample, sample, "a sample votes, and few questions can be asked"},
		{PATE, teachers, fmt.Sprintf("%d units are shared out among many weak teachers", n.Units)},
	}
	slices.SortStableFunc(choices, func(a, b Choice) int { return cmp.Compare(b.Share, a.Share) })
	return choices
}

// directions returns the effective number of directions in which rows vary. This is the squared sum of the
// covariance's eigenvalues divided by the sum of their squares. At most 1000 rows are used.
func directions(x dense.Matrix) float64 {
	const most = 1000
	picked := make([]int, min(most, x.Rows))
	for i := range picked {
		picked[i] = i * x.Rows / len(picked)
	}
	x = dense.Pick(x, picked)
	mean := make([]float64, x.Cols)
	for i := range x.Rows {
		for j, v := range dense.Row(x, i) {
			mean[j] += float64(v) / float64(x.Rows)
		}
	}
	for i := range x.Rows {
		for j := range mean {
			x.Data[i*x.Stride+j] -= float32(mean[j])
		}
	}
	gram := dense.New(x.Rows, x.Rows)
	dense.MulBT(gram, x, x)
	var trace, squares float64
	for i := range gram.Rows {
		trace += float64(dense.Row(gram, i)[i])
		for _, v := range dense.Row(gram, i) {
			squares += float64(v) * float64(v)
		}
	}
	return trace * trace / max(squares, math.SmallestNonzeroFloat64)
}

// choose reads the public rows, chooses the method, and describes all methods.
func (j *job) choose() error {
	schema, pool, err := dataset.ReadPublic(j.Public, j.Reading)
	if err != nil {
		return err
	}
	if schema.Classes == nil {
		_, err := schema.ReadPrivate(j.Private) // refuses before it reads
		return err
	}
	n := Numbers{Units: j.Size, Classes: len(schema.Classes), Epsilon: j.Epsilon}
	if schema.Image.Rows == 0 {
		n.Directions = directions(pool.X)
	}
	choices := Choose(n)
	if j.Method = choices[0].Method; j.Method != PATE { // teachers of PATE read the rows themselves
		j.read = &public{schema, pool}
	}
	j.Say("method: " + choices[0].Method + ", chosen by public numbers alone; --method NAME takes another")
	j.Say("likely share of the way from the most frequent class to a model without privacy:")
	for _, c := range choices {
		j.Say(fmt.Sprintf("  %-7s  %2.0f %%: %s", c.Method, 100*c.Share, c.Reason))
	}
	return nil
}
