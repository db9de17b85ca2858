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

	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers"
)

var ridge = teachers.KernelRidge{Gamma: 1, Lambda: .1}

func stream(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func matrix(rows, cols int, at func(i, j int) float64) student.Matrix {
	m := student.Matrix{Rows: rows, Cols: cols, Stride: cols, Data: make([]float32, rows*cols)}
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
	right := 0
	for i, a := range answers {
		if a == y[i] {
			right++
		}
	}
	return float64(right) / float64(len(y))
}

func newPool(t testing.TB, x student.Matrix, c student.Config) *student.Pool {
	t.Helper()
	p, err := student.NewPool(t.Context(), x, c, stream(1))
	require.NoError(t, err)
	return p
}

func TestSpreadingBeatsTheLabelsAloneOnMoons(t *testing.T) {
	x, y := moons(600, stream(3))
	fresh, truth := moons(600, stream(4))
	p := newPool(t, x, student.Config{})
	const seeds = 8
	var semi, alone float64
	for seed := range uint64(seeds) {
		labels := label(y, stream(seed).Perm(600)[:8])
		m, err := p.Fit(t.Context(), labels, 2)
		require.NoError(t, err)
		semi += accuracy(t, m, fresh, truth) / seeds
		m, err = student.Supervised(t.Context(), ridge, x, labels, 2, stream(6))
		require.NoError(t, err)
		alone += accuracy(t, m, fresh, truth) / seeds

		soft, err := p.Spread(t.Context(), labels, 2)
		require.NoError(t, err)
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
	m, err := p.Fit(t.Context(), labels, 4)
	require.NoError(t, err)
	require.Less(t, accuracy(t, m, x, y), .8)
}

func TestSmallPoolsWithFewNoisyLabels(t *testing.T) {
	for _, asked := range []int{20, 50} {
		x, y := blobs(400, 64, 5, stream(1))
		fresh, truth := blobs(500, 64, 5, stream(2))
		p := newPool(t, x, student.Config{})
		queries, err := p.Select(t.Context(), asked, stream(3))
		require.NoError(t, err)
		labels := label(y, queries)
		labels[queries[0]] = (labels[queries[0]] + 1) % 5
		m, err := p.Fit(t.Context(), labels, 5)
		require.NoError(t, err)
		require.Greater(t, accuracy(t, m, fresh, truth), .95, "%d labels", asked)
	}
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
		chosen, err := student.Select(t.Context(), x, 8, func(student.Progress) {}, stream(seed))
		require.NoError(t, err)
		require.Equal(t, 4, of(chosen))
		again, err := student.Select(t.Context(), x, 8, func(student.Progress) {}, stream(seed))
		require.NoError(t, err)
		require.Equal(t, chosen, again)
		require.Less(t, of(stream(seed).Perm(rows)[:8]), 4)
	}
	all, err := student.Select(t.Context(), x, rows, func(student.Progress) {}, stream(1))
	require.NoError(t, err)
	slices.Sort(all)
	require.Len(t, slices.Compact(all), rows)
}

func TestSelfTrainingBeatsTheLabelsAlone(t *testing.T) {
	x, y := blobs(400, 30, 4, stream(1))
	fresh, truth := blobs(800, 30, 4, stream(2))
	for r, m := range map[uint64]student.Matrix{3: x, 4: fresh} { // closer together
		noise := stream(r)
		for i := range m.Data {
			m.Data[i] += float32(2 * noise.NormFloat64())
		}
	}
	learner := teachers.KernelRidge{Gamma: .002, Lambda: .1}
	var alone, self float64
	for seed := range uint64(10) {
		labels := label(y, []int{int(8 * seed), int(8*seed) + 1, int(8*seed) + 2, int(8*seed) + 3}) // one of each class
		a, err := student.Supervised(t.Context(), learner, x, labels, 4, stream(3))
		require.NoError(t, err)
		s, err := student.SelfTraining{Learner: learner}.Fit(t.Context(), x, labels, 4, stream(3))
		require.NoError(t, err)
		alone += accuracy(t, a, fresh, truth) / 10
		self += accuracy(t, s, fresh, truth) / 10
	}
	t.Logf("self-training %.3f, supervised %.3f", self, alone)
	require.Greater(t, self, alone+.005)
}

func TestClassesWithoutALabelAreNeverAnswered(t *testing.T) {
	x, y := blobs(300, 8, 3, stream(1))
	labels := unlabelled(300)
	for i := range 60 {
		if y[i] != 1 {
			labels[i] = y[i] + 2 // classes 2 and 4 of 7
		}
	}
	m, err := newPool(t, x, student.Config{}).Fit(t.Context(), labels, 7)
	require.NoError(t, err)
	answers := make([]int, 300)
	require.NoError(t, m.Predict(answers, x))
	for i, a := range answers {
		require.Contains(t, []int{2, 4}, a)
		if y[i] != 1 {
			require.Equal(t, y[i]+2, a)
		}
	}
	scores := matrix(300, 7, func(int, int) float64 { return 0 })
	require.NoError(t, m.(teachers.Scorer).Scores(scores, x))
	for i, a := range answers {
		best := slices.Max(scores.Data[7*i : 7*i+7])
		require.Equal(t, best, scores.Data[7*i+a])
	}

	labels = unlabelled(300)
	labels[7] = 5
	m, err = newPool(t, x, student.Config{}).Fit(t.Context(), labels, 7)
	require.NoError(t, err)
	require.NoError(t, m.Predict(answers, x))
	require.Equal(t, slices.Repeat([]int{5}, 300), answers)
}

func TestNoLabelsIsATypedError(t *testing.T) {
	x, _ := blobs(30, 4, 2, stream(1))
	p, none := newPool(t, x, student.Config{}), unlabelled(30)
	_, err := p.Fit(t.Context(), none, 2)
	require.ErrorIs(t, err, student.ErrNoLabels)
	_, err = p.Spread(t.Context(), none, 2)
	require.ErrorIs(t, err, student.ErrNoLabels)
	_, err = student.Supervised(t.Context(), ridge, x, none, 2, stream(1))
	require.ErrorIs(t, err, student.ErrNoLabels)
	_, err = student.SelfTraining{Learner: ridge}.Fit(t.Context(), x, none, 2, stream(1))
	require.ErrorIs(t, err, student.ErrNoLabels)
}

func TestBadInputIsRefused(t *testing.T) {
	x, y := blobs(30, 4, 2, stream(1))
	p := newPool(t, x, student.Config{})
	m, err := p.Fit(t.Context(), y, 2)
	require.NoError(t, err)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		bad := matrix(30, 4, func(i, j int) float64 { return float64(x.Data[4*i+j]) })
		bad.Data[50] = float32(v)
		_, err := student.NewPool(t.Context(), bad, student.Config{}, stream(1))
		require.ErrorContains(t, err, "NaN or infinite (row 12)")
		_, err = student.Supervised(t.Context(), ridge, bad, y, 2, stream(1))
		require.ErrorContains(t, err, "NaN or infinite")
		require.Error(t, m.Predict(make([]int, 30), bad))
	}
	for name, do := range map[string]func() error{
		"empty pool": func() error {
			_, err := student.NewPool(t.Context(), student.Matrix{Cols: 4, Stride: 4}, student.Config{}, stream(1))
			return err
		},
		"malformed": func() error {
			_, err := student.NewPool(t.Context(), student.Matrix{Rows: 3, Cols: 4, Stride: 2, Data: make([]float32, 12)}, student.Config{}, stream(1))
			return err
		},
		"too little data": func() error {
			_, err := student.NewPool(t.Context(), student.Matrix{Rows: 4, Cols: 4, Stride: 4, Data: make([]float32, 15)}, student.Config{}, stream(1))
			return err
		},
		"negative field": func() error {
			_, err := student.NewPool(t.Context(), x, student.Config{Neighbours: -1}, stream(1))
			return err
		},
		"label too large":    func() error { _, err := p.Fit(t.Context(), slices.Repeat([]int{2}, 30), 2); return err },
		"label below -1":     func() error { _, err := p.Fit(t.Context(), slices.Repeat([]int{-2}, 30), 2); return err },
		"too few labels":     func() error { _, err := p.Fit(t.Context(), y[:29], 2); return err },
		"one class":          func() error { _, err := p.Fit(t.Context(), unlabelled(30), 1); return err },
		"no question":        func() error { _, err := p.Select(t.Context(), 0, stream(1)); return err },
		"too many questions": func() error { _, err := p.Select(t.Context(), 31, stream(1)); return err },
		"nothing to ask": func() error {
			_, err := student.Select(t.Context(), x, 0, func(student.Progress) {}, stream(1))
			return err
		},
		"no learner": func() error {
			_, err := student.SelfTraining{}.Fit(t.Context(), x, y, 2, stream(1))
			return err
		},
		"fraction NaN": func() error {
			_, err := student.SelfTraining{Learner: ridge, Fraction: math.NaN()}.Fit(t.Context(), x, y, 2, stream(1))
			return err
		},
		"columns":      func() error { return m.Predict(make([]int, 30), matrix(30, 3, func(int, int) float64 { return 0 })) },
		"short answer": func() error { return m.Predict(make([]int, 29), x) },
		"scores":       func() error { return m.(teachers.Scorer).Scores(x, x) },
	} {
		t.Run(name, func(t *testing.T) { require.Error(t, do()) })
	}
}

