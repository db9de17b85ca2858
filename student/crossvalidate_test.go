package student_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers"
)

// table returns rows of which the class is the side of a plane (linear) or a
// corner of a chess board, with three columns that say nothing.
func table(n int, linear bool, seed uint64) (student.Matrix, []int) {
	r := stream(seed)
	x := matrix(n, 5, func(int, int) float64 { return 4*r.Float64() - 2 })
	y := make([]int, n)
	for i := range y {
		a, b := float64(x.Data[5*i]), float64(x.Data[5*i+1])
		right := math.Floor(a)+math.Floor(b) > -1
		if !linear {
			right = (int(math.Floor(a))+int(math.Floor(b)))%2 == 0
		}
		if right {
			y[i] = 1
		}
	}
	return x, y
}

func alternating(n int) []int {
	y := make([]int, n)
	for i := range y {
		y[i] = i % 2
	}
	return y
}

// majority answers the commonest label whatever is asked.
func majority(ctx context.Context, x student.Matrix, labels []int, classes int, _ *rand.Rand) (teachers.Classifier, error) {
	count := make([]int, classes)
	top := 0
	for _, y := range labels {
		if y != student.Unlabelled {
			if count[y]++; count[y] > count[top] {
				top = y
			}
		}
	}
	m, _ := teachers.Constant(teachers.Dataset{X: student.Matrix{Rows: 1, Cols: x.Cols}, Y: []int{top}, Classes: classes})
	return m, nil
}

// TestTheChoiceIsAsGoodAsTheBest: on a plane and on a chess board, where one of
// the candidates is no better than chance, the choice is at most a point below
// the better of logistic regression and a forest, far from the majority.
func TestTheChoiceIsAsGoodAsTheBest(t *testing.T) {
	for name, linear := range map[string]bool{"plane": true, "chess board": false} {
		t.Run(name, func(t *testing.T) {
			x, y := table(900, linear, 1)
			test, truth := table(2000, linear, 2)
			labels := label(y, stream(3).Perm(900)[:400])
			candidates := append([]student.Candidate{{Name: "majority", Fit: majority}}, student.TableCandidates(newPool(t, x, student.Config{}))...)
			best := 0.
			for _, c := range candidates[1:3] {
				best = max(best, accuracy(t, testkit.Must(c.Fit(t.Context(), x, labels, 2, stream(4))), test, truth))
			}
			choice := testkit.Must(student.CrossValidation{Candidates: candidates}.Fit(t.Context(), x, labels, 2, stream(5)))
			require.Greater(t, accuracy(t, choice.Model, test, truth), best-.01)
			require.Greater(t, best, .65)
			require.NotContains(t, choice.Kept, "majority")
			require.Len(t, choice.Right, len(candidates))
			require.Equal(t, 400, choice.Labels)
		})
	}
}

// TestEveryLabelIsHeldBackOnce: candidates never see the labels that score them, and the last fit sees all.
func TestEveryLabelIsHeldBackOnce(t *testing.T) {
	x, y := table(60, true, 1)
	labels := label(y, stream(3).Perm(60)[:23])
	var mu sync.Mutex
	held, whole := make([]int, 60), 0
	spy := func(ctx context.Context, x student.Matrix, given []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
		mu.Lock()
		defer mu.Unlock()
		missing := 0
		for i, want := range labels {
			if given[i] == want {
				continue
			}
			require.Equal(t, student.Unlabelled, given[i])
			held[i]++
			missing++
		}
		if missing == 0 {
			whole++
		}
		return majority(ctx, x, given, classes, rnd)
	}
	_, err := student.CrossValidation{Candidates: []student.Candidate{{Name: "spy", Fit: spy}, {Name: "majority", Fit: majority}}, Folds: 4}.Fit(t.Context(), x, labels, 2, stream(1))
	require.NoError(t, err)
	require.Equal(t, 1, whole)
	for i, y := range labels {
		want := 1
		if y == student.Unlabelled {
			want = 0
		}
		require.Equal(t, want, held[i])
	}
}

