package quota

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/dense"
)

// Terms are the public numbers of a run. [Terms.Choose] sets Votes and Sigma if they are 0.
type Terms struct {
	Config
	Units     int     `json:"units"`            // declared number of units
	Questions int     `json:"questions"`        // expected number of questions; more questions have no cost
	Radius    float64 `json:"radius,omitempty"` // of all questions; 0: by the nearest public rows
}

// These parameters were chosen on the data sets abalone, satellite and waveform. With n units, T questions
// and k votes per unit, a question has at most nk/T votes on average. The noise for k votes is c·sqrt(k),
// where c is the noise for one vote. K is the k at which nk/T equals signal times this noise. [Terms.Choose]
// sets k to min(max(fewest, K), widest·T/classes, MostVotes), rounded up. A larger k lets farther units vote,
// often for another class. Labels with nk/T < futile·c·sqrt(k) are hardly better than random.
const (
	signal = 12
	fewest = 8
	widest = 0.5
	futile = 2
)

// ErrFutile matches the error of [Terms.Choose] if the noise would hide the votes.
var ErrFutile = errors.New("quota: noise would hide the votes")

// Choose sets Votes and Sigma of t if they are 0, and returns t. The method least.Find determines Sigma.
func (t Terms) Choose(least aggregate.LeastNoise) (Terms, error) {
	if t.Units < 1 || t.Questions < 1 || t.Classes < 2 {
		return t, fmt.Errorf("quota: %d units, %d questions and %d classes are too few", t.Units, t.Questions, t.Classes)
	}
	noise := func(votes int) (float64, error) {
		sigma, err := least.Find(func(sigma float64) (accountant.Event, error) { return event(sigma, votes), nil })
		if errors.Is(err, accountant.ErrNoBracket) { // nothing fits
			return math.Inf(1), nil
		}
		return sigma, err
	}
	questions := float64(t.Questions) / float64(t.Units)
	if t.Votes == 0 {
		one, err := noise(1)
		if err != nil {
			return t, err
		}
		votes := max(math.Pow(signal*questions*one, 2), fewest)
		votes = min(votes, widest*float64(t.Questions)/float64(t.Classes), MostVotes)
		t.Votes = max(1, int(math.Ceil(votes)))
	}
	if t.Sigma == 0 {
		var err error
		if t.Sigma, err = noise(t.Votes); err != nil {
			return t, err
		}
	}
	if float64(t.Votes) < futile*questions*t.Sigma {
		return t, fmt.Errorf("%w: a question has at most %.3g votes on average, and the noise is %.3g",
			ErrFutile, float64(t.Votes)/questions, t.Sigma)
	}
	return t, nil
}

// near and slope determine the radii of questions. On average, a radius encloses the fraction
// near·Terms.Votes/Terms.Questions of the public rows. For later questions, fewer units have votes left, so
// the radius grows. A factor on the fraction grows linearly from 1 - slope/2 to 1 + slope/2 over the expected
// questions.
const (
	near  = 0.7
	slope = 0.6
)

// Sample holds public rows that resemble the questions.
type Sample struct {
	X     dense.Matrix
	Terms Terms
}

// Check returns an error if s has too few public rows to determine a radius.
func (s Sample) Check() error {
	if s.Terms.Radius == 0 && s.rank(0) < 1 {
		return fmt.Errorf("quota: %d public rows are too few; at least %.0f are needed",
			s.X.Rows, math.Ceil(float64(s.X.Rows)/s.rank(0)))
	}
	return nil
}

func (s Sample) rank(before uint64) float64 {
	done := min(1, float64(before)/float64(s.Terms.Questions))
	return near * (1 + slope*(done-0.5)) * float64(s.Terms.Votes) / float64(s.Terms.Questions) * float64(s.X.Rows)
}

// Radius returns the distance within which units vote on the question `row`, after `before` earlier
// questions. It uses only public rows.
func (s Sample) Radius(row []float32, before uint64) float64 {
	if s.Terms.Radius > 0 {
		return s.Terms.Radius
	}
	squared := make([]float64, s.X.Rows)
	for i := range squared {
		squared[i] = distance(row, dense.Row(s.X, i))
	}
	slices.Sort(squared)
	at := min(s.rank(before), float64(s.X.Rows))
	last := max(0, int(at)-1)
	next := min(last+1, s.X.Rows-1)
	return math.Sqrt(squared[last] + (at-math.Floor(at))*(squared[next]-squared[last]))
}
