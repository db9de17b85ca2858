package dpsgd

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

type scaling struct{ most float64 }

func (s scaling) Check(Data) error    { return nil }
func (s scaling) Fingerprint() []byte { return []byte("scaling") }
func (s scaling) Draw(rnd *rand.Rand) func(dst, src []float32) {
	by := float32(1 + (s.most-1)*rnd.Float64())
	return func(dst, src []float32) {
		for j, v := range src {
			dst[j] = by * v
		}
	}
}

func augmentedSoftmax(views int) func(m *Softmax) Model {
	return func(m *Softmax) Model {
		a, err := Augment(m, views, scaling{3}, 7)
		if err != nil {
			panic(err)
		}
		return a
	}
}

func gradientOf(m Model, d Data, rows ...int) []float32 {
	sum := make([]float32, len(m.Parameters()))
	w := m.Worker()
	w.Start()
	w.AddClipped(sum, d, rows, FlatClip(math.Inf(1)))
	return sum
}

func TestAugmentClipsTheMeanOverViews(t *testing.T) {
	d := clouds(20, 5)
	m := newSoftmax(5, 3)
	rnd := rand.New(rand.NewPCG(1, 8))
	m.parameters = testkit.Series(18, func(int) float32 { return float32(rnd.NormFloat64()) })
	const views = 4
	a := augmentedSoftmax(views)(m)
	w := a.Worker().(*augmentedWorker)
	w.Start()
	for r := range d.Y {
		mean := make([]float64, 18)
		for _, draw := range w.draws {
			view := Data{X: dense.New(1, 5), Y: d.Y[r : r+1]}
			draw(view.X.Data, dense.Row(d.X, r))
			for j, v := range gradientOf(m, view, 0) {
				mean[j] += float64(v) / views
			}
		}
		norm := normOf(mean)
		for _, clip := range []float64{0.1, 1, 100} {
			sum := make([]float32, 18)
			tally := w.AddClipped(sum, d, []int{r}, FlatClip(clip))
			require.Equal(t, norm > clip, tally.Clipped == 1)
			for j, v := range sum {
				require.InDelta(t, mean[j]*math.Min(1, clip/norm), v, 1e-5)
			}
		}
	}
	one := gradientOf(a, d, 3)
	require.Equal(t, one, gradientOf(a, d, 3), "the views of a step do not change")
	m.parameters[0]++
	changed := a.Worker().(*augmentedWorker)
	changed.Start()
	x := []float32{1}
	var before, after [1]float32
	w.draws[0](before[:], x)
	changed.draws[0](after[:], x)
	require.NotEqual(t, before, after, "those of the next step do")
}

// TestAugmentKeepsTheSensitivity checks that neighbours, of records of all sizes, differ by no more than
// without views. The control clips each view and adds them, and exceeds the bound.
func TestAugmentKeepsTheSensitivity(t *testing.T) {
	ratio := worst(t, 40, augmentedSoftmax(3), sigmaOf)
	require.LessOrEqual(t, ratio, 1.0)
	require.Greater(t, ratio, 0.99)

	eachView := func(w Worker, sum []float32, data Data, rows []int, clip Clip) (tally Tally) {
		for range 3 {
			one := make([]float32, len(sum))
			tally = w.AddClipped(one, data, rows, clip)
			for j, v := range one {
				sum[j] += v
			}
		}
		return tally
	}
	require.Greater(t, worst(t, 40, broken(eachView), sigmaOf), 1.5)
}

// The law of a step with views is within the claim. The control clips three views one by one and is not.
func TestSmallWorldsOfAugmentation(t *testing.T) {
	const q, clip, z = 0.25, 0.5, 1.2
	worlds := []Data{pairs(9, 1), pairs(0.1, 0.2, -9, 3, 0.3, 0)}
	s := setting{noiseMultiplier: z, clip: FlatClip(clip)}
	ratio := closest(t, testkit.Must(Augment(newPair(1, 1), 3, scaling{2}, 1)), worlds, q, s, z, bothParameters)
	require.LessOrEqual(t, ratio, 1+1e-9)
	require.Greater(t, ratio, 0.98)
	control := newPair(1, 1)
	one := control.add
	control.add = func(sum []float32, data Data, rows []int, clip Clip) (tally Tally) {
		for range 3 {
			tally = one(sum, data, rows, clip)
		}
		return tally
	}
	require.Greater(t, closest(t, control, worlds, q, s, z, bothParameters), 2.0)
}

func TestAugmentSums(t *testing.T) {
	d := clouds(MaxRows, 5)
	a := augmentedSoftmax(2)(newSoftmax(5, 3))
	difference, norms := make([]float64, 18), 0.0
	for r := range d.Y {
		one := gradientOf(a, d, r)
		norms += normOf(one)
		for j, v := range one {
			difference[j] += float64(v)
		}
	}
	for j, v := range gradientOf(a, d, upTo(MaxRows)...) {
		difference[j] -= float64(v)
	}
	require.LessOrEqual(t, normOf(difference), 64*unit24*norms)

	w := testkit.Must(Augment(newPair(1, 1), 2, scaling{1}, 1)).Worker()
	w.Start()
	sum := make([]float32, 2)
	tally := w.AddClipped(sum, pairs(9, -0.25), []int{0}, Clip{Norms: []float64{0.5, 1}})
	require.Equal(t, []float32{0.5, -0.25}, sum)
	require.Equal(t, int64(1), tally.Clipped)
}