func TestTheChoiceDoesNotDependOnProcessors(t *testing.T) {
	x, y := table(200, false, 1)
	labels := label(y, stream(3).Perm(200)[:80])
	run := func() (*student.Choice, []float32) {
		choice := testkit.Must(student.CrossValidation{Candidates: student.TableCandidates(nil)}.Fit(t.Context(), x, labels, 3, stream(5)))
		scores := scoresOf(t, choice.Model, x, 3)
		return choice, scores
	}
	choice, scores := run()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	alone, same := run()
	require.Equal(t, choice.Right, alone.Right)
	require.Equal(t, choice.Mean, alone.Mean)
	require.Equal(t, choice.Kept, alone.Kept)
	require.Equal(t, scores, same)
}

func TestFewLabelsAreEnough(t *testing.T) {
	x, y := table(50, true, 1)
	for n := 1; n <= 6; n++ {
		choice, err := student.CrossValidation{Candidates: student.TableCandidates(newPool(t, x, student.Config{}))}.Fit(t.Context(), x, label(y, stream(3).Perm(50)[:n]), 2, stream(1))
		require.NoError(t, err)
		require.Equal(t, n, choice.Labels)
		accuracy(t, choice.Model, x, y)
	}
}

var errBroken = errors.New("broken")

type mute struct{ teachers.Classifier }