// TestDegeneratePools tries constant, repeated, huge and tiny rows, and more columns than
// rows. All are odd but finite.
func TestDegeneratePools(t *testing.T) {
	r := stream(1)
	for name, x := range map[string]student.Matrix{
		"one row":      matrix(1, 3, func(int, int) float64 { return 1 }),
		"two rows":     matrix(2, 3, func(i, j int) float64 { return float64(i * j) }),
		"constant":     matrix(40, 3, func(int, int) float64 { return 7 }),
		"zero":         matrix(40, 500, func(int, int) float64 { return 0 }),
		"copies":       matrix(60, 4, func(i, j int) float64 { return float64(i / 20 * (j + 1)) }),
		"one outlier":  matrix(60, 4, func(i, j int) float64 { return float64(i/59) * 3e38 }),
		"huge":         matrix(60, 4, func(int, int) float64 { return 1e38 * r.NormFloat64() }),
		"tiny":         matrix(60, 4, func(int, int) float64 { return 1e-38 * r.NormFloat64() }),
		"wide":         matrix(12, 900, func(int, int) float64 { return r.NormFloat64() }),
		"large offset": matrix(60, 4, func(int, int) float64 { return 1e6 + r.NormFloat64() }),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, x, student.Config{})
			for _, m := range []int{1, (x.Rows + 1) / 2, x.Rows} {
				queries, err := p.Select(t.Context(), m, stream(2))
				require.NoError(t, err)
				requireDistinct(t, queries, m, x.Rows)
			}
			labels := unlabelled(x.Rows)
			labels[0], labels[x.Rows-1] = 0, 1
			soft, err := p.Spread(t.Context(), labels, 3)
			require.NoError(t, err)
			for _, v := range soft.Data {
				require.True(t, v >= 0 && v <= 1.0001, "%v", v)
			}
			m, err := p.Fit(t.Context(), labels, 3)
			require.NoError(t, err)
			far := matrix(3, x.Cols, func(i, j int) float64 { return float64(i-1) * math.MaxFloat32 })
			scores := matrix(3, 3, func(int, int) float64 { return math.NaN() })
			for i := range scores.Data {
				scores.Data[i] = 0
			}
			require.NoError(t, m.(teachers.Scorer).Scores(scores, far))
			for _, v := range scores.Data {
				require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0))
			}
		})
	}
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
	queries, err := p.Select(t.Context(), 20, stream(2))
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, q := range queries {
		seen[y[q]] = true
	}
	require.Len(t, seen, 10)
	all, err := p.Select(t.Context(), 400, stream(2))
	require.NoError(t, err)
	requireDistinct(t, all, 400, 400)
}

