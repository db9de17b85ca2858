package student

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/teachers"
)

// CrossValidation trains several kinds of student on part of the released labels, and scores each student on
// the held-out labels. It drops students that are clearly worse than the best student. It adjusts the
// confidence of the remaining students by temperature scaling. The result is their mean, with weights that
// make the held-out labels probable. If the best student is clearly better than this mean, the result is the
// best student. The choice costs no privacy, because its inputs are released labels and public rows.
//
// With 200 labels, the standard error of a difference between students is 3 points.
type CrossValidation struct {
	Candidates []Candidate // no default; see [TableCandidates]
	// Favourite marks the first candidate as usually the best for such rows. Two folds may then suffice. The
	// result is this candidate, unless a mean of candidates leads by more than wrong labels can explain.
	Favourite bool
	Folds     int            // number of parts, at most the number of labels; default 5
	Progress  func(Progress) // called by one goroutine at a time; may be nil

	checked bool // whether x was checked
}

// Candidate is one kind of student. Its classifiers must implement teachers.Scorer. Scores are clipped to [0,
// 1] and used as probabilities.
type Candidate struct {
	Name string
	// Fit trains on the rows of x with a label other than [Unlabelled]. Concurrent calls must be safe.
	Fit fitFunc
	// Try, if not nil, replaces Fit in cross-validation because it is faster.
	Try fitFunc

	of Matrix // if it has rows, replaces x for Try
}

type fitFunc func(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error)

// Choice is the student that cross-validation chose.
type Choice struct {
	Model teachers.Classifier // implements teachers.Scorer
	Kept  []string            // names of the candidates in Model
	// Labels is the number of released labels, except in folds that cross-validation skipped.
	Labels int
	// Right[k] is the number of labels that candidate k predicted correctly, out of Labels. Right is empty if
	// there is a single label or a single candidate.
	Right []int
	// Mean is the number of labels, out of Labels, that a weighted mean of candidates' scores predicted
	// correctly. The mean omits candidates that are clearly worse than the best candidate.
	Mean int

	kept int // index of the first kept candidate
}

func (c *Choice) RightOfKept() int {
	if len(c.Right) > 0 && len(c.Kept) == 1 {
		return c.Right[c.kept]
	}
	return c.Mean
}

const (
	// If the best candidate leads the mean by meanErrors, it replaces the mean. Both were chosen on
	// development splits of letter and optdigits (200 and 600 labels, 5 % wrong). There, memberErrors = 2
	// costs about 1 point, and keeping only the best candidate costs 2 to 4.

	// The mean of the candidates' scores omits candidates that trail the best by memberErrors standard
	// errors.
	memberErrors = 3
	meanErrors   = 2

	// Errors of noisy labels depend on the features. A candidate that learns such errors from neighbouring
	// rows predicts them too, without being better. With 1,000 to 2,000 labels of MNIST the mean led by at
	// most 1.25 % (3.6 standard errors), but lost 1.4 points of accuracy. On Fashion-MNIST it led by 1.9 to
	// 7.3 % and gained 1.8 to 3.3 points.

	// favouriteLead is the least lead, as a fraction of labels, with which the students' mean replaces the
	// favourite student.
	favouriteLead = .015
	firstFolds    = 2
	firstLead     = favouriteLead / 3
)

