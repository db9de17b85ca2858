package publish

import "fmt"

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
