// Package nearby labels public rows by votes of nearby private units, and plans these votes. Package
// [neighbours] has the mechanisms and their guarantee. A plan depends only on public numbers.
package nearby

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate/neighbours"
)

// Task holds the public numbers for a plan.
type Task struct {
	Units, Classes int
	Askable        int  // number of public rows that can be questions
	Images         bool // rows are images
	Drawn          bool // rows are drawn, not public
	Target         accountant.Target
	Before         accountant.Event // event that is charged with the labels; may be nil
}

// Plan holds the calibrated parameters of a method.
type Plan struct {
	Questions int     `json:"questions"`
	Near      int     `json:"near"`                           // number of questions at which a unit votes, or of units that vote at a question
	Sampled   float64 `json:"sampling_probability,omitempty"` // probability of a unit at each question; 0 if all units vote
	Sigma     float64 `json:"sigma"`                          // standard deviation of the noise on each count
	Drawn     bool    `json:"drawn,omitempty"`                // questions are drawn, so units may be near none of some
	Silos     int     `json:"silos_per_unit,omitempty"`       // number of silos that may count one unit; 0 means 1
}

// ForTraining describes the use of labels if units vote only at their nearest questions.
const ForTraining = "for training a student, not for people: few units vote at a question, so many labels may be wrong"

func (p Plan) Note() string {
	switch {
	case p.Sampled > 0:
		return fmt.Sprintf("the %d nearest of a sample vote", p.Near)
	case p.Near > 1:
		return fmt.Sprintf("every unit votes at the %d questions nearest to it", p.Near)
	}
	return "every unit votes at the question nearest to it"
}

// Futile reports whether labels are hardly better than random, because of too much noise or too few
// questions.
func (p Plan) Futile() bool {
	if p.Sampled > 0 {
		return 2*p.Sigma > float64(p.Near)
	}
	return 2*p.Near > p.Questions && p.Questions > 1
}

func (p Plan) Event() (accountant.Event, error) {
	if p.Sampled > 0 {
		return eventOf(p.sampled())
	}
	return eventOf(p.nearest())
}

func (p Plan) sampled() (*neighbours.KNearest, error) {
	return neighbours.NewKNearest(neighbours.KNearestConfig{
		Neighbours: p.Near, SamplingProbability: p.Sampled, Sigma: p.Sigma, Questions: p.Questions,
	})
}

func (p Plan) nearest() (*neighbours.NearestQuestions, error) {
	return neighbours.NewNearestQuestions(neighbours.NearestQuestionsConfig{Votes: p.Near, Sigma: p.Sigma, Questions: p.Questions, Silos: p.Silos})
}

func eventOf[M interface{ Event() accountant.Event }](m M, err error) (accountant.Event, error) {
	if err != nil {
		return nil, err
	}
	return m.Event(), nil
}

// MostQuestions is the largest useful number of questions. For images, a plan of [Nearest] may have more.
const MostQuestions = 2000

// These constants configure private k-NN. The planned number of questions assumes noise of nearNoise times
// the number of voters.
const (
	nearShare       = 0.25
	sampledShare    = 0.5
	nearNoise       = 0.2
	sampledFewest   = 2 // questions per class
	sampledMostNear = 1000
)

// Sampled returns a plan for private k-NN. For each question, the nearest units in a new Poisson sample vote.
func Sampled(ctx context.Context, t Task) (Plan, error) {
	near := min(nearShare*float64(t.Units)/float64(t.Classes), sampledMostNear)
	k := max(1, int(sampledShare*near))
	p := Plan{Near: k, Sampled: sampledShare, Drawn: t.Drawn}
	affordable, err := accountant.Affordable(ctx, account, t.Target, func(n int64) (accountant.Event, error) {
		p := p
		p.Sigma, p.Questions = nearNoise*float64(k), int(max(1, n))
		return t.cost(p)
	})
	if err != nil {
		return Plan{}, fmt.Errorf("nearby: %w", err)
	}
	p.Questions = int(min(max(affordable, int64(sampledFewest*t.Classes)), int64(min(t.Askable, MostQuestions))))
	return t.withLeastNoise(ctx, p)
}

// These are parameters of [Nearest]. The planned standard deviation of the noise is nearestNoise times the
// mean number of votes on a question.
const (
	nearestNoise  = 0.2
	nearestShare  = 0.2
	nearestFewest = 10 // questions per class
)

// Nearest returns a plan in which every unit votes at its nearest questions.
func Nearest(ctx context.Context, t Task) (Plan, error) {
	// With T questions, n units and B votes per unit, a question has nB/T votes on average. Let c be the
	// noise for B = 1, so the noise for B votes is c sqrt(B). The noise is a fraction r of the mean if B =
	// (cT/(rn))^2. The mean has its largest allowed value a if T = r^2 a n / c^2. If fewer questions exist,
	// all are used.
	p, err := t.withLeastNoise(ctx, Plan{Questions: 1, Near: 1, Drawn: t.Drawn})
	if err != nil {
		return Plan{}, err
	}
	one, n, classes := p.Sigma, float64(t.Units), float64(t.Classes)
	useful := t.Askable
	if !t.Images {
		useful = min(useful, MostQuestions)
	}
	most := math.Pow(nearestNoise*n/one, 2) * nearestShare / classes
	p.Questions = min(max(int(min(most, float64(useful))), int(nearestFewest*classes)), t.Askable)
	root := one * float64(p.Questions) / (nearestNoise * n)
	p.Near = min(max(1, int(math.Ceil(root*root))), p.Questions)
	return t.withLeastNoise(ctx, p)
}

func account() (accountant.Accountant, error) {
	return accountant.AutoConfig{Relation: accountant.AddRemove}.NewAccount()
}

func (t Task) cost(p Plan) (accountant.Event, error) {
	e, err := p.Event()
	if err != nil || t.Before == nil {
		return e, err
	}
	return accountant.Composed{Events: []accountant.Event{t.Before, e}}, nil
}

func (t Task) withLeastNoise(ctx context.Context, p Plan) (Plan, error) {
	sigma, _, err := accountant.CalibrateNoise(ctx, account, t.Target, func(sigma float64) (accountant.Event, error) {
		p := p
		p.Sigma = sigma
		return t.cost(p)
	})
	if err != nil {
		return Plan{}, fmt.Errorf("nearby: noise: %w", err)
	}
	p.Sigma = sigma
	return p, nil
}
