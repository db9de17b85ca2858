package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/student"
)

// learnPool learns the public part of every student, once.
func learnPool(ctx context.Context, c Config, p prepared) (*student.Learner, error) {
	learner, err := student.NewLearner(ctx, p.pool, student.LearnerConfig{
		Images: c.Task.Image.Rows > 0,
		Progress: func(s student.Progress) {
			c.Progress(Progress{Stage: "student: " + s.Stage, Done: s.Done, Total: s.Total})
		},
	}, rand.New(c.Key.Derive("pool").Stream()))
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	return learner, nil
}

// chooseQueries names the pool rows to ask at a target, by their features alone, in a random order so that
// any prefix covers the pool.
func chooseQueries(ctx context.Context, c point, p prepared, key rng.Key) ([]int, error) {
	rnd := rand.New(key.Derive("queries").Stream())
	n := max(c.questions(GNMax), c.questions(ConfidentGNMax))
	for _, m := range OnRequest() {
		if c.wants(m) {
			n = max(n, c.questions(m))
		}
	}
	queries, err := p.public.Select(ctx, n, rnd)
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	rnd.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
	return queries, nil
}

const studentName = "cross-validated on released labels"

// score trains a student on labels of pool rows, fills in its row and returns its accuracy. Without any
// label it answers the first class. Its random numbers follow from the key, the run and the method, so that
// a repeated run ends alike.
func (c point) score(ctx context.Context, p prepared, labels []int, row *Row, seed int) (float64, error) {
	rnd := rand.New(c.Key.Derive("student", uint64(seed)).DeriveBytes("method", []byte(row.Method)).Stream())
	choice, err := p.public.Fit(ctx, labels, p.classes, rnd)
	if errors.Is(err, student.ErrNoLabels) {
		c.scored(row, make([]int, p.test.Rows))
		return row.Accuracy, nil
	}
	if err != nil {
		return 0, fmt.Errorf("experiments: student: %w", err)
	}
	row.Student = strings.Join(choice.Kept, ", ")
	err = c.scoreModel(row, choice.Model, p.test)
	return row.Accuracy, err
}
