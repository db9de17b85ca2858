package experiments

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// penalised is logistic regression at its optimum. Its penalty is one over the number of rows, or a larger
// one that predicts held-out rows better beyond chance: with many columns and classes the smallest fits the
// label noise, and a weak model would understate accuracy without privacy.
type penalised struct {
	units []string // of the rows; the rows of one are held out together
}

const (
	linearIterations = 300    // enough for logistic regression on tables to stop by itself
	penaltyRows      = 10_000 // at most, to choose a penalty
	penaltyHeld      = 5      // one unit in penaltyHeld is held out
)

// penalties are multiples of one over the number of rows.
func penalties() []float64 { return []float64{1, 30, 300} }

// Fit chooses the penalty and fits all rows. See teachers.Learner.
func (p penalised) Fit(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (teachers.Classifier, error) {
	penalty, err := p.choose(ctx, data, rnd)
	if err != nil {
		return nil, err
	}
	return softmaxOf(penalty, data).Fit(ctx, data, rnd)
}

func softmaxOf(penalty float64, data teachers.Dataset) teachers.Softmax {
	return teachers.Softmax{L2: penalty / float64(data.X.Rows), Iterations: linearIterations}
}

// choose returns the smallest penalty, or a larger one that is right about more of the rows on which the
// two differ, by two standard deviations.
func (p penalised) choose(ctx context.Context, data teachers.Dataset, rnd *rand.Rand) (float64, error) {
	learn, held := p.halves(data, rnd)
	best := penalties()[0]
	if held.X.Rows == 0 || learn.X.Rows == 0 {
		return best, nil
	}
	var before []int
	for _, penalty := range penalties() {
		model, err := softmaxOf(penalty, learn).Fit(ctx, learn, rnd)
		if err != nil {
			return 0, fmt.Errorf("penalty: %w", err)
		}
		now := make([]int, held.X.Rows)
		if err := model.Predict(now, held.X); err != nil {
			return 0, fmt.Errorf("penalty: %w", err)
		}
		if before == nil || better(now, before, held.Y) {
			best, before = penalty, now
		}
	}
	return best, nil
}

// better reports whether predictions are better than others beyond chance.
func better(now, before, labels []int) bool {
	won, lost := 0, 0
	for i, y := range labels {
		switch {
		case now[i] == y && before[i] != y:
			won++
		case now[i] != y && before[i] == y:
			lost++
		}
	}
	return float64(won-lost) > 2*math.Sqrt(float64(won+lost))
}

// halves splits rows into training and held-out rows, unit by unit.
func (p penalised) halves(data teachers.Dataset, rnd *rand.Rand) (learn, held teachers.Dataset) {
	back := map[string]bool{}
	var rows [2][]int
	for k, i := range rnd.Perm(data.X.Rows) {
		if k == penaltyRows {
			break
		}
		unit := p.units[i]
		is, seen := back[unit]
		if !seen {
			is = rnd.IntN(penaltyHeld) == 0
			back[unit] = is
		}
		part := 0
		if is {
			part = 1
		}
		rows[part] = append(rows[part], i)
	}
	of := func(rows []int) teachers.Dataset {
		d := teachers.Dataset{X: dense.Pick(data.X, rows), Y: make([]int, len(rows)), Classes: data.Classes}
		for k, i := range rows {
			d.Y[k] = data.Y[i]
		}
		return d
	}
	return of(rows[0]), of(rows[1])
}
