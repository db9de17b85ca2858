package student

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// Supervised trains learner on the rows of x that have a released label. The argument labels has one entry
// per row of x, a class or [Unlabelled]. Without any label the error is [ErrNoLabels].
func Supervised(ctx context.Context, learner teachers.Learner, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
	labelled, err := check(x, labels, classes)
	if err != nil {
		return nil, err
	}
	c, err := learner.Fit(ctx, gather(x, labels, labelled, classes), rnd)
	if err != nil {
		return nil, fmt.Errorf("student: %w", err)
	}
	return c, nil
}

// SelfTraining trains a learner on released labels, and then, Rounds times, on these labels and its own
// surest answers.
type SelfTraining struct {
	// Learner must give classifiers that implement teachers.Scorer.
	Learner teachers.Learner
	Rounds  int // default 5
	// Fraction is the share of the pool whose answers count in the last round. It grows evenly over the
	// rounds. The default is 0.9.
	Fraction float64
	Progress func(Progress)
}

var errNoScores = errors.New("student: self-training needs a classifier with scores (teachers.Scorer)")

// Fit trains on x, one row per pool example. See [Supervised] for labels.
func (s SelfTraining) Fit(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
	if s.Learner == nil {
		return nil, errors.New("student: SelfTraining.Learner is nil")
	}
	s.Rounds, s.Fraction = cmp.Or(s.Rounds, 5), cmp.Or(s.Fraction, .9)
	if s.Rounds < 0 || !(s.Fraction > 0 && s.Fraction <= 1) {
		return nil, fmt.Errorf("student: SelfTraining.Rounds %d or Fraction %v is out of range", s.Rounds, s.Fraction)
	}
	model, err := Supervised(ctx, s.Learner, x, labels, classes, rnd)
	if err != nil {
		return nil, err
	}
	for round := 1; round <= s.Rounds; round++ {
		scorer, ok := model.(teachers.Scorer)
		if !ok {
			return nil, errNoScores
		}
		scores := dense.New(x.Rows, classes)
		if err := scorer.Scores(scores, x); err != nil {
			return nil, fmt.Errorf("student: %w", err)
		}
		believed := believe(labels, scores, s.Fraction*float64(round)/float64(s.Rounds))
		if model, err = Supervised(ctx, s.Learner, x, believed, classes, rnd); err != nil {
			return nil, err
		}
		if s.Progress != nil {
			s.Progress(Progress{Stage: "fit", Done: round, Total: s.Rounds})
		}
	}
	return model, nil
}

// believe adds answers to labels: for every class the answers with the widest margin over the second class,
// up to a fraction of the rows given that class. Working class by class keeps easy classes from crowding out
// the rest.
func believe(labels []int, scores Matrix, fraction float64) []int {
	out := slices.Clone(labels)
	margin := make([]float32, scores.Rows)
	answers := make([][]int, scores.Cols)
	for i := range scores.Rows {
		v := dense.Row(scores, i)
		first := dense.Argmax(v)
		second := (first + 1) % len(v)
		for c, s := range v {
			if c != first && s > v[second] {
				second = c
			}
		}
		margin[i] = v[first] - v[second]
		answers[first] = append(answers[first], i)
	}
	for c, list := range answers {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(margin[b], margin[a]) })
		for _, i := range list[:int(fraction*float64(len(list)))] {
			if out[i] == Unlabelled {
				out[i] = c
			}
		}
	}
	return out
}

// check refuses bad labels and features. It returns the labelled rows.
func check(x Matrix, labels []int, classes int) ([]int, error) {
	if err := checkMatrix(x); err != nil {
		return nil, err
	}
	labelled, _, err := released(labels, x.Rows, classes)
	return labelled, err
}
