package student

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/testkit"
)

// TestSolveRaisesTheFloor checks solve against float64 arithmetic, for a matrix with the floor
// that is asked for and for one that rounding left with a negative eigenvalue: there the floor is
// the first that is large enough. What no floor mends is refused.
func TestSolveRaisesTheFloor(t *testing.T) {
	const lambda = .5
	inner := Matrix{Rows: 3, Cols: 3, Stride: 3, Data: []float32{1, .25, 0, .25, 1, .25, 0, .25, 1}}
	target := Matrix{Rows: 3, Cols: 2, Stride: 2, Data: []float32{1, -1, .5, 2, -3, .25}}
	gram := func(least float32) Matrix { // of which least is an eigenvalue, with the weight of inner
		g := dense.New(3, 3)
		for i := range g.Data {
			g.Data[i] = -lambda * inner.Data[i]
		}
		g.Data[0], g.Data[4], g.Data[8] = g.Data[0]+3, g.Data[4]+2, g.Data[8]+least
		return g
	}
	for _, c := range []struct {
		least float32
		rises int // tenfold
	}{{1, 0}, {-3e-5, 1}, {-3e-3, 3}} {
		g := gram(c.least)
		trace := float64(g.Data[0]) + float64(g.Data[4]) + float64(g.Data[8])
		floor := ridgeFloor * (trace/3 + lambda) * math.Pow10(c.rises)
		require.Equal(t, c.rises > 0, float64(c.least)+floor/10 < 0, "the case is one of %d rises", c.rises)
		got := testkit.Must(solve(g, inner, target, lambda))
		for i, pivot := range []float64{3 + floor, 2 + floor, float64(c.least) + floor} {
			for j := range 2 {
				want := float64(target.Data[2*i+j]) / pivot
				require.InDelta(t, want, got.Data[2*i+j], 2e-2*math.Abs(want)+1e-5)
			}
		}
	}

	full := []float32{4, 1, .5, 1, 3, -1, .5, -1, 5}
	got := testkit.Must(solve(Matrix{Rows: 3, Cols: 3, Stride: 3, Data: slices.Clone(full)}, inner, target, lambda))
	a, b := mat.NewDense(3, 3, nil), mat.NewDense(3, 2, nil)
	for i := range 3 {
		for j := range 3 {
			a.Set(i, j, float64(full[3*i+j])+lambda*float64(inner.Data[3*i+j]))
		}
		a.Set(i, i, a.At(i, i)+ridgeFloor*(4+lambda))
		b.Set(i, 0, float64(target.Data[2*i]))
		b.Set(i, 1, float64(target.Data[2*i+1]))
	}
	var want mat.Dense
	require.NoError(t, want.Solve(a, b))
	for i, v := range want.RawMatrix().Data {
		require.InDelta(t, v, got.Data[i], 1e-6)
	}

	for _, bad := range []float32{-100, float32(math.NaN()), float32(math.Inf(1))} {
		require.ErrorIs(t, testkit.Err(solve(gram(bad), inner, target, lambda)), errSingular, "%g", bad)
	}
}

// TestRidgeSumsOfParts: rows that are added later count as rows from the start do, and half of the
// landmarks have the sums that they have alone.
func TestRidgeSumsOfParts(t *testing.T) {
	z, y := clouds(700, 9, 3, 7)
	for i := range y {
		if i%5 == 0 {
			y[i] = Unlabelled
		}
	}
	landmarks := rand.New(rand.NewPCG(8, 1)).Perm(z.Rows)[:31]
	scores := func(s *ridgeSums) []float32 {
		return testkit.Must(testkit.Must(s.solve([]float64{.1}))[0].scores(t.Context(), z)).Data
	}
	sums := func(landmarks []int, parts ...int) *ridgeSums {
		s, from := newRidgeSums(dense.Pick(z, landmarks), y, 9, 3), 0
		for _, to := range parts {
			require.NoError(t, s.add(t.Context(), dense.Rows(z, from, to), y[from:to]))
			from = to
		}
		return s
	}
	whole := scores(sums(landmarks, z.Rows))
	require.InDeltaSlice(t, whole, scores(sums(landmarks, 150, 151, z.Rows)), 1e-3)
	require.Greater(t, math.Abs(float64(whole[0]-scores(sums(landmarks, 600))[0])), 2e-3, "rows matter")
	var half []int
	for i := 0; i < len(landmarks); i += 2 {
		half = append(half, landmarks[i])
	}
	require.InDeltaSlice(t, scores(sums(half, z.Rows)), scores(sums(landmarks, z.Rows).half()), 1e-3)
}

