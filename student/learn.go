package student

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/teachers"
)

// MaxSpread is how many rows of a pool [Learn] spreads labels over. Time grows with the
// square of them, and what more rows add is small.
const MaxSpread = 6000

// Learn trains the student of a pool that nobody knows anything about: it compares those of
// [TableCandidates] by [CrossValidation], on the released labels alone. Labels are spread
// over all labelled rows and, of a large pool, a random part of the others, [MaxSpread] in
// all. The same arguments and random stream give the same student.
func Learn(ctx context.Context, x Matrix, labels []int, classes int, progress func(Progress), rnd *rand.Rand) (*Choice, error) {
	labelled, err := check(x, labels, classes)
	if err != nil {
		return nil, err
	}
	rows := partOf(x.Rows, labelled, rnd)
	pool, err := NewPool(ctx, dense.Pick(x, rows), Config{Progress: progress}, rnd)
	if err != nil {
		return nil, err
	}
	candidates := TableCandidates(pool)
	last := &candidates[len(candidates)-1]
	fit := last.Fit
	last.Fit = func(ctx context.Context, x Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
		of := make([]int, len(rows))
		for i, r := range rows {
			of[i] = labels[r]
		}
		return fit(ctx, x, of, classes, rnd)
	}
	return CrossValidation{Candidates: candidates, Progress: progress}.Fit(ctx, x, labels, classes, rnd)
}

// partOf returns at most MaxSpread of n rows, ascending, the labelled ones first of all.
func partOf(n int, labelled []int, rnd *rand.Rand) []int {
	if n <= MaxSpread {
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i
		}
		return rows
	}
	is := make([]bool, n)
	rows := make([]int, 0, MaxSpread)
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
