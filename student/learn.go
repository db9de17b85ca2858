package student

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/parallel"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/votes"
)

// MaxSpread is the maximum number of pool rows for label spreading in a [Learner] and for clustering in
// [Select]. The time is quadratic in the number of rows, and more rows hardly improve a student.
const MaxSpread = 10_000

// Learner trains students of one pool. [NewLearner] does the work that needs no labels. A Learner is
// immutable. Concurrent calls are safe if LearnerConfig.Progress may be called concurrently.
type Learner struct {
	x      Matrix
	rows   []int // rows of x over which labels are spread
	pool   *Pool
	images bool
	many   int // for images: number of labels from which on errors average out
	report func(Progress)
}

// LearnerConfig configures a [Learner].
type LearnerConfig struct {
	// Images declares that rows are features of images, and that similar rows share a class. Images selects
	// [ImageCandidates] instead of [TableCandidates].
	Images   bool
	Labelled []int          // rows that already have labels; at most [MaxSpread] are used
	Progress func(Progress) // may be nil
}

// NewLearner returns a learner for the public rows x, and does all work that needs no labels. The learner
// retains x, and spreads labels over at most [MaxSpread] rows: the labelled rows and a random part of the
// others.
func NewLearner(ctx context.Context, x Matrix, c LearnerConfig, rnd *rand.Rand) (*Learner, error) {
	if err := checkMatrix(x); err != nil {
		return nil, err
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	l := &Learner{x: x, rows: partOf(x.Rows, c.Labelled, rnd), images: c.Images, many: denoiseFrom, report: c.Progress}
	part := x
	if len(l.rows) < x.Rows {
		part = dense.Pick(x, l.rows)
	}
	var err error
	l.pool, err = NewPool(ctx, part, Config{Progress: c.Progress}, rnd)
	return l, err
}

// Project projects the rows of x on the pool's leading principal directions. The columns of x must be the
// pool's columns. A row of the result depends only on the same row of x and on the public pool.
func (l *Learner) Project(ctx context.Context, x Matrix) (Matrix, error) {
	if err := dense.Check(x); err != nil { // does not depend on the values of private rows
		return Matrix{}, fmt.Errorf("student: %w", err)
	}
	if want := len(l.pool.projection.mean); x.Cols != want {
		return Matrix{}, fmt.Errorf("student: rows of %d features, want %d", x.Cols, want)
	}
	return l.pool.projection.apply(ctx, x)
}

// ProjectPool returns the projections of all pool rows. The caller must not change the result.
func (l *Learner) ProjectPool(ctx context.Context) (Matrix, error) {
	if len(l.rows) == l.x.Rows {
		return l.pool.z, nil
	}
	return l.Project(ctx, l.x)
}

// Select chooses m different rows as queries with [Pool.Select]. It considers at most [MaxSpread] rows.
func (l *Learner) Select(ctx context.Context, m int, rnd *rand.Rand) ([]int, error) {
	chosen, err := l.pool.Select(ctx, m, rnd)
	for i, r := range chosen {
		chosen[i] = l.rows[r]
	}
	return chosen, err
}

// Fit trains the student on released labels. The slice labels has a class or [Unlabelled] for each pool row.
// Fit chooses the student by [CrossValidation]. For images with at least MaxSpread/2 labels, there is no
// choice. One kernel ridge regression learns from the labels, and a second from the first's predictions.
// Equal labels and random streams give equal students.
func (l *Learner) Fit(ctx context.Context, labels []int, classes int, rnd *rand.Rand) (*Choice, error) {
	c := CrossValidation{Candidates: TableCandidates(l.pool), Progress: l.report, checked: true}
	switch {
	case l.images && named(labels) >= l.many:
		c.Candidates = []Candidate{{Name: denoising, Fit: l.pool.fitDenoised}}
	case l.images && len(labels) == l.x.Rows:
		z, err := l.projections(ctx, labels)
		if err != nil {
			return nil, err
		}
		c.Candidates, c.Favourite = l.pool.imageCandidates(z), true
	}
	for i := range c.Candidates {
		if k := &c.Candidates[i]; k.Name == labelSpreading || k.Name == denoising {
			k.Fit, k.Try = l.ofRows(k.Fit), l.ofRows(k.Try)
		}
	}
	return c.Fit(ctx, l.x, labels, classes, rnd)
}

func (l *Learner) projections(ctx context.Context, labels []int) (Matrix, error) {
	if len(l.rows) == l.x.Rows {
		return l.pool.z, nil
	}
	out, has := dense.New(l.x.Rows, l.pool.z.Cols), make([]bool, l.x.Rows)
	for i, r := range l.rows {
		copy(dense.Row(out, r), dense.Row(l.pool.z, i))
		has[r] = true
	}
	var others []int
	for r, y := range labels {
		if y != Unlabelled && !has[r] {
			others = append(others, r)
		}
	}
	z, err := l.pool.projection.apply(ctx, dense.Pick(l.x, others))
	for i, r := range others {
		copy(dense.Row(out, r), dense.Row(z, i))
	}
	return out, err
}

func (l *Learner) ofRows(fit fitFunc) fitFunc {
	if fit == nil {
		return nil
	}
	return func(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
		of := make([]int, len(l.rows))
		for i, r := range l.rows {
			of[i] = labels[r]
		}
		return fit(ctx, x, of, classes, rnd)
	}
}

func Learn(ctx context.Context, x Matrix, labels []int, classes int, c LearnerConfig, rnd *rand.Rand) (*Choice, error) {
	var err error
	if c.Labelled, err = check(x, labels, classes); err != nil {
		return nil, err
	}
	l, err := NewLearner(ctx, x, c, rnd)
	if err != nil {
		return nil, err
	}
	return l.Fit(ctx, labels, classes, rnd)
}

func partOf(n int, labelled []int, rnd *rand.Rand) []int {
	is, rows := make([]bool, n), make([]int, 0, MaxSpread)
	if n <= MaxSpread {
		for r := range n {
			rows = append(rows, r)
		}
		return rows
	}
	for _, place := range rnd.Perm(len(labelled))[:min(MaxSpread, len(labelled))] {
		is[labelled[place]] = true
		rows = append(rows, labelled[place])
	}
	for _, r := range rnd.Perm(n) {
		if len(rows) == MaxSpread {
			break
		}
		if !is[r] {
			rows = append(rows, r)
		}
	}
	slices.Sort(rows)
	return rows
}

// Matrix is a row-major float32 matrix with one row per example.
type Matrix = teachers.Matrix

// Unlabelled marks a pool row without a released label.
const Unlabelled = -1

var ErrNoLabels = errors.New("student: no labels were released")

func released(labels []int, rows, classes int) (labelled, present []int, err error) {
	if classes < 2 || classes > votes.MaxClasses {
		return nil, nil, fmt.Errorf("student: %d classes, want 2 to %d", classes, votes.MaxClasses)
	}
	if len(labels) != rows {
		return nil, nil, fmt.Errorf("student: %d labels for a pool of %d rows", len(labels), rows)
	}
	seen := make([]bool, classes)
	for i, y := range labels {
		if y == Unlabelled {
			continue
		}
		if y < 0 || y >= classes {
			return nil, nil, fmt.Errorf("student: label %d of row %d is outside [0, %d)", y, i, classes)
		}
		labelled = append(labelled, i)
		seen[y] = true
	}
	if len(labelled) == 0 {
		return nil, nil, ErrNoLabels
	}
	for c, ok := range seen {
		if ok {
			present = append(present, c)
		}
	}
	return labelled, present, nil
}

func check(x Matrix, labels []int, classes int) ([]int, error) {
	if err := checkMatrix(x); err != nil {
		return nil, err
	}
	labelled, _, err := released(labels, x.Rows, classes)
	return labelled, err
}

func labelledPart(x Matrix, labels []int, classes int) (teachers.Dataset, error) {
	rows, err := check(x, labels, classes)
	if err != nil {
		return teachers.Dataset{}, err
	}
	return gather(x, labels, rows, classes), nil
}

func gather(x Matrix, labels, rows []int, classes int) teachers.Dataset {
	out := teachers.Dataset{X: dense.Pick(x, rows), Classes: classes}
	for _, r := range rows {
		out.Y = append(out.Y, labels[r])
	}
	return out
}

func columns(present []int, classes int) []int {
	at := slices.Repeat([]int{-1}, classes)
	for k, c := range present {
		at[c] = k
	}
	return at
}

const blockRows = 256

func transposed(m Matrix) Matrix {
	out := dense.New(m.Cols, m.Rows)
	for i := range m.Rows {
		for j, v := range dense.Row(m, i) {
			out.Data[j*out.Stride+i] = v
		}
	}
	return out
}

func checkMatrix(m Matrix) error {
	if err := teachers.CheckMatrix(m); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}

// forBlocks calls the function do once for each block of the n rows, in parallel. Each call may write only to
// its own rows and scratch.
func forBlocks[S any](ctx context.Context, n int, do func(scratch *S, from, to int)) error {
	blocks := (n + blockRows - 1) / blockRows
	scratches := make([]S, min(runtime.GOMAXPROCS(0), blocks))
	parallel.Each(len(scratches), blocks, func(worker, block int) {
		if ctx.Err() == nil {
			do(&scratches[worker], block*blockRows, min((block+1)*blockRows, n))
		}
	})
	return cancelled(ctx)
}

func resized(m *Matrix, rows, cols int) Matrix {
	if cap(m.Data) < rows*cols {
		*m = dense.New(rows, cols)
	}
	m.Rows, m.Cols, m.Stride, m.Data = rows, cols, max(1, cols), m.Data[:rows*cols]
	return *m
}

func cancelled(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("student: %w", err)
	}
	return nil
}