func TestAugmentCountsWhatIsNotFinite(t *testing.T) {
	d := clouds(4, 5)
	dense.Row(d.X, 1)[2] = math.MaxFloat32 // times more than 1 is infinite
	w := augmentedSoftmax(3)(newSoftmax(5, 3)).Worker()
	w.Start()
	sum := make([]float32, 18)
	require.Equal(t, int64(1), w.AddClipped(sum, d, []int{1}, FlatClip(1)).NonFinite)
	require.Equal(t, make([]float32, 18), sum)
	tally := w.AddClipped(sum, d, []int{0, 1, 2}, FlatClip(1))
	require.Equal(t, int64(1), tally.NonFinite)
	require.InDelta(t, 2*math.Log(3), tally.Loss, 1e-5)
}

func TestAugmentRefuses(t *testing.T) {
	m := newSoftmax(6, 3)
	for _, views := range []int{0, -1, MaxRows + 1} {
		require.ErrorContains(t, testkit.Err(Augment(m, views, scaling{2}, 1)), "views")
	}
	require.Error(t, testkit.Err(Augment(m, 2, nil, 1)))
	require.Error(t, testkit.Err(Augment(nil, 2, scaling{2}, 1)))
	seen := map[string]bool{}
	for _, c := range []struct {
		views int
		seed  uint64
		way   Transform
	}{{2, 1, scaling{2}}, {3, 1, scaling{2}}, {2, 2, scaling{2}}, {2, 1, Shift{1, 2, 3, 1, false}}, {2, 1, Shift{1, 2, 3, 1, true}}} {
		a := testkit.Must(Augment(m, c.views, c.way, c.seed))
		require.False(t, seen[string(a.Fingerprint())])
		seen[string(a.Fingerprint())] = true
	}
	require.NoError(t, testkit.Must(Augment(m, 2, Shift{1, 2, 3, 1, false}, 1)).Check(clouds(5, 6)))
	for _, bad := range []Shift{{1, 2, 2, 1, false}, {0, 2, 3, 1, false}, {1, 2, 3, 2, false}, {1, 2, 3, -1, false}} {
		require.ErrorContains(t, testkit.Must(Augment(m, 2, bad, 1)).Check(clouds(5, 6)), "Shift")
	}
}

func TestShift(t *testing.T) {
	s := Shift{Planes: 2, Rows: 3, Cols: 3, By: 2, Flip: true}
	src := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	dst := make([]float32, 18)
	s.move(dst, src, 0, 0, false)
	require.Equal(t, src, dst)
	s.move(dst, src, 1, -1, false)
	require.Equal(t, []float32{0, 0, 0, 2, 3, 0, 5, 6, 0, 0, 0, 0, 12, 13, 0, 15, 16, 0}, dst)
	s.move(dst, src, -2, 1, false)
	require.Equal(t, []float32{0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 17, 18, 0, 0, 0, 0, 0, 0}, dst)
	s.move(dst, src, 0, 0, true)
	require.Equal(t, []float32{3, 2, 1, 6, 5, 4, 9, 8, 7, 13, 12, 11, 16, 15, 14, 19, 18, 17}, dst)
	// Every shift is drawn as often as the others: 50 of them, false-alarm rate below 1e-6.
	counts := map[float32]int{}
	probe := make([]float32, 25)
	probe[12], probe[13] = 1, 2 // the middle, and right of it
	s = Shift{Planes: 1, Rows: 5, Cols: 5, By: 2, Flip: true}
	out := make([]float32, 25)
	const draws = 20000
	for i := range uint64(draws) {
		s.Draw(rand.New(rand.NewPCG(i, 1)))(out, probe)
		at := slices.Index(out, 1)
		counts[float32(at)]++
	}
	require.Len(t, counts, 25)
	for _, n := range counts {
		require.InDelta(t, draws/25, n, 5.5*math.Sqrt(draws/25))
	}
}

// inUnits cuts records into units of one to eight rows, without regard to the rest.
func inUnits(rnd *rand.Rand, data Data) Data {
	for end := 0; end < data.X.Rows; {
		end = min(data.X.Rows, end+1+rnd.IntN(8))
		data.Ends = append(data.Ends, end)
	}
	return data
}

// worldOfUnits is a world of units, dealt to blocks of which some are too large to be summed at once.
func worldOfUnits(rnd *rand.Rand) (*Softmax, Data, [][]int) {
	model, data, _ := world(rnd)
	data = inUnits(rnd, data)
	blocks := make([][]int, 1+rnd.IntN(3))
	for u := range data.Records() {
		b := rnd.IntN(len(blocks))
		blocks[b] = append(blocks[b], u)
	}
	return model, data, blocks
}

