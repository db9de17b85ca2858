// Package nearby plans votes of private units at public rows near them, and releases the labels. Package
// [neighbours] has the mechanisms and their guarantee. A plan is a function of public numbers alone.
package nearby

import (
	"context"
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate/neighbours"
)

// Task is the public numbers from which a plan is made.
type Task struct {
	Units, Classes int
	Askable        int  // number of public rows that can be questions
	Images         bool // rows are images
	Target         accountant.Target
	Before         accountant.Event // cost of releases that are charged with the labels; nil if there are none
}

// Plan is a calibrated method.
type Plan struct {
	Questions int     `json:"questions"`
	Near      int     `json:"near"`                           // questions at which a unit votes, or units that vote at a question
	Sampled   float64 `json:"sampling_probability,omitempty"` // of units, at each question; 0 if every unit votes
	Sigma     float64 `json:"sigma"`                          // noise of each count
}

// Note describes who votes.
func (p Plan) Note() string {
	switch {
	case p.Sampled > 0:
		return fmt.Sprintf("the %d nearest of a sample vote", p.Near)
	case p.Near > 1:
		return fmt.Sprintf("every unit votes at the %d questions nearest to it", p.Near)
	}
	return "every unit votes at the question nearest to it"
}

// Event returns the cost of a plan.
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
	return neighbours.NewNearestQuestions(neighbours.NearestQuestionsConfig{Votes: p.Near, Sigma: p.Sigma, Questions: p.Questions})
}

// eventOf returns the event of a mechanism, or the error of its constructor.
func eventOf[M interface{ Event() accountant.Event }](m M, err error) (accountant.Event, error) {
	if err != nil {
		return nil, err
	}
	return m.Event(), nil
}

// MostQuestions is the largest number of questions for rows that are not images: more questions make a
// student slower and hardly better. For images all public rows that a student learns from are asked:
// questions are free if every unit votes, and errors of many labels average out.
const MostQuestions = 2000

// Private k-NN: the units near enough to vote, as a share of all units divided by the number of classes;
// their sampling probability; and the noise as a share of the voters.
const (
	nearShare       = 0.25
	sampledShare    = 0.5
	nearNoise       = 0.2
	sampledFewest   = 2 // questions a class
	sampledMostNear = 1000
)

// Sampled plans votes of the units nearest to a question among a sample.
func Sampled(ctx context.Context, t Task) (Plan, error) {
	near := min(nearShare*float64(t.Units)/float64(t.Classes), sampledMostNear)
	k := max(1, int(sampledShare*near))
	p := Plan{Near: k, Sampled: sampledShare}
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

// Votes on the nearest questions: the noise of a count as a share of the average number of votes on a
// question, and its largest value, as a share of all units divided by the number of classes. Farther votes
// are worse.
const (
	nearestNoise  = 0.2
	nearestShare  = 0.2
	nearestFewest = 10 // questions a class
)

// Nearest plans votes of all units at the questions nearest to them. With T questions, B votes of each of n
// units and noise c sqrt(B), where c is the noise for one vote, a question has nB/T votes on average. The
// noise is a share r of these if B = (cT/(rn))^2, and they reach their limit of a units if T = r^2 a n / c^2.
// All rows of a smaller pool are asked.
func Nearest(ctx context.Context, t Task) (Plan, error) {
	p, err := t.withLeastNoise(ctx, Plan{Questions: 1, Near: 1})
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

// cost returns the event of a plan composed with what is charged before it.
func (t Task) cost(p Plan) (accountant.Event, error) {
	e, err := p.Event()
	if err != nil || t.Before == nil {
		return e, err
	}
	return accountant.Composed{Events: []accountant.Event{t.Before, e}}, nil
}

// withLeastNoise returns the plan with the least noise that meets the target.
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
