package student_test

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/student"
)

func TestSpreadingBeatsTheLabelsAloneOnMoons(t *testing.T) {
	x, y := moons(600, stream(3))
	fresh, truth := moons(600, stream(4))
	p := newPool(t, x, student.Config{})
	const seeds = 8
	var semi, alone float64
	for seed := range uint64(seeds) {
		labels := label(y, stream(seed).Perm(600)[:8])
		m := testkit.Must(p.Fit(t.Context(), labels, 2))
		semi += accuracy(t, m, fresh, truth) / seeds
		m = testkit.Must(student.Supervised(t.Context(), ridge, x, labels, 2, stream(6)))
		alone += accuracy(t, m, fresh, truth) / seeds

		soft := testkit.Must(p.Spread(t.Context(), labels, 2))
		for i := range y {
			require.InDelta(t, 1, soft.Data[2*i]+soft.Data[2*i+1], 1e-5)
		}
	}
	t.Logf("semi-supervised %.3f, supervised %.3f", semi, alone)
	require.Greater(t, semi, alone+.05)
}

// TestUselessLabelsMakeAUselessStudent shuffles the labels, so that they carry nothing. A
// student that still did well would have seen something it must not see.
func TestUselessLabelsMakeAUselessStudent(t *testing.T) {
	x, y := blobs(400, 64, 4, stream(1))
	p := newPool(t, x, student.Config{})
	labels := unlabelled(400)
	r := stream(2)
	for i := range 60 {
		labels[i] = r.IntN(4)
	}
	m := testkit.Must(p.Fit(t.Context(), labels, 4))
	require.Less(t, accuracy(t, m, x, y), .8)
}

func TestSmallPoolsWithFewNoisyLabels(t *testing.T) {
	for _, asked := range []int{20, 50} {
		x, y := blobs(400, 64, 5, stream(1))
		fresh, truth := blobs(500, 64, 5, stream(2))
		p := newPool(t, x, student.Config{})
		queries := testkit.Must(p.Select(t.Context(), asked, stream(3)))
		labels := label(y, queries)
		labels[queries[0]] = (labels[queries[0]] + 1) % 5
		m := testkit.Must(p.Fit(t.Context(), labels, 5))
		require.Greater(t, accuracy(t, m, fresh, truth), .95, "%d labels", asked)
	}
}

func TestClassesWithoutALabelAreNeverAnswered(t *testing.T) {
	x, y := blobs(300, 8, 3, stream(1))
	labels := unlabelled(300)
	for i := range 60 {
		if y[i] != 1 {
			labels[i] = y[i] + 2 // classes 2 and 4 of 7
		}
	}
	m := testkit.Must(newPool(t, x, student.Config{}).Fit(t.Context(), labels, 7))
	answers := make([]int, 300)
	require.NoError(t, m.Predict(answers, x))
	for i, a := range answers {
		require.Contains(t, []int{2, 4}, a)
		if y[i] != 1 {
			require.Equal(t, y[i]+2, a)
		}
	}
	scores := scoresOf(t, m, x, 7)
	for i, a := range answers {
		require.Equal(t, slices.Max(scores[7*i:7*i+7]), scores[7*i+a])
	}

	labels = unlabelled(300)
	labels[7] = 5
	m = testkit.Must(newPool(t, x, student.Config{}).Fit(t.Context(), labels, 7))
	require.NoError(t, m.Predict(answers, x))
	require.Equal(t, slices.Repeat([]int{5}, 300), answers)
}

// TestRepeatsItself checks that the same pool, labels and random stream give the same
// student, for any number of processors and wherever the features lie in memory.
func TestRepeatsItself(t *testing.T) {
	x, y := blobs(700, 40, 4, stream(1))
	run := func(x student.Matrix) (string, []float32) {
		p := newPool(t, x, student.Config{Components: 8})
		queries := testkit.Must(p.Select(t.Context(), 30, stream(2)))
		m := testkit.Must(p.Fit(t.Context(), label(y, queries), 4))
		scores := scoresOf(t, m, x, 4)
		return fmt.Sprint(queries), scores
	}
	queries, scores := run(x)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	padded := student.Matrix{Rows: 700, Cols: 40, Stride: 43, Data: make([]float32, 1+700*43)[1:]}
	for i := range 700 {
		copy(padded.Data[i*43:], x.Data[i*40:(i+1)*40])
	}
	queries1, scores1 := run(padded)
	require.Equal(t, queries, queries1)
	require.Equal(t, scores, scores1)
}

// TestInvariances checks that renaming classes renames answers, and that scaling features
// by a power of two changes nothing at all.
func TestInvariances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(20, 60).Draw(t, "rows")
		classes := rapid.IntRange(2, 4).Draw(t, "classes")
		x, y := blobs(n, rapid.IntRange(classes, 12).Draw(t, "cols"), classes, stream(rapid.Uint64().Draw(t, "seed")))
		labels := label(y, stream(9).Perm(n)[:rapid.IntRange(1, n).Draw(t, "labels")])
		scale := math.Ldexp(1, rapid.IntRange(-20, 20).Draw(t, "scale"))
		rename := stream(rapid.Uint64().Draw(t, "names")).Perm(classes)

		answer := func(x student.Matrix, labels []int) []int {
			p := testkit.Must(student.NewPool(context.Background(), x, student.Config{}, stream(1)))
			m := testkit.Must(p.Fit(context.Background(), labels, classes))
			out := make([]int, n)
			require.NoError(t, m.Predict(out, x))
			return out
		}
		base := answer(x, labels)
		scaled := matrix(n, x.Cols, func(i, j int) float64 { return scale * float64(x.Data[i*x.Cols+j]) })
		require.Equal(t, base, answer(scaled, labels))

		renamed, want := slices.Clone(labels), slices.Clone(base)
		for i := range n {
			want[i] = rename[base[i]]
			if labels[i] != student.Unlabelled {
				renamed[i] = rename[labels[i]]
			}
		}
		got := answer(x, renamed)
		differ := 0
		for i := range n {
			if got[i] != want[i] {
				differ++
			}
		}
		require.LessOrEqual(t, differ, 1, "exact ties may fall to another class") // ties go to the lowest class
	})
}