// clouds returns rows of classes that overlap a little, one column for each, and noise.
func clouds(rows, cols, classes int, seed uint64) (Matrix, []int) {
	r := rand.New(rand.NewPCG(seed, 1))
	x, y := dense.New(rows, cols), make([]int, rows)
	for i := range rows {
		y[i] = i % classes
		for j := range cols {
			x.Data[i*cols+j] = float32(r.NormFloat64())
		}
		x.Data[i*cols+y[i]] += 4
	}
	return x, y
}

// Labels of which nearly half are wrong tell the classes if they are many: their errors even
// out. As few as the rows here, they are spread where they count as few, and errors stay.
func TestErrorsOfManyLabelsEvenOut(t *testing.T) {
	const rows, fresh, classes = 900, 500, 4
	x, y := clouds(rows, 12, classes, 1)
	unseen, truth := clouds(fresh, 12, classes, 2)
	noise, labels := rand.New(rand.NewPCG(3, 1)), make([]int, rows)
	for i := range labels {
		if labels[i] = y[i]; noise.Float64() < .6 {
			labels[i] = noise.IntN(classes)
		}
	}
	learn := func(many int) (*Choice, int) {
		l := testkit.Must(NewLearner(t.Context(), x, LearnerConfig{Images: true}, rand.New(rand.NewPCG(4, 1))))
		require.Equal(t, denoiseFrom, l.many)
		l.many = many
		c := testkit.Must(l.Fit(t.Context(), labels, classes, rand.New(rand.NewPCG(5, 1))))
		answers := make([]int, fresh)
		require.NoError(t, c.Model.Predict(answers, unseen))
		return c, scores.Right(answers, truth)
	}
	c, got := learn(rows)
	require.Equal(t, []string{denoising}, c.Kept)
	require.Equal(t, rows, c.Labels)
	require.Empty(t, c.Right, "nothing to compare with")
	_, spread := learn(rows + 1)
	t.Logf("%d of %d labels are right; of %d answers %d, by the students of few labels %d",
		scores.Right(labels, y), rows, fresh, got, spread)
	require.Greater(t, got, fresh*93/100)
	_, again := learn(rows)
	require.Equal(t, got, again)
}

// What becomes of a row does not depend on the rows beside it, to the last bit, nor is it
// refused for what another one holds.
func TestProjectionOfARowIsItsOwn(t *testing.T) {
	x, _ := clouds(300, 40, 3, 1)
	l := testkit.Must(NewLearner(t.Context(), x, LearnerConfig{Images: true}, rand.New(rand.NewPCG(2, 1))))
	all := testkit.Must(l.Project(t.Context(), x))
	for range 2 { // known, and then not, as where labels are spread over a part
		require.Equal(t, all, testkit.Must(l.ProjectPool(t.Context())))
		l.rows = l.rows[:200]
	}
	rows, _ := clouds(700, 40, 3, 3)
	whole := testkit.Must(l.Project(t.Context(), rows))
	for _, from := range []int{1, 3, 256, 699} {
		alone := testkit.Must(l.Project(t.Context(), dense.Rows(rows, from, rows.Rows)))
		require.Equal(t, whole.Data[from*whole.Stride:], alone.Data, "from row %d on", from)
	}
	rows.Data[0] = float32(math.NaN())
	with := testkit.Must(l.Project(t.Context(), rows))
	require.Equal(t, whole.Data[whole.Stride:], with.Data[with.Stride:])
	rows.Cols--
	require.ErrorContains(t, testkit.Err(l.Project(t.Context(), rows)), "39 features, want 40")
}

// TestAPartOfALargePool has all labelled rows, as far as they fit, and others.
func TestAPartOfALargePool(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	labelled := []int{5, 8000, 19_999}
	rows := partOf(30_000, labelled, rnd)
	require.Len(t, rows, MaxSpread)
	require.True(t, slices.IsSorted(rows))
	require.Len(t, slices.Compact(slices.Clone(rows)), MaxSpread)
	for _, r := range labelled {
		require.Contains(t, rows, r)
	}
	many := make([]int, MaxSpread+7)
	for i := range many {
		many[i] = 2 * i
	}
	rows = partOf(30_000, many, rnd)
	require.Len(t, rows, MaxSpread)
	for _, r := range rows {
		require.Zero(t, r%2)
	}
	require.Equal(t, []int{0, 1, 2}, partOf(3, []int{1}, rnd))
}

