package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/votes"
)

type ensemble struct {
	votes   *votes.Matrix
	asked   int // number of rows before the test rows
	polls   []poll
	seconds float64
}

type poll struct {
	*ensemble
	queries []int // pool rows
	rows    []int // index of each query in the votes
}

// runPolls trains the teachers of one run, and writes their votes to disk before any label is released.
func runPolls(ctx context.Context, c Config, p prepared, seed int) (*ensemble, error) {
	start := p.clock.now()
	key := c.Key.Derive("ensemble", uint64(seed))
	e := &ensemble{polls: make([]poll, len(p.points))}
	var pool []int // rows asked at any target
	place := map[int]int{}
	for i, point := range p.points {
		queries, err := chooseQueries(ctx, point, p, key)
		if err != nil {
			return nil, err
		}
		e.polls[i] = poll{ensemble: e, queries: queries}
		for _, q := range queries {
			if _, there := place[q]; !there {
				place[q] = len(pool)
				pool = append(pool, q)
			}
			e.polls[i].rows = append(e.polls[i].rows, place[q])
		}
	}
	learner, err := training.NewLearner(ctx, c.Learner, c.dimensions(), c.Task.Image)
	if err != nil {
		return nil, err
	}
	share, err := c.partition(key)
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	dir, err := c.subfolder(seed)
	if err != nil {
		return nil, err
	}
	e.votes, err = teachers.Train(ctx, teachers.Config{
		Learner: learner, Teachers: c.teachers(), Key: key, Workers: c.Workers,
		Checkpoint: filepath.Join(dir, "teachers"), Fingerprint: fingerprint(learner),
		Progress: func(done, total int) { c.Progress(Progress{Stage: "teachers", Done: done, Total: total}) },
	}, teachers.Dataset{X: p.private, Y: c.Task.Private.Y, Classes: p.classes}, share, stack(dense.Pick(p.asked, pool), p.tested))
	if err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	if err := e.votes.Save(filepath.Join(dir, "votes.npy")); err != nil {
		return nil, fmt.Errorf("experiments: %w", err)
	}
	e.asked, e.seconds = len(pool), p.clock.since(start)
	return e, nil
}

func stack(parts ...teachers.Matrix) teachers.Matrix {
	rows := 0
	for _, m := range parts {
		rows += m.Rows
	}
	out, at := dense.New(rows, parts[0].Cols), 0
	for _, m := range parts {
		for i := range m.Rows {
			copy(dense.Row(out, at), dense.Row(m, i))
			at++
		}
	}
	return out
}

func runVote(ctx context.Context, c point, p prepared, v poll, method string, seed int) (Row, error) {
	start := p.clock.now()
	row := Row{Method: method, TargetEpsilon: c.epsilon}
	if method == TrueLabels {
		return runTrueLabels(ctx, c, p, v, seed)
	}
	mechanism, err := c.mechanism(ctx, method, &row)
	if err != nil {
		return row, err
	}
	if err := row.charge(ctx, mechanism.Event(), c); err != nil {
		return row, err
	}
	answers, err := c.release(ctx, mechanism, v, method, seed)
	if err != nil {
		return row, err
	}
	labels := noLabels(p.pool.Rows)
	right := 0
	classes := map[int]bool{} // classes among the labels
	for q, a := range answers {
		if !a.Answered {
			continue
		}
		classes[a.Label] = true
		labels[v.queries[q]] = a.Label
		row.Answered++
		if c.Task.Questions == nil && a.Label == c.Task.Pool.Y[v.queries[q]] {
			right++
		}
	}
	row.Asked = len(answers)
	if n := len(c.Task.Silos); n > 0 {
		row.doubt(fmt.Sprintf("each of %d silos trains %d of the teachers", n, c.teachers()/n))
	}
	if row.Answered > 0 {
		row.LabelAccuracy = float64(right) / float64(row.Answered)
	}
	switch len(classes) {
	case 0:
		row.doubt("every query was declined: the student answers the first class")
	case 1:
		row.doubt("every label is of one class, which is all that the student answers")
	}
	if row.Accuracy, err = c.score(ctx, p, labels, &row, seed); err != nil {
		return row, err
	}
	row.Seconds = v.seconds + p.clock.since(start)
	if seed == 0 && c.Curves && len(c.Epsilons) == 1 {
		row.Curve, err = c.voteCurve(ctx, p, mechanism, v, answers, row)
	}
	return row, err
}

func (r *Row) doubt(words string) { r.Note = strings.TrimPrefix(r.Note+"; "+words, "; ") }

// release derives the noise key from the votes and the target epsilon, so different runs never share noise.
func (c point) release(ctx context.Context, m votingPlan, v poll, method string, seed int) ([]aggregate.Answer, error) {
	hash := v.votes.Hash()
	var answers []aggregate.Answer
	bound := fmt.Appendf(nil, "%x %v %+v, epsilon %v", hash, v.queries, m.Event(), c.epsilon)
	key := c.Key.Derive("noise", uint64(seed)).DeriveBytes("votes", hash[:]).Derive("epsilon", math.Float64bits(c.epsilon))
	err := c.leave(ctx, method, seed, bound, m.Event(), release{key, func(r *ledger.Reservation, key rng.Key, out io.Writer) error {
		session, err := m.Start(r, key)
		if err == nil {
			answers, err = c.ask(session, v, out)
		}
		return err
	}})
	return answers, err
}

