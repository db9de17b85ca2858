package experiments

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/rng"
)

// neighbourMethods lists the methods that label by private rows near a question, without teachers.
func neighbourMethods() []string { return []string{SampledKNN, ReverseKNN} }

// neighbourPlan is a calibrated method of neighbours.
type neighbourPlan struct {
	event     accountant.Event
	questions int
	note      string
	sigma     float64
	sampled   float64 // sampling probability, 0 without a sample
	nearest   *neighbours.KNearest
	reverse   *neighbours.NearestQuestions // set if nearest is nil
}

// release returns the labels, and the noisy counts if they are released too.
func (p neighbourPlan) release(
	ctx context.Context, r *ledger.Reservation, key rng.Key, private neighbours.Rows, asked dense.Matrix,
) (labels []int, counts neighbours.Counts, err error) {
	if p.nearest != nil {
		labels, err = p.nearest.Release(ctx, r, key, private, asked)
		return labels, counts, err
	}
	if counts, err = p.reverse.Release(ctx, r, key, private, asked); err != nil {
		return nil, counts, err
	}
	return counts.Labels(), counts, nil
}

// neighbourPlan chooses the parameters of a method from the numbers of units and classes, the size of the
// pool and the budget.
func (c point) neighbourPlan(ctx context.Context, method string) (neighbourPlan, error) {
	return once(c.plans, method, func() (neighbourPlan, error) {
		if method == SampledKNN {
			return c.planSampled(ctx)
		}
		return c.planReverse(ctx)
	})
}

// mostQuestions is the largest number of questions for rows that are not images: more questions make a
// student slower and hardly better. For images all pool rows that a student learns from are asked: questions
// are free if every unit votes, and errors of many labels average out.
const mostQuestions = 2000

// reverseQuestions returns the largest number of questions if every unit votes.
func (c point) reverseQuestions() int {
	if c.Task.Image.Rows > 0 {
		return c.askable()
	}
	return min(c.askable(), mostQuestions)
}

// Private k-NN: the units near enough to vote, as a share of all units divided by the number of classes;
// their sampling probability; and the noise as a share of the voters.
const (
	nearShare       = 0.25
	sampledShare    = 0.5
	nearNoise       = 0.2
	sampledFewest   = 2 // questions a class
	sampledMostNear = 1000
)

// eventOf returns the event of a mechanism, or the error of its constructor.
func eventOf[M interface{ Event() accountant.Event }](m M, err error) (accountant.Event, error) {
	if err != nil {
		return nil, err
	}
	return m.Event(), nil
}

// withLeastNoise returns the mechanism with the least noise that meets the target, and this noise.
func withLeastNoise[M interface{ Event() accountant.Event }](
	ctx context.Context, c point, method string, made func(sigma float64) (M, error),
) (m M, sigma float64, err error) {
	sigma, err = calibrate(ctx, c, func(sigma float64) (accountant.Event, error) { return eventOf(made(sigma)) })
	if err == nil {
		m, err = made(sigma)
	}
	if err != nil {
		return m, 0, fmt.Errorf("experiments: noise for %s: %w", method, err)
	}
	return m, sigma, nil
}

func (c point) planSampled(ctx context.Context) (neighbourPlan, error) {
	classes := len(c.Task.Classes)
	near := min(nearShare*float64(c.units)/float64(classes), sampledMostNear)
	k := max(1, int(sampledShare*near))
	made := func(sigma float64, questions int) (*neighbours.KNearest, error) {
		return neighbours.NewKNearest(neighbours.KNearestConfig{
			Neighbours: k, SamplingProbability: sampledShare, Sigma: sigma, Questions: questions,
		})
	}
	target := accountant.Target{Epsilon: c.epsilon, Delta: c.Delta}
	account := accountant.AutoConfig{Relation: relation}.NewAccount
	affordable, err := accountant.Affordable(ctx, account, target, func(n int64) (accountant.Event, error) {
		e, err := eventOf(made(nearNoise*float64(k), int(max(1, n))))
		return c.withPool(e), err
	})
	if err != nil {
		return neighbourPlan{}, fmt.Errorf("experiments: %w", err)
	}
	questions := int(min(max(affordable, int64(sampledFewest*classes)), int64(min(c.askable(), mostQuestions))))
	m, sigma, err := withLeastNoise(ctx, c, SampledKNN, func(sigma float64) (*neighbours.KNearest, error) {
		return made(sigma, questions)
	})
	if err != nil {
		return neighbourPlan{}, err
	}
	return neighbourPlan{
		event: m.Event(), questions: questions, sigma: sigma, sampled: sampledShare, nearest: m,
		note: fmt.Sprintf("the %d nearest of a sample vote", k),
	}, nil
}

// Votes on the nearest questions: the noise of a count as a share of the average number of votes on a
// question, and its largest value, as a share of all units divided by the number of classes. Farther votes
// are worse.
const (
	reverseNoise  = 0.2
	reverseShare  = 0.2
	reverseFewest = 10 // questions a class
)

