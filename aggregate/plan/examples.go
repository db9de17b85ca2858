package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/rng"
)

// Example is a query with votes for planning, and the label that counts as correct.
type Example struct {
	Votes aggregate.Histogram
	Label int
}

// PluralityExamples returns examples for votes without known labels. The class with the most votes counts
// as correct. In a tie, the lowest class counts as correct. The examples are private.
func PluralityExamples(votes []aggregate.Histogram) []Example {
	examples := make([]Example, len(votes))
	for i, h := range votes {
		examples[i] = Example{Votes: h}
		counts := h.Reveal()
		for class, n := range counts {
			if n > counts[examples[i].Label] {
				examples[i].Label = class
			}
		}
	}
	return examples
}

// Simulation draws example votes from public guesses, so planning has no privacy cost. The true label of a
// query is uniform. On each query, teachers are right with a probability x, drawn from a Beta distribution.
// Its mean is Accuracy, and its variance follows from Correlation. Given x, the teachers are independent. For
// each query, one wrong class is drawn. With probability Confusion, a wrong vote is for this class, otherwise
// for a uniform wrong class. All teachers vote and are equally good.
//
// The defaults are close to 250 kernel ridge teachers with 240 MNIST images each. Their accuracy was 0.85 and
// their correlation 0.43. On a query, 72 % of wrong votes were for one class. Without correlation, every
// plurality would be correct and plans would be too optimistic.
type Simulation struct {
	Teachers    int     // >= 2
	Classes     int     // >= 2
	Queries     int     // >= 1
	Accuracy    float64 // of one teacher, in (0, 1)
	Correlation float64 // correlation of two teachers being right, in (0, 1); 0 means DefaultCorrelation
	Confusion   float64 // probability defined above, in (0, 1]; 0 means DefaultConfusion

	even bool
}

const (
	DefaultCorrelation = 0.4
	DefaultConfusion   = 0.7
)

const (
	maxExamples = 1 << 20
	maxClasses  = 1 << 12
	maxTeachers = 1 << 20
)

func MaxExamples(classes int) int { return maxExamples / max(1, classes) * 2 }

func (s Simulation) withDefaults() Simulation {
	if s.Correlation == 0 {
		s.Correlation = DefaultCorrelation
	}
	if s.Confusion == 0 {
		s.Confusion = DefaultConfusion
	}
	return s
}

// Validate returns an error for the first field that is out of range.
func (s Simulation) Validate() error {
	s = s.withDefaults()
	switch {
	case s.Teachers < 2 || s.Teachers > maxTeachers:
		return fmt.Errorf("plan: Teachers must be in [2, %d], not %d", maxTeachers, s.Teachers)
	case s.Classes < 2 || s.Classes > maxClasses:
		return fmt.Errorf("plan: Classes must be in [2, %d], not %d", maxClasses, s.Classes)
	case s.Queries < 1 || s.Queries > MaxExamples(s.Classes):
		return fmt.Errorf("plan: Queries must be in [1, %d], not %d", MaxExamples(s.Classes), s.Queries)
	case !(s.Accuracy > 0 && s.Accuracy < 1):
		return fmt.Errorf("plan: Accuracy must lie strictly between 0 and 1, not %v", s.Accuracy)
	case !(s.Correlation > 0 && s.Correlation < 1):
		return fmt.Errorf("plan: Correlation must lie strictly between 0 and 1, not %v", s.Correlation)
	case !(s.Confusion > 0 && s.Confusion <= 1):
		return fmt.Errorf("plan: Confusion must be in (0, 1], not %v", s.Confusion)
	}
	return nil
}

func (s Simulation) Examples(key rng.Key) ([]Example, error) {
	s = s.withDefaults()
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if key.IsZero() {
		return nil, errors.New("plan: zero Key: make one with rng.SeedKey")
	}
	rnd := rand.New(key.Derive("plan simulation").Stream())
	// Given x, the correlation of two teachers being right is 1/(alpha+beta+1) for x ~ Beta(alpha, beta).
	weight := (1 - s.Correlation) / s.Correlation
	difficulty := distuv.Beta{Alpha: s.Accuracy * weight, Beta: (1 - s.Accuracy) * weight, Src: rnd}
	examples := make([]Example, s.Queries)
	for i := range examples {
		label := rnd.IntN(s.Classes)
		confused := (label + 1 + rnd.IntN(s.Classes-1)) % s.Classes
		right := 0.0
		if s.even {
			right = difficulty.Quantile((float64(i) + 0.5) / float64(s.Queries))
		} else {
			right = difficulty.Rand()
		}
		counts := make([]int, s.Classes)
		for range s.Teachers {
			switch {
			case rnd.Float64() < right:
				counts[label]++
			case rnd.Float64() < s.Confusion:
				counts[confused]++
			default:
				counts[(label+1+rnd.IntN(s.Classes-1))%s.Classes]++
			}
		}
		h, err := aggregate.NewHistogram(counts)
		if err != nil {
			return nil, fmt.Errorf("plan: %w", err)
		}
		examples[i] = Example{Votes: h, Label: label}
	}
	return examples, nil
}

// Summary describes example votes. It is as private as the votes.
type Summary struct {
	Queries, Classes, Teachers int     // Teachers is the largest number of votes on a query
	TeacherAccuracy            float64 // fraction of votes on the label
	PluralityAccuracy          float64 // fraction of queries whose plurality is the label
	MeanGap                    float64 // mean difference of the two largest counts
}

