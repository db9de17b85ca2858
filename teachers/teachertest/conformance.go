package teachertest

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/votes"
)

// Options adapts the checks to a learner.
type Options struct {
	Features int // number of features of the synthetic examples; 0 means 24
	Classes  int // 0 means 3; should divide Features
	Examples int // number of training examples; 0 means 120
	// Accuracy is the accuracy that a learner must reach on easy data, by default 0.8. Constant
	// predictions reach 2/(Classes+1).
	Accuracy float64
	// Prompt is the time limit for Fit after ctx is cancelled, by default two seconds. Set more for slow
	// machines and the race detector.
	Prompt time.Duration
}

func (o Options) withDefaults() Options {
	o.Features, o.Classes, o.Examples = cmp.Or(o.Features, 24), cmp.Or(o.Classes, 3), cmp.Or(o.Examples, 120)
	o.Accuracy, o.Prompt = cmp.Or(o.Accuracy, 0.8), cmp.Or(o.Prompt, 2*time.Second)
	return o
}

// TestLearner runs every check as a subtest, each with a new learner. The learner should train in well under
// a second.
func TestLearner(t *testing.T, newLearner func() teachers.Learner, o Options) {
	o = o.withDefaults()
	k := kit{
		Options: o,
		share:   stripes(o.Examples, o.Features, o.Classes, 1),
		queries: stripes(200, o.Features, o.Classes, 2),
	}
	for _, check := range []struct {
		name string
		run  func(kit, *testing.T, teachers.Learner)
	}{
		{"learns", kit.learns},
		{"leaves inputs alone", kit.leavesInputsAlone},
		{"does not retain inputs", kit.doesNotRetain},
		{"reads strided rows", kit.readsStrides},
		{"refuses malformed data", kit.refusesData},
		{"refuses malformed queries", kit.refusesQueries},
		{"answers on an empty share", kit.emptyShare},
		{"answers on a single class", kit.singleClass},
		{"answers when classes are missing", kit.missingClasses},
		{"stops when cancelled", kit.stops},
		{"repeats itself if it says so", kit.repeats},
		{"teachers train at once", kit.concurrent},
		{"scores agree with classes", kit.scores},
	} {
		t.Run(check.name, func(t *testing.T) { check.run(k, t, newLearner()) })
	}
}

type kit struct {
	Options
	share, queries teachers.Dataset
}

func (kit) random() *rand.Rand { return rand.New(rand.NewPCG(3, 4)) }

func (k kit) fit(t *testing.T, l teachers.Learner, data teachers.Dataset) teachers.Classifier {
	t.Helper()
	model, err := l.Fit(context.Background(), data, k.random())
	require.NoError(t, err)
	require.NotNil(t, model)
	return model
}

func (k kit) predict(t *testing.T, model teachers.Classifier, x teachers.Matrix) []int {
	t.Helper()
	dst := slices.Repeat([]int{-7}, x.Rows) // neither a class nor an abstention, so Predict must overwrite it
	require.NoError(t, model.Predict(dst, x))
	for i, class := range dst {
		require.True(t, class >= votes.Abstention && class < k.Classes, "row %d: %d is no class", i, class)
	}
	return dst
}

func (k kit) learns(t *testing.T, l teachers.Learner) {
	answers := k.predict(t, k.fit(t, l, clone(k.share)), k.queries.X)
	right := scores.Right(answers, k.queries.Y)
	commonest := scores.ClassRows(k.queries.Y, k.Classes)[0]
	accuracy := float64(right) / float64(len(answers))
	assert.Greater(t, right, commonest, "no better than always answering the commonest class")
	assert.GreaterOrEqual(t, accuracy, k.Accuracy)
}

func (k kit) leavesInputsAlone(t *testing.T, l teachers.Learner) {
	data, queries := clone(k.share), clone(k.queries)
	k.predict(t, k.fit(t, l, data), queries.X)
	assert.Equal(t, k.share, data, "Fit changed the data")
	assert.Equal(t, k.queries, queries, "Predict changed the queries")
}

func (k kit) doesNotRetain(t *testing.T, l teachers.Learner) {
	data := clone(k.share)
	model := k.fit(t, l, data)
	before := k.predict(t, model, k.queries.X)
	for i := range data.X.Data {
		data.X.Data[i] = float32(math.NaN())
	}
	for i := range data.Y {
		data.Y[i] = k.Classes - 1
	}
	assert.Equal(t, before, k.predict(t, model, k.queries.X), "the model reads the data it was trained on")
}

func (k kit) readsStrides(t *testing.T, l teachers.Learner) {
	model := k.fit(t, l, withStride(k.share, 3))
	assert.Equal(t, k.predict(t, model, k.queries.X), k.predict(t, model, withStride(k.queries, 5).X))
}