// planReverse chooses questions and votes. With T questions, B votes of each of n units and noise c sqrt(B),
// where c is the noise for one vote, a question has nB/T votes on average. The noise is a share r of these if
// B = (cT/(rn))^2, and they reach their limit of a units if T = r^2 a n / c^2. All rows of a smaller pool are
// asked.
func (c point) planReverse(ctx context.Context) (neighbourPlan, error) {
	plan := func(questions, votes int) (*neighbours.NearestQuestions, float64, error) {
		return withLeastNoise(ctx, c, ReverseKNN, func(sigma float64) (*neighbours.NearestQuestions, error) {
			return neighbours.NewNearestQuestions(neighbours.NearestQuestionsConfig{Votes: votes, Sigma: sigma, Questions: questions})
		})
	}
	_, one, err := plan(1, 1)
	if err != nil {
		return neighbourPlan{}, err
	}
	n, classes := float64(c.units), float64(len(c.Task.Classes))
	most := math.Pow(reverseNoise*n/one, 2) * reverseShare / classes
	questions := min(max(int(min(most, float64(c.reverseQuestions()))), int(reverseFewest*classes)), c.askable())
	root := one * float64(questions) / (reverseNoise * n)
	votes := min(max(1, int(math.Ceil(root*root))), questions)
	m, sigma, err := plan(questions, votes)
	if err != nil {
		return neighbourPlan{}, err
	}
	note := "every unit votes at the question nearest to it"
	if votes > 1 {
		note = fmt.Sprintf("every unit votes at the %d questions nearest to it", votes)
	}
	return neighbourPlan{event: m.Event(), questions: questions, sigma: sigma, note: note, reverse: m}, nil
}

// runNeighbours releases labels by private rows near the questions and trains a student on them.
func runNeighbours(ctx context.Context, c point, p prepared, method string, seed int) (Row, error) {
	start := p.clock.now()
	row := Row{Method: method, TargetEpsilon: c.epsilon}
	plan, err := c.neighbourPlan(ctx, method)
	if err != nil {
		return row, err
	}
	row.Sigma, row.Probability, row.Note = plan.sigma, plan.sampled, plan.note
	row.Asked, row.Answered = plan.questions, plan.questions
	if err := row.charge(ctx, plan.event, c); err != nil {
		return row, err
	}
	queries, err := c.neighbourQueries(ctx, plan, p, method, seed)
	if err != nil {
		return row, err
	}
	answers, err := c.releaseNeighbours(ctx, plan, p, queries, method, seed)
	if err != nil {
		return row, err
	}
	labels := noLabels(p.pool.Rows)
	for q, y := range answers {
		labels[queries[q]] = y
		if c.Task.Questions == nil && y == c.Task.Pool.Y[queries[q]] {
			row.LabelAccuracy += 1 / float64(len(answers))
		}
	}
	if row.Accuracy, err = c.score(ctx, p, labels, &row, seed); err != nil {
		return row, err
	}
	row.Seconds = p.clock.since(start)
	return row, nil
}

// neighbourQueries returns the pool rows that a plan asks, chosen by their features alone: all rows, or the
// rows chosen like for students.
func (c point) neighbourQueries(ctx context.Context, plan neighbourPlan, p prepared, method string, seed int) ([]int, error) {
	if plan.questions == p.pool.Rows {
		all := make([]int, p.pool.Rows)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	key := c.Key.Derive("neighbours", uint64(seed)).DeriveBytes("queries", []byte(c.file(method, seed)))
	queries, err := p.public.Select(ctx, plan.questions, rand.New(key.Stream()))
	return queries, wrapped(err)
}

// releaseNeighbours charges a plan and releases its labels.
func (c point) releaseNeighbours(
	ctx context.Context, plan neighbourPlan, p prepared, queries []int, method string, seed int,
) (labels []int, err error) {
	bound := fmt.Appendf(nil, "%s %v %+v, features %s, epsilon %v", method, queries, plan.event, c.voted(), c.epsilon)
	private := neighbours.Rows{X: p.private, Y: c.Task.Private.Y, Units: c.Task.Private.Units, Classes: p.classes}
	key := c.Key.Derive("neighbours", uint64(seed)).DeriveBytes("rows", p.hash[:]).DeriveBytes("asked", bound)
	draw := func(r *ledger.Reservation, key rng.Key, out io.Writer) (err error) {
		var counts neighbours.Counts
		if labels, counts, err = plan.release(ctx, r, key, private, dense.Pick(p.asked, queries)); err != nil {
			return err
		}
		return c.writeLabels(out, queries, labels, counts)
	}
	err = c.leave(ctx, method, seed, append(bound, plan.note...), plan.event, release{key, draw})
	return labels, err
}

// writeLabels writes the label of every question, with the noisy votes that were released.
func (c point) writeLabels(out io.Writer, queries, labels []int, counts neighbours.Counts) error {
	file := table.Table{Header: []string{"query", "label"}}
	if counts.Classes > 0 {
		for _, class := range c.Task.Classes {
			file.Header = append(file.Header, "votes "+class)
		}
	}
	file.Header = append(file.Header, c.askedHeader()...)
	for q, pool := range queries {
		cells := []string{c.Task.Pool.IDs[pool], c.Task.Classes[labels[q]]}
		if counts.Classes > 0 {
			for _, v := range counts.At(q) {
				cells = append(cells, strconv.FormatInt(v, 10))
			}
		}
		file.Rows = append(file.Rows, append(cells, c.askedCells(pool)...))
	}
	return file.Write(out, table.CSV)
}