func Summarize(examples []Example) (Summary, error) {
	c, err := newCases(examples)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Queries: len(c.counts), Classes: len(c.counts[0]), Teachers: c.teachers}
	votes := 0
	right := 0
	for i, counts := range c.counts {
		for _, n := range counts {
			votes += int(n)
		}
		right += int(counts[c.labels[i]])
		if slices.Index(counts, slices.Max(counts)) == c.labels[i] {
			s.PluralityAccuracy++
		}
		sorted := slices.Sorted(slices.Values(counts))
		s.MeanGap += float64(sorted[len(sorted)-1] - sorted[len(sorted)-2])
	}
	s.TeacherAccuracy = float64(right) / math.Max(1, float64(votes))
	s.PluralityAccuracy /= float64(s.Queries)
	s.MeanGap /= float64(s.Queries)
	return s, nil
}

type cases struct {
	counts   [][]int64
	labels   []int
	largest  []int64 // largest count of each query
	teachers int     // largest number of votes on a query
	groups   []largestGroup
}

func newCases(examples []Example) (cases, error) {
	if len(examples) == 0 {
		return cases{}, errors.New("plan: no examples to plan on")
	}
	classes := examples[0].Votes.Classes()
	if classes == 0 {
		return cases{}, errors.New("plan: example 0 has a zero Histogram")
	}
	if len(examples) > MaxExamples(classes) {
		return cases{}, fmt.Errorf("plan: %d examples of %d classes exceed the limit %d: plan on fewer examples",
			len(examples), classes, MaxExamples(classes))
	}
	var c cases
	for i, e := range examples {
		if e.Votes.Classes() != classes {
			return cases{}, fmt.Errorf("plan: example %d has %d classes, but the first has %d", i, e.Votes.Classes(), classes)
		}
		if e.Label < 0 || e.Label >= classes {
			return cases{}, fmt.Errorf("plan: label %d of example %d is outside [0, %d)", e.Label, i, classes)
		}
		counts, votes := make([]int64, classes), 0
		for j, n := range e.Votes.Reveal() {
			counts[j] = int64(n)
			votes += n
		}
		if votes > maxTeachers {
			return cases{}, fmt.Errorf("plan: example %d has %d votes, but the limit is %d", i, votes, maxTeachers)
		}
		c.counts = append(c.counts, counts)
		c.labels = append(c.labels, e.Label)
		c.largest = append(c.largest, slices.Max(counts))
		c.teachers = max(c.teachers, votes)
	}
	c.groups = byLargest(c.largest)
	return c, nil
}

func (c cases) each(ctx context.Context, f func(i int) float64) ([]float64, error) {
	out := make([]float64, len(c.counts))
	parallel.Each(0, len(out), func(_, i int) {
		if ctx.Err() == nil {
			out[i] = f(i)
		}
	})
	return out, ctx.Err()
}

// Agreement describes how often a teacher is right and how errors are correlated. A zero field is unknown.
type Agreement struct {
	Accuracy    float64 // of one teacher, in (0, 1)
	Correlation float64 // correlation of two teachers being right on a query, in (0, 1)
	Confusion   float64 // fraction of wrong votes on one class, in (0, 1]
}

// UsualAccuracy is the assumed accuracy of a teacher if no accuracy is declared.
const UsualAccuracy = 0.88

const leastCalibration = 30

var errFewExamples = errors.New("plan: at least 30 labelled queries with two votes each are needed")

// Calibrate estimates the agreement of teachers from their votes on queries with known labels. Let r_i of
// n_i votes on query i be right, and let p be the fraction of right votes. The correlation of two
// teachers is
//
//	(sum r_i (r_i-1) / sum n_i (n_i-1) - p^2) / (p (1-p)).
//
// Let w_i be the number of wrong votes on query i, and w_ij the number of wrong votes for class j. Two
// wrong votes on a query agree with probability A = sum w_ij (w_ij-1) / sum w_i (w_i-1). In a
// [Simulation] with m+1 classes and confusion c, A = c^2 + (1-c^2)/m. Calibrate rounds correlation and
// confusion to two digits, and rounds the accuracy down. If the examples are private, the rounded result
// is private too.
func Calibrate(examples []Example) (Agreement, error) {
	c, err := newCases(examples)
	if err != nil {
		return Agreement{}, err
	}
	var votes, right, pairs, rightPairs, wrongPairs, agreeing float64
	queries := 0
	for i, counts := range c.counts {
		n := 0.0
		for j, v := range counts {
			x := float64(v)
			n += x
			if j != c.labels[i] {
				agreeing += x * (x - 1)
			}
		}
		r := float64(counts[c.labels[i]])
		votes, right = votes+n, right+r
		pairs, rightPairs = pairs+n*(n-1), rightPairs+r*(r-1)
		wrongPairs += (n - r) * (n - r - 1)
		if n >= 2 {
			queries++
		}
	}
	if queries < leastCalibration {
		return Agreement{}, errFewExamples
	}
	p := right / votes
	a := Agreement{Accuracy: within(math.Floor(100*p)/100, 0.99), Correlation: 0.01, Confusion: DefaultConfusion}
	if p > 0 && p < 1 {
		a.Correlation = within(hundredths((rightPairs/pairs-p*p)/(p*(1-p))), 0.95)
	}
	m := float64(len(c.counts[0]) - 1)
	switch {
	case m == 1:
		a.Confusion = 1
	case wrongPairs > 0:
		a.Confusion = within(hundredths(math.Sqrt(max(0, (agreeing/wrongPairs-1/m)/(1-1/m)))), 1)
	}
	return a, nil
}

func hundredths(x float64) float64 { return math.Round(100*x) / 100 }

func within(x, most float64) float64 { return min(max(x, 0.01), most) }