func (k kit) refusesData(t *testing.T, l teachers.Learner) {
	for name, spoil := range map[string]func(*teachers.Dataset){
		"NaN":              func(d *teachers.Dataset) { d.X.Data[17] = float32(math.NaN()) },
		"infinity":         func(d *teachers.Dataset) { d.X.Data[len(d.X.Data)-1] = float32(math.Inf(-1)) },
		"label too large":  func(d *teachers.Dataset) { d.Y[3] = d.Classes },
		"negative label":   func(d *teachers.Dataset) { d.Y[3] = -1 },
		"a label too few":  func(d *teachers.Dataset) { d.Y = d.Y[1:] },
		"values too few":   func(d *teachers.Dataset) { d.X.Data = d.X.Data[1:] },
		"stride too small": func(d *teachers.Dataset) { d.X.Stride = d.X.Cols - 1 },
		"one class":        func(d *teachers.Dataset) { d.Classes = 1; clear(d.Y) },
	} {
		data := clone(k.share)
		spoil(&data)
		refused(t, name, func() error {
			model, err := l.Fit(context.Background(), data, k.random())
			if err != nil && model != nil { // not printed, because a model would fill pages
				t.Errorf("%s: Fit returned a model besides the error", name)
			}
			return err
		})
	}
}

func refused(t *testing.T, given string, call func() error) {
	t.Helper()
	defer func() {
		if why := recover(); why != nil {
			t.Errorf("%s: panicked (%v); it must return an error: see Dataset.Validate and ValidateQueries of package teachers", given, why)
		}
	}()
	assert.Error(t, call(), given)
}

func (k kit) refusesQueries(t *testing.T, l teachers.Learner) {
	for shape, data := range map[string]teachers.Dataset{"trained": k.share, "single class": only(k.share, 1), "empty": empty(k.share)} {
		model := k.fit(t, l, data)
		x := clone(k.queries).X
		refuse := func(given string, dst []int, x teachers.Matrix) {
			t.Helper()
			refused(t, shape+": "+given, func() error { return model.Predict(dst, x) })
		}
		refuse("dst too short", make([]int, x.Rows-1), x)
		refuse("dst too long", make([]int, x.Rows+1), x)
		narrow := x
		narrow.Cols--
		refuse("too few features", make([]int, x.Rows), narrow)
		wide := stripes(x.Rows, k.Features+1, k.Classes, 2).X
		refuse("too many features", make([]int, x.Rows), wide)
		x.Data[5] = float32(math.NaN())
		refuse("NaN", make([]int, x.Rows), x)
		x.Data[5] = float32(math.Inf(1))
		refuse("infinity", make([]int, x.Rows), x)
		none := x
		none.Rows, none.Data = 0, nil
		assert.NoError(t, model.Predict(nil, none), "%s: no queries", shape)
	}
}

func (k kit) emptyShare(t *testing.T, l teachers.Learner) {
	answers := k.predict(t, k.fit(t, l, empty(k.share)), k.queries.X)
	assert.Equal(t, make([]int, len(answers)), answers, "an empty share must answer class 0")
}

func (k kit) singleClass(t *testing.T, l teachers.Learner) {
	for class := range k.Classes {
		data := only(k.share, class)
		for _, n := range []int{1, data.X.Rows} {
			few := teachers.Dataset{X: dense.Rows(data.X, 0, n), Y: data.Y[:n], Classes: k.Classes}
			answers := k.predict(t, k.fit(t, l, few), k.queries.X)
			assert.Equal(t, slices.Repeat([]int{class}, len(answers)), answers, "%d examples of class %d alone", n, class)
		}
	}
}

func (k kit) missingClasses(t *testing.T, l teachers.Learner) {
	data := clone(k.share)
	last := k.Classes - 1
	for i, y := range data.Y {
		if y != 0 {
			data.Y[i] = last
		}
	}
	k.predict(t, k.fit(t, l, data), k.queries.X)

	pair := dense.Pick(k.share.X, []int{slices.Index(k.share.Y, 0), slices.Index(k.share.Y, last)})
	k.predict(t, k.fit(t, l, teachers.Dataset{X: pair, Y: []int{0, last}, Classes: k.Classes}), k.queries.X)
}