func (c point) ask(session aggregate.Session, v poll, out io.Writer) ([]aggregate.Answer, error) {
	answers := make([]aggregate.Answer, 0, len(v.queries))
	file := table.Table{Header: append([]string{"query", "label"}, c.askedHeader()...)}
	for q, pool := range v.queries {
		h, err := v.votes.Histogram(v.rows[q])
		if err != nil {
			return nil, fmt.Errorf("query %d: %w", q, err)
		}
		answer, err := session.Ask(uint64(q), h)
		if errors.Is(err, aggregate.ErrExhausted) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("query %d: %w", q, err)
		}
		answers = append(answers, answer)
		label := ""
		if answer.Answered {
			label = c.Task.Classes[answer.Label]
		}
		file.Rows = append(file.Rows, append([]string{c.Task.Pool.IDs[pool], label}, c.askedCells(pool)...))
	}
	return answers, file.Write(out, table.CSV)
}

func (c point) voteCurve(ctx context.Context, p prepared, m votingPlan, v poll, answers []aggregate.Answer, row Row) ([]Point, error) {
	// The epsilon of a point is the worst-case cost of the point's queries. The last point has the cost of
	// all queries. The curve is post-processing of released labels.

	const points = 4
	var curve []Point
	if m.description.Distances { // a part of a run costs the worst case of the whole run
		return []Point{{Epsilon: *row.Epsilon, Accuracy: row.Accuracy}}, nil
	}
	labels := noLabels(p.pool.Rows)
	done := 0
	for k := 1; k < points; k++ {
		asked := c.questions(row.Method) * k / points
		if asked == 0 || asked >= len(answers) {
			continue
		}
		for ; done < asked; done++ {
			labels[v.queries[done]] = answers[done].Label
		}
		part := m.setting
		part.Queries = asked
		if answers, capped := part.Values["answers"]; capped {
			part = part.With("answers", min(float64(asked), answers))
		}
		spent, err := m.description.Event(part)
		if err != nil {
			return nil, fmt.Errorf("experiments: %s: %w", row.Method, err)
		}
		b, err := claimOf(ctx, c.withPool(spent), c.Delta)
		if err != nil {
			return nil, err
		}
		a, err := c.score(ctx, p, labels, new(Row), 0)
		if err != nil {
			return nil, err
		}
		curve = append(curve, Point{Epsilon: b.Upper, Accuracy: a})
	}
	return append(curve, Point{Epsilon: *row.Epsilon, Accuracy: row.Accuracy}), nil
}

func runTrueLabels(ctx context.Context, c point, p prepared, v poll, seed int) (Row, error) {
	start := p.clock.now()
	row := Row{Method: TrueLabels, TargetEpsilon: c.epsilon, Note: "the student, had the teachers known the pool's labels"}
	labels := noLabels(p.pool.Rows)
	for _, q := range v.queries[:c.questions(GNMax)] {
		labels[q] = c.Task.Pool.Y[q]
	}
	var err error
	row.Accuracy, err = c.score(ctx, p, labels, &row, seed)
	row.Seconds = p.clock.since(start)
	return row, err
}

func runPlurality(c Config, v *ensemble) Row {
	winners := v.votes.Pluralities()[v.asked:]
	row := Row{Method: Plurality, Seconds: v.seconds, Note: "the teachers' vote without noise"}
	c.scored(&row, winners)
	if len(c.Task.Classes) == 2 {
		of := dense.New(len(winners), 2)
		for i := range winners {
			for t := range c.teachers() {
				if y := v.votes.At(v.asked+i, t); y >= 0 {
					dense.Row(of, i)[y]++
				}
			}
		}
		row.AUROC = scores.AUROC(of, c.Task.Test.Y)
	}
	return row
}

func diagnose(c Config, v *ensemble) *Diagnostics {
	n := c.teachers()
	d := &Diagnostics{Private: true, GapWidth: max(1, (n+24)/25)}
	d.Gaps = make([]int, n/d.GapWidth+1)
	gaps := v.votes.Gaps()[:v.asked]
	for _, g := range gaps {
		d.MeanGap += float64(g) / float64(len(gaps))
		d.Gaps[g/d.GapWidth]++
	}
	right := 0
	for i, y := range c.Task.Test.Y {
		for t := range n {
			if v.votes.At(v.asked+i, t) == y {
				right++
			}
		}
	}
	d.TeacherAccuracy = float64(right) / float64(n*len(c.Task.Test.Y))
	return d
}

func noLabels(n int) []int { return slices.Repeat([]int{aggregate.NoLabel}, n) }