// Fit compares the candidates and trains the kept candidates. The value labels[i] is the class of row i of x,
// or [Unlabelled]. The result depends on rnd, but not on the number of processors.
func (c CrossValidation) Fit(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (*Choice, error) {
	labelled, err := c.check(x, labels, classes)
	if err != nil {
		return nil, err
	}
	choice := &Choice{Labels: len(labelled)}
	kept, powers, weights := []int{0}, []float64{1}, []float64{1}
	if folds := min(c.Folds, len(labelled)); folds > 1 && len(c.Candidates) > 1 {
		held, err := c.holdBack(ctx, x, labels, labelled, classes, folds, rnd)
		if err != nil {
			return nil, err
		}
		choice.Labels = len(held.labels)
		kept, powers, weights = held.keep(choice, c.Favourite, meanErrors, favouriteLead)
	}
	choice.kept = kept[0]
	var members []member
	for _, k := range kept {
		model, err := c.Candidates[k].fit(ctx, x, labels, classes, rnd)
		if err != nil {
			return nil, err
		}
		members = append(members, model)
		choice.Kept = append(choice.Kept, c.Candidates[k].Name)
	}
	choice.Model = &mixture{
		members: members, names: choice.Kept, powers: powers, weights: weights, features: x.Cols, classes: classes,
	}
	return choice, nil
}

func (c *CrossValidation) check(x Matrix, labels []int, classes int) (labelled []int, err error) {
	if len(c.Candidates) == 0 {
		return nil, errors.New("student: CrossValidation.Candidates is empty")
	}
	for _, k := range c.Candidates {
		if k.Fit == nil {
			return nil, fmt.Errorf("student: candidate %q has no Fit", k.Name)
		}
	}
	c.Folds = cmp.Or(c.Folds, 5)
	if c.Folds < 2 {
		return nil, fmt.Errorf("student: CrossValidation.Folds is %d, want 2 or more", c.Folds)
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	if c.checked {
		labelled, _, err = released(labels, x.Rows, classes)
		return labelled, err
	}
	return check(x, labels, classes)
}

func (c Candidate) fit(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (member, error) {
	model, err := c.Fit(ctx, x, labels, classes, rnd)
	if err != nil {
		return nil, fmt.Errorf("student: %s: %w", c.Name, err)
	}
	m, ok := model.(member)
	if !ok {
		return nil, fmt.Errorf("student: %s: the classifier gives no scores (teachers.Scorer)", c.Name)
	}
	return m, nil
}

type heldBack struct {
	labels []int
	scores []Matrix // for each candidate, probabilities: labels x classes
	right  [][]bool // for each candidate, whether each prediction is correct
}

func (c CrossValidation) holdBack(ctx context.Context, x Matrix, labels, labelled []int, classes, folds int, rnd *rand.Rand) (*heldBack, error) {
	n := len(labelled)
	order := make([]int, n) // pool rows; fold f begins at index f·n/folds
	for i, place := range rnd.Perm(n) {
		order[i] = labelled[place]
	}
	out := &heldBack{}
	for _, r := range order {
		out.labels = append(out.labels, labels[r])
	}
	var rows, asked []Matrix // for each candidate, the training rows and the rows to predict
	var same Matrix
	for _, candidate := range c.Candidates {
		switch {
		case candidate.of.Rows > 0:
			rows, asked = append(rows, candidate.of), append(asked, dense.Pick(candidate.of, order))
		default:
			if same.Rows == 0 {
				same = dense.Pick(x, order)
			}
			rows, asked = append(rows, x), append(asked, same)
		}
		out.scores = append(out.scores, dense.New(n, classes))
		out.right = append(out.right, make([]bool, n))
	}
	// Draw all streams before training, so that the draws of candidates do not depend on each other.
	tasks := folds * len(c.Candidates)
	streams := make([][2]uint64, tasks)
	for t := range streams {
		streams[t] = [2]uint64{rnd.Uint64(), rnd.Uint64()}
	}
	failures := make([]error, tasks)
	try := func(t int) {
		fold, k := t/len(c.Candidates), t%len(c.Candidates)
		from, to := fold*n/folds, (fold+1)*n/folds
		rest := slices.Clone(labels)
		for _, r := range order[from:to] {
			rest[r] = Unlabelled
		}
		judged := c.Candidates[k]
		if judged.Try != nil {
			judged.Fit = judged.Try
		}
		model, err := judged.fit(ctx, rows[k], rest, classes, rand.New(rand.NewPCG(streams[t][0], streams[t][1])))
		if err == nil {
			err = out.ask(k, from, to, model, asked[k])
		}
		failures[t] = err
	}
	first := 0
	if c.Favourite && folds > firstFolds {
		first = firstFolds
		if err := c.inParallel(ctx, 0, first*len(c.Candidates), tasks, try); err != nil {
			return nil, err
		}
		if err := errors.Join(failures...); err != nil {
			return nil, err
		}
		part := out.first(first * n / folds)
		if kept, _, _ := part.keep(new(Choice), true, 0, firstLead); len(kept) == 1 && kept[0] == 0 {
			return part, nil
		}
	}
	if err := c.inParallel(ctx, first*len(c.Candidates), tasks, tasks, try); err != nil {
		return nil, err
	}
	return out, errors.Join(failures...)
}

func (h *heldBack) first(n int) *heldBack {
	part := &heldBack{labels: h.labels[:n]}
	for k := range h.scores {
		part.scores = append(part.scores, dense.Rows(h.scores[k], 0, n))
		part.right = append(part.right, h.right[k][:n])
	}
	return part
}

func (h *heldBack) ask(k, from, to int, model member, x Matrix) error {
	rows, answers := dense.Rows(x, from, to), make([]int, to-from)
	if err := model.Predict(answers, rows); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	for i, a := range answers {
		h.right[k][from+i] = a == h.labels[from+i]
	}
	return probabilities(dense.Rows(h.scores[k], from, to), model, rows)
}

func (h *heldBack) keep(choice *Choice, favourite bool, errors, lead float64) (kept []int, powers, weights []float64) {
	scores := slices.Clone(h.scores) // tempered
	best := 0
	for k, right := range h.right {
		choice.Right = append(choice.Right, count(right))
		if choice.Right[k] > choice.Right[best] {
			best = k
		}
	}
	alone := 1.
	for k, right := range h.right {
		if !ahead(h.right[best], right, memberErrors) {
			power := bestPower(scores[k], h.labels)
			scores[k].Data = slices.Clone(scores[k].Data)
			temper(scores[k], power)
			kept, powers = append(kept, k), append(powers, power)
			if k == best {
				alone = power
			}
		}
	}
	weights = weigh(scores, h.labels, kept)
	mean, sum := make([]bool, len(h.labels)), make([]float32, scores[0].Cols)
	for i, y := range h.labels {
		clear(sum)
		for j, k := range kept {
			for c, p := range dense.Row(scores[k], i) {
				sum[c] += float32(weights[j]) * p
			}
		}
		mean[i] = dense.Argmax(sum) == y
	}
	choice.Mean = count(mean)
	enough := float64(choice.Mean-choice.Right[0]) >= lead*float64(len(mean)) && ahead(mean, h.right[0], errors)
	if favourite && !enough {
		if kept[0] != 0 {
			return []int{0}, []float64{bestPower(h.scores[0], h.labels)}, []float64{1}
		}
		return kept[:1], powers[:1], []float64{1}
	}
	if ahead(h.right[best], mean, meanErrors) {
		return []int{best}, []float64{alone}, []float64{1}
	}
	return kept, powers, weights
}

const weighSteps = 200 // steps of expectation maximisation

func weigh(scores []Matrix, labels, kept []int) []float64 {
	weights := slices.Repeat([]float64{1 / float64(len(kept))}, len(kept))
	of, next := make([]float64, len(kept)), make([]float64, len(kept))
	for range weighSteps {
		clear(next)
		for i, y := range labels {
			sum := 0.
			for j, k := range kept {
				of[j] = weights[j] * float64(dense.Row(scores[k], i)[y])
				sum += of[j]
			}
			for j := range kept {
				next[j] += of[j] / sum / float64(len(labels))
			}
		}
		copy(weights, next)
	}
	return weights
}

// ahead reports whether count(a) - count(b) exceeds `errors` standard errors (McNemar).
func ahead(a, b []bool, errors float64) bool {
	differ := 0
	for i := range a {
		if a[i] != b[i] {
			differ++
		}
	}
	return float64(count(a)-count(b)) > errors*math.Sqrt(float64(differ))
}

func count(right []bool) int {
	n := 0
	for _, r := range right {
		if r {
			n++
		}
	}
	return n
}

func (c CrossValidation) inParallel(ctx context.Context, from, to, n int, do func(i int)) error {
	var mu sync.Mutex
	done := from
	parallel.Each(0, to-from, func(_, i int) {
		if ctx.Err() != nil {
			return
		}
		do(from + i)
		mu.Lock()
		done++
		c.Progress(Progress{Stage: "choose", Done: done, Total: n})
		mu.Unlock()
	})
	return cancelled(ctx)
}
