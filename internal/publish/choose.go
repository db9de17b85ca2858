package publish

import (
	"fmt"

	"github.com/pate-go/pate/dataset"
)

// Numbers are the public numbers from which a method is chosen.
type Numbers struct {
	Units, Classes, Pool int // Units as declared; Pool is the number of public rows
	Features             int
	Numeric              float64 // share of features that come from number columns
	Image                bool    // rows are images
	Epsilon, Delta       float64
}

// Choice is what a method would likely give.
type Choice struct {
	Method string
	// Share is the expected share of the gap in accuracy between the most frequent class and a model without
	// privacy that the method closes.
	Share  float64
	Reason string
}

// Bounds of the choice.
const (
	nearNumeric = 0.9  // least share of features from number columns for which distances mean something
	nearClasses = 5    // least number of classes
	nearUnits   = 2000 // least number of units
)

// Choose returns all methods with what they would likely give, the best first. It is a function of public
// numbers alone.
func Choose(n Numbers) []Choice {
	dpsgd := Choice{DPSGD, 0.85, "one linear model learns from all rows"}
	nearest := Choice{Nearest, 0.7, "distances mean little here, or a linear model does as well"}
	sample := Choice{Sample, 0.65, "the nearest rows of a sample answer few questions well"}
	votes := Choice{PATE, 0.35, fmt.Sprintf("%d units are shared out among many weak teachers", n.Units)}
	if !n.Image && n.Numeric >= nearNumeric && n.Classes >= nearClasses && n.Units >= nearUnits {
		nearest.Share, nearest.Reason = 0.9, "distances between numbers mean something"
		dpsgd.Share, dpsgd.Reason = 0.75, fmt.Sprintf("one linear model separates %d classes badly", n.Classes)
		return []Choice{nearest, dpsgd, sample, votes}
	}
	return []Choice{dpsgd, nearest, sample, votes}
}

// choose reads the public rows, sets the method, and describes all methods.
func (j *job) choose() error {
	schema, pool, err := dataset.ReadPublic(j.Public, j.Reading)
	if err != nil {
		return err
	}
	n := Numbers{Units: j.Size, Classes: len(schema.Classes), Pool: pool.Len(), Features: schema.Features, Numeric: 1,
		Image: schema.Image.Rows > 0, Epsilon: j.Epsilon, Delta: j.Delta}
	if schema.Encoder != nil {
		n.Numeric = float64(schema.Encoder.Numeric()) / float64(schema.Features)
	}
	choices := Choose(n)
	if j.Method = choices[0].Method; j.Method != PATE { // whose teachers read the rows themselves
		j.read = &public{schema, pool}
	}
	j.Say("method: " + choices[0].Method + ", chosen by public numbers alone; --method NAME takes another")
	j.Say("likely share of the way from the most frequent class to a model without privacy:")
	for _, c := range choices {
		j.Say(fmt.Sprintf("  %-7s  %2.0f %%: %s", c.Method, 100*c.Share, c.Reason))
	}
	return nil
}
