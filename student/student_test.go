package student_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/plain"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/trees"
)

func TestSpreadingBeatsTheLabelsAloneOnMoons(t *testing.T) {
	x, y := moons(600, stream(3))
	fresh, truth := moons(600, stream(4))
	p := newPool(t, x, student.Config{})
	const seeds = 8
	var semi, alone float64
	for seed := range uint64(seeds) {
		labels := label(y, stream(seed).Perm(600)[:8])
		semi += accuracy(t, testkit.Must(p.Fit(t.Context(), labels, 2)), fresh, truth) / seeds
		m := testkit.Must(supervised(t.Context(), ridge, x, labels, 2, stream(6)))
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
	require.Less(t, accuracy(t, testkit.Must(p.Fit(t.Context(), labels, 4)), x, y), .8)
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
	require.NoError(t, testkit.Must(newPool(t, x, student.Config{}).Fit(t.Context(), labels, 7)).Predict(answers, x))
	require.Equal(t, slices.Repeat([]int{5}, 300), answers)
}

// TestRepeatsItself checks that the same pool, labels and random stream give the same
// student, for any number of processors and wherever the features lie in memory.
func TestRepeatsItself(t *testing.T) {
	x, y := blobs(700, 40, 4, stream(1))
	run := func(x student.Matrix) (string, []float32) {
		p := newPool(t, x, student.Config{Components: 8})
		queries := testkit.Must(p.Select(t.Context(), 30, stream(2)))
		scores := scoresOf(t, testkit.Must(p.Fit(t.Context(), label(y, queries), 4)), x, 4)
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
		// Ties go to the lowest class.
		require.GreaterOrEqual(t, scores.Right(answer(x, renamed), want), n-1, "exact ties may fall to another class")
	})
}

// supervised trains on the rows with a label.
func supervised(ctx context.Context, l teachers.Learner, x student.Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
	data, rows := teachers.Dataset{Classes: classes}, []int(nil)
	for i, y := range labels {
		if y != student.Unlabelled {
			rows, data.Y = append(rows, i), append(data.Y, y)
		}
	}
	data.X = dense.Pick(x, rows)
	return l.Fit(ctx, data, rnd)
}

var ridge = teachers.KernelRidge{Gamma: 1, Lambda: .1}

func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func matrix(rows, cols int, at func(i, j int) float64) student.Matrix {
	m := dense.New(rows, cols)
	for i := range rows {
		for j := range cols {
			m.Data[i*cols+j] = float32(at(i, j))
		}
	}
	return m
}

// moons returns two interleaved half circles with a little noise.
func moons(n int, r *rand.Rand) (student.Matrix, []int) {
	y := make([]int, n)
	points := make([][2]float64, n)
	for i := range y {
		y[i] = i % 2
		angle := math.Pi * r.Float64()
		points[i] = [2]float64{math.Cos(angle), math.Sin(angle)}
		if y[i] == 1 {
			points[i] = [2]float64{1 - math.Cos(angle), .5 - math.Sin(angle)}
		}
		points[i][0] += .06 * r.NormFloat64()
		points[i][1] += .06 * r.NormFloat64()
	}
	return matrix(n, 2, func(i, j int) float64 { return points[i][j] }), y
}

// blobs returns Gaussian clusters, one for each class, in the first classes columns. The
// other columns are noise.
func blobs(n, cols, classes int, r *rand.Rand) (student.Matrix, []int) {
	y := make([]int, n)
	for i := range y {
		y[i] = i % classes
	}
	return matrix(n, cols, func(i, j int) float64 {
		centre := 0.
		if j == y[i] {
			centre = 8
		}
		return centre + r.NormFloat64()
	}), y
}

func unlabelled(n int) []int { return slices.Repeat([]int{student.Unlabelled}, n) }

// label releases the true labels of the named rows.
func label(y, rows []int) []int {
	out := unlabelled(len(y))
	for _, i := range rows {
		out[i] = y[i]
	}
	return out
}

func accuracy(t testing.TB, c teachers.Classifier, x student.Matrix, y []int) float64 {
	t.Helper()
	answers := make([]int, x.Rows)
	require.NoError(t, c.Predict(answers, x))
	return scores.Accuracy(answers, y)
}

func newPool(t testing.TB, x student.Matrix, c student.Config) *student.Pool {
	return testkit.Must(student.NewPool(t.Context(), x, c, stream(1)))
}

func scoresOf(t testing.TB, c teachers.Classifier, x student.Matrix, classes int) []float32 {
	t.Helper()
	scores := dense.New(x.Rows, classes)
	require.NoError(t, c.(teachers.Scorer).Scores(scores, x))
	return scores.Data
}

// requirePlain checks that a model has its scores when it is written down as data, up to float32.
func requirePlain(t *testing.T, m teachers.Classifier, x student.Matrix, classes int) *plain.Model {
	t.Helper()
	p := m.(plain.Describer).Plain()
	require.NoError(t, p.Check(x.Cols, classes))
	got := testkit.Must(p.Scores(t.Context(), x, classes))
	for i, v := range scoresOf(t, m, x, classes) {
		if v < -1000 { // of a class that no label names
			v = 0
		}
		require.InDelta(t, v, got[i], 1e-3, "row %d", i/classes)
	}
	return p
}