// TestRepeatsItself checks that the same pool, labels and random stream give the same
// student, for any number of processors and wherever the features lie in memory.
func TestRepeatsItself(t *testing.T) {
	x, y := blobs(700, 40, 4, stream(1))
	run := func(x student.Matrix) (string, []float32) {
		p := newPool(t, x, student.Config{Components: 8})
		queries, err := p.Select(t.Context(), 30, stream(2))
		require.NoError(t, err)
		m, err := p.Fit(t.Context(), label(y, queries), 4)
		require.NoError(t, err)
		scores := matrix(700, 4, func(int, int) float64 { return 0 })
		require.NoError(t, m.(teachers.Scorer).Scores(scores, x))
		return fmt.Sprint(queries), scores.Data
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
			p, err := student.NewPool(context.Background(), x, student.Config{}, stream(1))
			require.NoError(t, err)
			m, err := p.Fit(context.Background(), labels, classes)
			require.NoError(t, err)
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

func TestStopsWhenTheContextIsDone(t *testing.T) {
	x, y := blobs(300, 8, 2, stream(1))
	p := newPool(t, x, student.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := student.NewPool(ctx, x, student.Config{}, stream(1))
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.Select(ctx, 5, stream(1))
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.Spread(ctx, y, 2)
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.Fit(ctx, y, 2)
	require.ErrorIs(t, err, context.Canceled)
	_, err = student.Supervised(ctx, ridge, x, y, 2, stream(1))
	require.ErrorIs(t, err, context.Canceled)
}

func TestProgressEndsAtTheTotal(t *testing.T) {
	x, y := blobs(100, 8, 2, stream(1))
	last := map[string]student.Progress{}
	p := newPool(t, x, student.Config{Progress: func(p student.Progress) { last[p.Stage] = p }})
	_, err := p.Select(t.Context(), 5, stream(1))
	require.NoError(t, err)
	_, err = p.Fit(t.Context(), y, 2)
	require.NoError(t, err)
	require.Len(t, last, 4)
	for stage, p := range last {
		require.Equal(t, p.Total, p.Done, stage)
	}
}

func BenchmarkStudent(b *testing.B) {
	x, y := blobs(9000, 2304, 10, stream(1))
	var p *student.Pool
	b.Run("NewPool/9000x2304", func(b *testing.B) {
		for b.Loop() {
			p = newPool(b, x, student.Config{})
		}
	})
	if p == nil {
		p = newPool(b, x, student.Config{})
	}
	var queries []int
	b.Run("Select/200of9000", func(b *testing.B) {
		for b.Loop() {
			queries, _ = p.Select(b.Context(), 200, stream(2))
		}
	})
	if queries == nil {
		queries = stream(2).Perm(9000)[:200]
	}
	b.Run("Fit/9000x2304", func(b *testing.B) {
		for b.Loop() {
			_, err := p.Fit(b.Context(), label(y, queries), 10)
			require.NoError(b, err)
		}
	})
}