func (k kit) stops(t *testing.T, l teachers.Learner) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	model, err := l.Fit(done, clone(k.share), k.random())
	assert.ErrorIs(t, err, context.Canceled, "Fit went on with a context that was over")
	assert.Nil(t, model)

	// Cancel while a fit is in progress. The data are large enough for that.
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer stop()
	start := time.Now()
	_, err = l.Fit(ctx, stripes(20*k.Examples, k.Features, k.Classes, 5), k.random())
	assert.Less(t, time.Since(start), k.Prompt, "Fit took long to stop")
	if err != nil { // the fit may have ended before the deadline
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

func (k kit) repeats(t *testing.T, l teachers.Learner) {
	r, ok := l.(teachers.Reproducible)
	if !ok || !r.Reproducible() {
		t.Skip("does not say that it is reproducible")
	}
	first := k.predict(t, k.fit(t, l, clone(k.share)), k.queries.X)
	for range 3 {
		assert.Equal(t, first, k.predict(t, k.fit(t, l, clone(k.share)), k.queries.X))
	}
	// A prediction depends only on its own row, not on the other rows of a call.
	model := k.fit(t, l, clone(k.share))
	for i := range 20 {
		one := dense.Rows(k.queries.X, i, i+1)
		assert.Equal(t, first[i], k.predict(t, model, one)[0], "query %d asked alone", i)
	}
}

func (k kit) concurrent(t *testing.T, l teachers.Learner) {
	const many = 4
	shares := make([]teachers.Dataset, many)
	alone := make([][]int, many)
	for i := range shares {
		shares[i] = stripes(k.Examples/2, k.Features, k.Classes, uint64(10+i))
		alone[i] = k.predict(t, k.fit(t, l, shares[i]), k.queries.X)
	}
	answers := make([][]int, many)
	var wg sync.WaitGroup
	for i := range shares {
		wg.Go(func() {
			model, err := l.Fit(context.Background(), shares[i], k.random())
			if !assert.NoError(t, err) {
				return
			}
			answers[i] = make([]int, k.queries.X.Rows)
			other := make([]int, k.queries.X.Rows)
			var both sync.WaitGroup
			both.Go(func() { assert.NoError(t, model.Predict(other, k.queries.X)) })
			assert.NoError(t, model.Predict(answers[i], k.queries.X))
			both.Wait()
		})
	}
	wg.Wait()
	if r, ok := l.(teachers.Reproducible); ok && r.Reproducible() {
		assert.Equal(t, alone, answers, "teachers trained at once differ from teachers trained alone")
	}
}

func (k kit) scores(t *testing.T, l teachers.Learner) {
	for _, data := range []teachers.Dataset{k.share, only(k.share, 1), empty(k.share)} {
		model := k.fit(t, l, data)
		scorer, ok := model.(teachers.Scorer)
		if !ok {
			t.Skip("gives no scores")
		}
		classes := k.predict(t, model, k.queries.X)
		dst := teachers.Matrix{Rows: k.queries.X.Rows, Cols: k.Classes, Stride: k.Classes + 1, Data: make([]float32, k.queries.X.Rows*(k.Classes+1))}
		require.NoError(t, scorer.Scores(dst, k.queries.X))
		for i, class := range classes {
			scores := dense.Row(dst, i)
			assert.False(t, math.IsNaN(float64(scores[class])))
			assert.Equal(t, slices.Max(scores), scores[class], "row %d: the class answered has not the best score", i)
		}
		dst.Cols--
		assert.Error(t, scorer.Scores(dst, k.queries.X), "scores for too few classes")
	}
}

// stripes returns random examples. Each class has its own block of features with mostly large values.
func stripes(n, features, classes int, seed uint64) teachers.Dataset {
	rnd := rand.New(rand.NewPCG(seed, 0x7465737473))
	data := teachers.Dataset{X: dense.New(n, features), Y: make([]int, n), Classes: classes}
	for i := range n {
		class := max(0, rnd.IntN(classes+1)-1)
		data.Y[i] = class
		for j := range features {
			bright := 0.15
			if j*classes/features == class {
				bright = 0.85
			}
			v := 0.25 * rnd.Float64()
			if rnd.Float64() < bright {
				v = 1 - v
			}
			data.X.Data[i*features+j] = float32(v)
		}
	}
	return data
}

func withStride(data teachers.Dataset, padding int) teachers.Dataset {
	x := data.X
	wide := teachers.Matrix{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols + padding, Data: make([]float32, x.Rows*(x.Cols+padding))}
	for i := range wide.Data {
		wide.Data[i] = float32(math.NaN())
	}
	for i := range x.Rows {
		copy(dense.Row(wide, i), dense.Row(x, i))
	}
	data.X = wide
	return data
}

func clone(data teachers.Dataset) teachers.Dataset {
	data.X.Data = slices.Clone(data.X.Data)
	data.Y = slices.Clone(data.Y)
	return data
}

func only(data teachers.Dataset, class int) teachers.Dataset {
	var rows, labels []int
	for i, y := range data.Y {
		if y == class {
			rows, labels = append(rows, i), append(labels, y)
		}
	}
	return teachers.Dataset{X: dense.Pick(data.X, rows), Y: labels, Classes: data.Classes}
}

func empty(data teachers.Dataset) teachers.Dataset {
	data.X.Rows, data.X.Data, data.Y = 0, nil, nil
	return data
}