func TestCrossValidationRefuses(t *testing.T) {
	x, y := table(30, true, 1)
	broken := func(context.Context, student.Matrix, []int, int, *rand.Rand) (teachers.Classifier, error) {
		return nil, errBroken
	}
	silent := func(context.Context, student.Matrix, []int, int, *rand.Rand) (teachers.Classifier, error) {
		return mute{}, nil
	}
	for name, c := range map[string]struct {
		ctx    context.Context
		cv     student.CrossValidation
		labels []int
		is     error
		says   string
	}{
		"no candidates": {cv: student.CrossValidation{}, labels: y, says: "Candidates"},
		"no Fit":        {cv: student.CrossValidation{Candidates: []student.Candidate{{Name: "one"}}}, labels: y, says: `"one"`},
		"one fold":      {cv: student.CrossValidation{Candidates: student.TableCandidates(nil), Folds: 1}, labels: y, says: "Folds"},
		"no labels":     {cv: student.CrossValidation{Candidates: student.TableCandidates(nil)}, labels: unlabelled(30), is: student.ErrNoLabels},
		"failing":       {cv: student.CrossValidation{Candidates: []student.Candidate{{Name: "one", Fit: broken}}}, labels: y, is: errBroken, says: "one"},
		"no scores":     {cv: student.CrossValidation{Candidates: []student.Candidate{{Name: "one", Fit: silent}}}, labels: y, says: "Scorer"},
		"cancelled":     {ctx: testkit.Ended(), cv: student.CrossValidation{Candidates: student.TableCandidates(nil)}, labels: y, is: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			if c.ctx == nil {
				c.ctx = t.Context()
			}
			choice, err := c.cv.Fit(c.ctx, x, c.labels, 2, stream(1))
			require.Nil(t, choice)
			require.ErrorContains(t, err, c.says)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
}

// TestMixtureIsTheMean of what members say, and refuses what they refuse.
func TestMixtureIsTheMean(t *testing.T) {
	x, y := table(300, true, 1)
	candidates := student.TableCandidates(nil)
	choice := testkit.Must(student.CrossValidation{Candidates: candidates[1:]}.Fit(t.Context(), x, y, 2, stream(1)))
	require.Len(t, choice.Kept, 3)
	scores := scoresOf(t, choice.Model, x, 2)
	answers := make([]int, 300)
	require.NoError(t, choice.Model.Predict(answers, x))
	for i, a := range answers {
		require.InDelta(t, 1, scores[2*i]+scores[2*i+1], 1e-5)
		require.GreaterOrEqual(t, scores[2*i+a], scores[2*i+1-a])
	}
	require.Error(t, choice.Model.Predict(answers[1:], x))
	x.Data[7] = float32(math.NaN())
	require.Error(t, choice.Model.Predict(answers, x))
	require.Error(t, choice.Model.(teachers.Scorer).Scores(dense.New(300, 1), x))
}

// TestAFavouriteIsKeptUnlessOthersAreClearlyBetter: the favourite that is a little worse is
// kept alone, one that is clearly worse is not, and it is judged by Try.
func TestAFavouriteIsKeptUnlessOthersAreClearlyBetter(t *testing.T) {
	x, y := matrix(200, 2, func(i, j int) float64 { return float64((i%2)*(1-j)) + float64(i%7)/20 }), alternating(200)
	labels := label(y, stream(3).Perm(200)[:100])
	good := student.TableCandidates(nil)[0]
	constant := func(ctx context.Context, x student.Matrix, labels []int, classes int, rnd *rand.Rand) (teachers.Classifier, error) {
		return supervised(ctx, teachers.Softmax{}, x, label(y, []int{slices.Index(y, 0)}), classes, rnd)
	}
	for name, c := range map[string]struct {
		favourite student.Candidate
		kept      string
	}{
		"as good":        {student.Candidate{Name: "favourite", Fit: good.Fit}, "favourite"},
		"judged by Try":  {student.Candidate{Name: "favourite", Fit: constant, Try: good.Fit}, "favourite"},
		"clearly worse":  {student.Candidate{Name: "favourite", Fit: constant}, good.Name},
		"worse in trial": {student.Candidate{Name: "favourite", Fit: good.Fit, Try: constant}, good.Name},
	} {
		t.Run(name, func(t *testing.T) {
			choice, err := student.CrossValidation{Candidates: []student.Candidate{c.favourite, good}, Favourite: true}.Fit(t.Context(), x, labels, 2, stream(5))
			require.NoError(t, err)
			require.Equal(t, []string{c.kept}, choice.Kept, "right %v, mean %d", choice.Right, choice.Mean)
		})
	}
}

// TestAFavouriteIsNotLeftForALittle: of 2,000 labels the other candidate predicts 20 more, all that the two
// differ in. By chance that would be as good as impossible, but labels have errors that features foretell. It
// is kept for 60 more; and tried on two folds alone where it is not ahead in them.
func TestAFavouriteIsNotLeftForALittle(t *testing.T) {
	const rows = 2000
	x, y := matrix(rows, 1, func(i, _ int) float64 { return float64(i) }), alternating(rows)
	// wrong answers as released, but for some rows.
	wrong := func(of int) student.Candidate {
		return student.Candidate{Name: fmt.Sprint(of), Fit: func(context.Context, student.Matrix, []int, int, *rand.Rand) (teachers.Classifier, error) {
			return wrongAt{of}, nil
		}}
	}
	for _, c := range []struct {
		favourite, other int
		kept             string
		labels           int
	}{{60, 40, "60", rows}, {100, 40, "40", rows}, {60, 59, "60", 2 * rows / 5}, {60, 90, "60", 2 * rows / 5}} {
		choice, err := student.CrossValidation{Candidates: []student.Candidate{wrong(c.favourite), wrong(c.other)}, Favourite: true}.Fit(t.Context(), x, y, 2, stream(5))
		require.NoError(t, err)
		require.Equal(t, []string{c.kept}, choice.Kept, "right %v, mean %d", choice.Right, choice.Mean)
		require.Equal(t, c.labels, choice.Labels, "right %v, mean %d", choice.Right, choice.Mean)
		require.LessOrEqual(t, choice.RightOfKept(), choice.Labels)
	}
}

// wrongAt answers the row's number modulo 2, and the other class in the first rows.
type wrongAt struct{ of int }

func (w wrongAt) Predict(dst []int, x student.Matrix) error {
	for i := range dst {
		row := int(x.Data[i*x.Stride])
		if dst[i] = row % 2; row < w.of {
			dst[i] = 1 - dst[i]
		}
	}
	return nil
}

func (w wrongAt) Scores(dst, x student.Matrix) error {
	answers := make([]int, x.Rows)
	if err := w.Predict(answers, x); err != nil {
		return err
	}
	for i, a := range answers {
		dst.Data[i*dst.Stride+a], dst.Data[i*dst.Stride+1-a] = 1, 0
	}
	return nil
}

func TestNoLabelsIsATypedError(t *testing.T) {
	x, _ := blobs(30, 4, 2, stream(1))
	p, none := newPool(t, x, student.Config{}), unlabelled(30)
	require.ErrorIs(t, testkit.Err(p.Fit(t.Context(), none, 2)), student.ErrNoLabels)
	require.ErrorIs(t, testkit.Err(p.Spread(t.Context(), none, 2)), student.ErrNoLabels)
}

func TestBadInputIsRefused(t *testing.T) {
	x, y := blobs(30, 4, 2, stream(1))
	p := newPool(t, x, student.Config{})
	m := testkit.Must(p.Fit(t.Context(), y, 2))
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		bad := matrix(30, 4, func(i, j int) float64 { return float64(x.Data[4*i+j]) })
		bad.Data[50] = float32(v)
		require.ErrorContains(t, testkit.Err(student.NewPool(t.Context(), bad, student.Config{}, stream(1))), "NaN or infinite (row 12)")
		require.Error(t, m.Predict(make([]int, 30), bad))
	}
	pool := func(x student.Matrix, c student.Config) func() error {
		return func() error { _, err := student.NewPool(t.Context(), x, c, stream(1)); return err }
	}
	for name, do := range map[string]func() error{
		"empty pool":         pool(student.Matrix{Cols: 4, Stride: 4}, student.Config{}),
		"malformed":          pool(student.Matrix{Rows: 3, Cols: 4, Stride: 2, Data: make([]float32, 12)}, student.Config{}),
		"too little data":    pool(student.Matrix{Rows: 4, Cols: 4, Stride: 4, Data: make([]float32, 15)}, student.Config{}),
		"negative field":     pool(x, student.Config{Neighbours: -1}),
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
		"columns":      func() error { return m.Predict(make([]int, 30), dense.New(30, 3)) },
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
				requireDistinct(t, testkit.Must(p.Select(t.Context(), m, stream(2))), m, x.Rows)
			}
			labels := unlabelled(x.Rows)
			labels[0], labels[x.Rows-1] = 0, 1
			for _, v := range testkit.Must(p.Spread(t.Context(), labels, 3)).Data {
				require.True(t, v >= 0 && v <= 1.0001, "%v", v)
			}
			m := testkit.Must(p.Fit(t.Context(), labels, 3))
			far := matrix(3, x.Cols, func(i, j int) float64 { return float64(i-1) * math.MaxFloat32 })
			for _, v := range scoresOf(t, m, far, 3) {
				require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0))
			}
		})
	}
}