// The integer sums of neighbours differ by no more than the noise is for, whatever the rows of the unit are
// and however sums round. The controls clip each row and add them up, or take means that are not clipped.
func TestUnitsDifferByAtMostTheSensitivity(t *testing.T) {
	ratio := worstOf(t, 60, worldOfUnits, func(m *Softmax) Model { return unitModel{m} }, sigmaOf)
	require.LessOrEqual(t, ratio, 1.0)
	require.Greater(t, ratio, 0.99)
	eachRow := func(w Worker, sum []float32, data Data, records []int, clip Clip) (tally Tally) {
		for _, u := range records {
			for r := data.Ends[u] - 1; r >= 0 && (u == 0 || r >= data.Ends[u-1]); r-- {
				one := make([]float32, len(sum))
				tally.add(w.AddClipped(one, data, []int{r}, clip))
				for j, v := range one {
					sum[j] += v
				}
			}
		}
		return tally
	}
	require.Greater(t, worstOf(t, 20, worldOfUnits, broken(eachRow), sigmaOf), 2.0)
}

func TestAUnitContributesItsClippedMean(t *testing.T) {
	w := forRecords(newToy(), Data{Ends: []int{}}).Worker()
	w.Start()
	data := unitsOf([]float32{0.5, 1, 0}, []float32{7, 8, -3}, []float32{-9}, []float32{1, float32(math.NaN())})
	for u, want := range []float32{0.5, 1, -1, 0} {
		sum := make([]float32, 1)
		tally := w.AddClipped(sum, data, []int{u}, FlatClip(1))
		require.Equal(t, want, sum[0])
		require.Equal(t, u == 3, tally.NonFinite == 1)
		require.Equal(t, u == 1 || u == 2, tally.Clipped == 1)
	}
	groups := forRecords(newPair(1, 1), Data{Ends: []int{}})
	require.Equal(t, []int{1, 1}, groups.(Grouped).Groups())
}

func TestUnitsTrain(t *testing.T) {
	d := clouds(600, 6)
	for end := 3; end <= 600; end += 3 {
		d.Ends = append(d.Ends, end)
	}
	require.Equal(t, 200, d.Records())
	cfg := usual
	cfg.Records = 200
	var distances int
	cfg.Distances = Distances{Observe: func(s StepDistances) {
		distances += len(s.Values)
		require.LessOrEqual(t, slices.Max(s.Values), s.Bound*(1+1e-6))
	}}
	want, _ := trained(t, d, cfg, 1)
	require.Positive(t, distances)
	require.Greater(t, accuracy(t, want, d), 0.9)
	cfg.Distances, cfg.Workers, cfg.Checkpoint, cfg.CheckpointEvery = Distances{}, 3, filepath.Join(t.TempDir(), "c"), 2
	ctx, stop := context.WithCancel(t.Context())
	cfg.Observe = func(m Metrics) {
		if m.Step == 5 {
			stop()
		}
	}
	require.ErrorIs(t, testkit.Err(train(ctx, t, newSoftmax(6, 3), d, cfg, rng.SeedKey(1))), context.Canceled)
	again, _ := trained(t, d, cfg, 1)
	require.Equal(t, want.Parameters(), again.Parameters())

	single, rows := clouds(200, 6), clouds(200, 6)
	for i := range 200 {
		single.Ends = append(single.Ends, i+1)
	}
	perUnit, perRow := gradientOf(forRecords(again, single), single, 0, 7, 9), gradientOf(again, rows, 0, 7, 9)
	require.InDeltaSlice(t, perRow, perUnit, 1e-5)
	require.Len(t, testkit.Must(MeasureDistances(again, d, []int{0, 199}, FlatClip(0.1), Batches)), 2)
	_, err := MeasureDistances(again, d, []int{200}, FlatClip(0.1), Batches)
	require.ErrorContains(t, err, "record 200 is not one of 200")
}

func TestUnitsAreRefused(t *testing.T) {
	many := Data{X: dense.New(MaxRows+2, 1), Y: make([]int, MaxRows+2)}
	for name, ends := range map[string][]int{
		"none": {}, "too few": {1, 5}, "too many": {1, MaxRows + 3}, "an empty one": {1, 1, MaxRows + 2}, "back": {2, 1, MaxRows + 2},
		"too long": {MaxRows + 1, MaxRows + 2}, "negative": {-1, MaxRows + 2},
	} {
		many.Ends = ends
		cfg := SumConfig{ClipNorm: 1, NoiseMultiplier: 1}
		r := reserveEvent(t, cfg.Event())
		require.ErrorContains(t, testkit.Err(Sum(t.Context(), newToy(), many, cfg, r, rng.SeedKey(1))), "record", name)
	}
	many.Ends = []int{MaxRows, MaxRows + 2}
	require.NoError(t, many.validate())
}
