package training

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
)

// defaultTeachers is how many teachers there are where nothing is known in public of the number of private
// units. For a few thousand units it leaves each teacher enough to learn from, and for more it costs
// little: on MNIST 250, 500 and 1000 teachers end alike, on optdigits 100 beat 50 and 150.
const defaultTeachers = 100

// TeachersFor returns the number of teachers for a number of private units: about 2 sqrt(n) teachers, at
// least 200 where each still gets 20 units. For a given noise the number of answers grows with the square
// of the number of teachers, so more and weaker teachers are worth it as long as most of them agree: on
// development splits, at an epsilon of 2 and as many answers, 200 teachers of optdigits are answered right
// 87 % of the time and 100 of them 85 %, 200 teachers of letter 60 % and 100 of them 53 %; on MNIST 500
// teachers get four times the answers of 250, 95 % of them right instead of 96 %. The number of units must
// be public, or declared.
func TeachersFor(units int) int {
	root := 10 * int(math.Ceil(2*math.Sqrt(float64(units))/10))
	return min(units, max(2, root, min(200, units/20)))
}

// teachers returns how many teachers there are, and why.
func (j Job) teachers() (n int, reason string) {
	switch {
	case j.Teachers > 0:
		return j.Teachers, "as given"
	case j.Size > 0:
		n = TeachersFor(j.Size)
		return n, fmt.Sprintf("for about %d private units, as declared: %d for each", j.Size, j.Size/n)
	}
	return defaultTeachers, "the default: the number of private units is private and is not looked at; --size tells it in public"
}

// minHOG is the smallest image side that gives histograms of gradients two cells to block.
const minHOG = 8

// DefaultFeatures returns the features that teachers learn from, by the kind and shape of rows and by the
// learner.
func DefaultFeatures(kind dataset.Kind, image dataset.Shape, learner string) string {
	switch {
	case image.Rows > 0 && OfGolearn(learner) && image.Planes() == 1:
		return features.NameDeskewed
	case image.Rows < minHOG || image.Cols < minHOG:
		return features.NamePixels
	case kind == dataset.Handwriting:
		return features.NameDeskewedHOG
	default:
		return features.NameHOG
	}
}

// DefaultLearner returns the learner for tables, images or other features, and why. For tables it is the
// one that loses least where it loses: on development splits of letter, optdigits, abalone, Adult and
// Diabetes forests, boosters and kernel ridge are within a point or two of each other, with kernel ridge
// ahead, but on tables with long tails or rare classes kernel ridge falls behind by ten.
func DefaultLearner(table bool, image dataset.Shape) (learner, reason string) {
	switch {
	case table:
		return Forest, "for tables"
	case image != dataset.Shape{}:
		return KernelRidge, "for images"
	}
	return KernelRidge, "for features"
}