// TestStudentsOfProjections: of many columns, candidates learn from projections, and say so
// where they are written down.
func TestStudentsOfProjections(t *testing.T) {
	const columns = 600
	x, y := blobs(300, columns, 3, stream(1))
	fresh, truth := blobs(100, columns, 3, stream(2))
	labels := label(y, stream(3).Perm(300)[:60])
	pool := newPool(t, x, student.Config{Landmarks: 60})
	for _, c := range student.ImageCandidates(pool)[1:] {
		t.Run(c.Name, func(t *testing.T) {
			m := testkit.Must(c.Fit(t.Context(), x, labels, 3, stream(4)))
			require.Greater(t, accuracy(t, m, fresh, truth), .95)
			if p := requirePlain(t, m, fresh, 3); p.Kernel != nil {
				require.Len(t, p.Kernel.Landmarks[0], 128)
			}
			narrow := dense.New(1, columns-1)
			require.Error(t, m.Predict(make([]int, 1), narrow))
			require.Error(t, m.(teachers.Scorer).Scores(dense.New(1, 3), narrow))
		})
	}
}

// TestModelsOfProjections: a model answers the same for projected rows, if all its members project them.
func TestModelsOfProjections(t *testing.T) {
	type projecting interface{ OfProjections() teachers.Classifier }
	rows, truth := blobs(300, 600, 3, stream(1))
	fresh, _ := blobs(100, 600, 3, stream(2))
	l := testkit.Must(student.NewLearner(t.Context(), rows, student.LearnerConfig{Images: true}, stream(3)))
	choice := testkit.Must(l.Fit(t.Context(), label(truth, stream(3).Perm(300)[:60]), 3, stream(4)))
	of := choice.Model.(projecting).OfProjections()
	z := testkit.Must(l.Project(t.Context(), fresh))
	require.Equal(t, scoresOf(t, choice.Model, fresh, 3), scoresOf(t, of, z, 3))
	want, got := make([]int, fresh.Rows), make([]int, fresh.Rows)
	require.NoError(t, choice.Model.Predict(want, fresh))
	require.NoError(t, of.Predict(got, z))
	require.Equal(t, want, got)
	require.Error(t, of.Predict(got, fresh))

	x, y := table(200, false, 1)
	forest := testkit.Must(student.CrossValidation{Candidates: student.TableCandidates(nil)[:1]}.Fit(t.Context(), x, y, 2, stream(5)))
	require.Nil(t, forest.Model.(projecting).OfProjections(), "it needs the rows")
}

// TestPlainModelsSayWhatTheClassifierSays: written down as data, every kind of student has
// the scores it had, up to float32, also on rows far from all others.
func TestPlainModelsSayWhatTheClassifierSays(t *testing.T) {
	x, y := table(200, false, 1)
	for i := range y {
		y[i] *= 2 // class 1 of 3 has no label
	}
	labels := label(y, stream(3).Perm(200)[:90])
	test, _ := table(200, false, 2)
	test.Data[7] = 1e9
	candidates := student.TableCandidates(newPool(t, x, student.Config{Landmarks: 60}))
	for name, l := range map[string]teachers.Learner{"booster": trees.Booster{Rounds: 5}, "constant": teachers.Softmax{}} {
		candidates = append(candidates, student.Candidate{Name: name, Fit: func(ctx context.Context, x student.Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
			if name == "constant" {
				labels = label(y, []int{5})
			}
			return supervised(ctx, l, x, labels, classes, rnd)
		}})
	}
	for _, c := range candidates {
		t.Run(c.Name, func(t *testing.T) {
			requirePlain(t, testkit.Must(c.Fit(t.Context(), x, labels, 3, stream(4))), test, 3)
		})
	}
	choice := testkit.Must(student.Learn(t.Context(), x, labels, 3, student.LearnerConfig{}, stream(5)))
	require.Len(t, requirePlain(t, choice.Model, test, 3).Mean.Members, len(choice.Kept))
}

// Questions are spread over a pool of which nearly all rows are alike, where rows at random
// would be of the one cluster.
func TestSelectCoversRareRows(t *testing.T) {
	const rows, rare = 600, 5
	r := stream(1)
	cluster := make([]int, rows)
	for k := 1; k < 4; k++ {
		for i := range rare {
			cluster[100*k+i] = k
		}
	}
	x := matrix(rows, 6, func(i, j int) float64 { return r.NormFloat64()/10 + 5*float64(cluster[i]*(j+1)%4) })
	of := func(chosen []int) (clusters int) {
		seen := [4]bool{}
		for _, row := range chosen {
			if !seen[cluster[row]] {
				seen[cluster[row]] = true
				clusters++
			}
		}
		return clusters
	}
	for seed := range uint64(5) {
		chosen := testkit.Must(student.Select(t.Context(), x, 8, func(student.Progress) {}, stream(seed)))
		require.Equal(t, 4, of(chosen))
		again := testkit.Must(student.Select(t.Context(), x, 8, func(student.Progress) {}, stream(seed)))
		require.Equal(t, chosen, again)
		require.Less(t, of(stream(seed).Perm(rows)[:8]), 4)
	}
	all := testkit.Must(student.Select(t.Context(), x, rows, func(student.Progress) {}, stream(1)))
	slices.Sort(all)
	require.Len(t, slices.Compact(all), rows)
}

func requireDistinct(t *testing.T, queries []int, m, rows int) {
	t.Helper()
	require.Len(t, queries, m)
	seen := map[int]bool{}
	for _, q := range queries {
		require.False(t, q < 0 || q >= rows || seen[q])
		seen[q] = true
	}
}

func TestSelectCoversAllClusters(t *testing.T) {
	x, y := blobs(400, 30, 10, stream(1))
	p := newPool(t, x, student.Config{})
	queries := testkit.Must(p.Select(t.Context(), 20, stream(2)))
	seen := map[int]bool{}
	for _, q := range queries {
		seen[y[q]] = true
	}
	require.Len(t, seen, 10)
	requireDistinct(t, testkit.Must(p.Select(t.Context(), 400, stream(2))), 400, 400)
}
