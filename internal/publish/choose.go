package publish

import (
	"cmp"
	"fmt"
	"slices"
)

type Numbers struct {
	Units, Classes int     // Units is the declared number
	Directions     float64 // effective number of directions in public rows; 0 for images
	Epsilon        float64
}

type Choice struct {
	Method string
	// Share is the expected gain in accuracy over a baseline, divided by the gain without privacy. The
	// baseline always predicts the most frequent class.
	Share  float64
	Reason string
}

// manyDirections and votesOfClass divide tables into groups for [Choose]. They were fitted at epsilon 1, 2
// and 8 on the seventeen tables FIT of experiments/peers/tables.py.
const (
	manyDirections = 5   // for each class; with more directions all rows are about equally far apart
	votesOfClass   = 700 // of epsilon times units per class; with less, few rows vote for a class
)

// Choose returns all methods with their expected results, best first.
func Choose(n Numbers) []Choice {
	// For tables, the shares are rounded means over all 29 tables of tables.py. On the seventeen tables FIT,
	// DP-SGD is best or within 1.5 points of the best, except on ringnorm, whose classes no plane separates.
	classes, votes := float64(n.Classes), n.Epsilon*float64(n.Units)/float64(n.Classes)
	shape := fmt.Sprintf("%d classes and about %.0f directions of the rows: ", n.Classes, n.Directions)
	linear, near, sample, teachers := 0.92, 0.81, 0.61, 0.67
	suits, distances := "a linear model is enough", "distances add little"
	switch {
	case n.Directions == 0: // images
		shape = "images: "
		linear, near, sample, teachers = 0.95, 0.85, 0.7, 0.7
	case n.Directions > manyDirections*classes:
		linear, near, sample, teachers = 0.6, 0.55, 0.35, 0.4
		distances = "distances mean little"
	case n.Directions <= classes:
		linear, near, sample, teachers = 0.92, 0.9, 0.77, 0.81
		suits, distances = "cosines of the columns separate them", "distances mean much"
	}
	if votes < votesOfClass {
		sample, teachers = sample-0.1, teachers-0.2
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

func (j *job) choose() error {
	schema, pool, err := j.readPublic()
	if err != nil {
		return err
	}
	if schema.Classes == nil {
		_, err := schema.ReadPrivate(j.Private) // refuses before it reads
		return err
	}
	j.read = &public{Schema: schema, pool: pool}
	n := Numbers{Units: j.Size, Classes: len(schema.Classes), Epsilon: j.Epsilon}
	if schema.Image.Rows == 0 {
		n.Directions = j.read.seen().Directions
	}
	choices := Choose(n)
	j.Method = choices[0].Method
	j.Say("method: " + j.Method + ", chosen by public numbers alone; --method NAME takes another")
	j.Say("likely share of the way from the most frequent class to a model without privacy:")
	for _, c := range choices {
		j.Say(fmt.Sprintf("  %-7s  %2.0f %%: %s", c.Method, 100*c.Share, c.Reason))
	}
	return nil
}