// TestCentreTakesAwayWhatChanceNamed: rows far from any label lean to the class that was named once more than
// the other, and after centring to what they differ by; rows that no label reached stay zero.
func TestCentreTakesAwayWhatChanceNamed(t *testing.T) {
	labels := []int{0, 0, 1, Unlabelled, Unlabelled}
	soft := dense.New(5, 2)
	copy(soft.Data, []float32{.9, .1, .8, .2, .3, .7, .6, .4, 0, 0})
	require.Equal(t, []int{0, 0, 1, 0, Unlabelled}, harden(soft))
	centre(soft, labels, []int{0, 1})
	require.Equal(t, []int{0, 0, 1, 1, Unlabelled}, harden(soft), "0.6 is less than the two thirds that were named")
}

// TestCentreLeavesUnevenClasses: eighty of a hundred labels are no chance, and one class
// has nothing to be compared with.
func TestCentreLeavesUnevenClasses(t *testing.T) {
	labels := make([]int, 100)
	for i := range 20 {
		labels[i] = 1
	}
	soft := dense.New(100, 2)
	for i := range 100 {
		soft.Data[2*i], soft.Data[2*i+1] = .7, .3
	}
	centre(soft, labels, []int{0, 1})
	require.Equal(t, []float32{.7, .3}, soft.Data[:2])

	one := dense.New(2, 1)
	one.Data[0], one.Data[1] = 1, 1
	centre(one, []int{0, Unlabelled}, []int{0})
	require.Equal(t, []float32{1, 1}, one.Data)
}

// TestSpreadSolves: what comes out is the solution, which a thousand rounds of the plain iteration reach.
func TestSpreadSolves(t *testing.T) {
	const n, classes = 400, 3
	rnd := rand.New(rand.NewPCG(1, 2))
	z, labels := dense.New(n, 3), make([]int, n)
	for i := range z.Data {
		z.Data[i] = float32(rnd.NormFloat64())
	}
	for i := range labels {
		if labels[i] = Unlabelled; i%20 == 0 {
			labels[i] = rnd.IntN(classes)
		}
	}
	g := testkit.Must(findNeighbours(t.Context(), z, 10)).graph(10)
	got := testkit.Must(g.spread(t.Context(), labels, []int{0, 1, 2}, classes))
	want, next := dense.New(n, classes), dense.New(n, classes)
	for range 1000 {
		for i, y := range labels {
			out := dense.Row(next, i)
			clear(out)
			for e := g.start[i]; e < g.start[i+1]; e++ {
				for c, v := range dense.Row(want, int(g.to[e])) {
					out[c] += alpha * g.weight[e] * v
				}
			}
			if y != Unlabelled {
				next.Data[i*classes+y] += 1 - alpha
			}
		}
		want, next = next, want
	}
	for i := range n {
		normalise(dense.Row(want, i))
		for c, v := range dense.Row(want, i) {
			require.InDelta(t, v, dense.Row(got, i)[c], 1e-3, "row %d", i)
		}
	}
}

// TestCandidatesBecomeAsSureAsTheyAreRight: whatever a candidate claims for the
// class it answers, after tempering it claims about the rate at which it is right.
func TestCandidatesBecomeAsSureAsTheyAreRight(t *testing.T) {
	for name, c := range map[string]struct {
		claim float32
		right int // of 100
	}{
		"certain, right 60 times":      {1, 60},
		"doubting, right 90 times":     {.6, 90},
		"as sure as right":             {.8, 80},
		"certain, no better than coin": {1, 50},
	} {
		t.Run(name, func(t *testing.T) {
			scores, labels := dense.New(100, 2), make([]int, 100)
			for i := range labels {
				answer := i % 2
				labels[i] = answer
				if i >= c.right {
					labels[i] = 1 - answer
				}
				scores.Data[2*i+answer], scores.Data[2*i+1-answer] = c.claim, 1-c.claim
			}
			temper(scores, bestPower(scores, labels))
			for i := range labels {
				require.InDelta(t, float64(c.right)/100, scores.Data[2*i+i%2], .08)
				require.InDelta(t, 1, scores.Data[2*i]+scores.Data[2*i+1], 1e-5)
			}
		})
	}
}
