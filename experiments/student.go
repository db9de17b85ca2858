package experiments

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/student"
)

// learnPool learns the public part of every student, once.
func learnPool(ctx context.Context, c Config, p prepared) (*student.Pool, error) {
	pool, err := student.NewPool(ctx, p.pool, student.Config{
		Progress: func(s student.Progress) {
			c.Progress(Progress{Stage: "pool: " + s.Stage, Done: s.Done, Total: s.Total})
		},
	}, rand.New(c.Key.Derive("pool").Stream()))
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	return pool, nil
}

// chooseQueries names the pool rows to ask, by their features alone, in a
// random order so that any prefix covers the pool.
func chooseQueries(ctx context.Context, c Config, p prepared, key aggregate.Key) ([]int, error) {
	rnd := rand.New(key.Derive("queries").Stream())
	n := max(p.questions(GNMax), p.questions(ConfidentGNMax))
	for _, m := range OnRequest() {
		if c.wants(m) {
			n = max(n, p.questions(m))
		}
	}
	queries, err := p.public.Select(ctx, n, rnd)
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	rnd.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
	return queries, nil
}

// studentName says what the student is: labels spread along the pool's
// neighbour graph, then a kernel ridge on all rows they reached. It was chosen on
// development splits at epsilon 2, three seeds, against a supervised kernel ridge
// and softmax regression on the released labels alone: MNIST 98.6, 97.3, 96.9 %;
// optdigits 75.5, 74.9, 72.8 %; letter 30.8, 28.7, 24.1 %; adult 80.3, 81.1,
// 81.9 % (the exception: near rows of that table often differ in class).
const studentName = "label spreading and kernel ridge on the pool"

// scoreStudent trains a student on labels of pool rows and scores it. Without
// any label it answers the first class.
func (c Config) scoreStudent(ctx context.Context, p prepared, labels []int) (float64, error) {
	model, err := p.public.Fit(ctx, labels, p.classes)
	if errors.Is(err, student.ErrNoLabels) {
		return accuracy(make([]int, p.test.Rows), c.Task.Test.Y), nil
	}
	if err != nil {
		return 0, fmt.Errorf("experiments: student: %w", err)
	}
	return score(model.Predict, p.test, c.Task.Test.Y)
}