func TestStopsWhenTheContextIsDone(t *testing.T) {
	x, y := blobs(300, 8, 2, stream(1))
	p := newPool(t, x, student.Config{})
	ctx := testkit.Ended()
	require.ErrorIs(t, testkit.Err(student.NewPool(ctx, x, student.Config{}, stream(1))), context.Canceled)
	require.ErrorIs(t, testkit.Err(p.Select(ctx, 5, stream(1))), context.Canceled)
	require.ErrorIs(t, testkit.Err(p.Spread(ctx, y, 2)), context.Canceled)
	require.ErrorIs(t, testkit.Err(p.Fit(ctx, y, 2)), context.Canceled)
}

func TestProgressEndsAtTheTotal(t *testing.T) {
	x, y := blobs(100, 8, 2, stream(1))
	last := map[string]student.Progress{}
	p := newPool(t, x, student.Config{Progress: func(p student.Progress) { last[p.Stage] = p }})
	require.NoError(t, testkit.Err(p.Select(t.Context(), 5, stream(1))))
	require.NoError(t, testkit.Err(p.Fit(t.Context(), y, 2)))
	require.Len(t, last, 4)
	for stage, p := range last {
		require.Equal(t, p.Total, p.Done, stage)
	}
}

// 300 public rows in two clouds, of which six have a released label.
func Example() {
	ctx, rnd := context.Background(), rand.New(rand.NewPCG(1, 2))
	x := blas32.General{Rows: 300, Cols: 2, Stride: 2}
	for i := range x.Rows {
		centre := float32(4 * (i % 2))
		x.Data = append(x.Data, centre+float32(rnd.NormFloat64()), centre+float32(rnd.NormFloat64()))
	}
	pool, err := student.NewPool(ctx, x, student.Config{Components: 2}, rnd)
	if err != nil {
		log.Fatal(err)
	}
	labels := slices.Repeat([]int{student.Unlabelled}, x.Rows)
	for i := range 6 {
		labels[i] = i % 2
	}
	model, err := pool.Fit(ctx, labels, 2)
	if err != nil {
		log.Fatal(err)
	}
	answers := make([]int, 2)
	err = model.Predict(answers, blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{0, 0, 4, 4}})
	fmt.Println(answers, err)
	// Output: [0 1] <nil>
}
