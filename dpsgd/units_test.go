package dpsgd

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
)

// inUnits cuts records into units of one to eight rows, without regard to the rest.
func inUnits(rnd *rand.Rand, data Data) Data {
	for end := 0; end < data.X.Rows; {
		end = min(data.X.Rows, end+1+rnd.IntN(8))
		data.Ends = append(data.Ends, end)
	}
	return data
}

// withoutUnit removes unit u, so that all later rows move.
func withoutUnit(data Data, blocks [][]int, u int) (Data, [][]int) {
	from := 0
	if u > 0 {
		from = data.Ends[u-1]
	}
	n := data.Ends[u] - from
	smaller := Data{Y: slices.Delete(slices.Clone(data.Y), from, from+n), X: blas32.General{Rows: data.X.Rows - n, Cols: data.X.Cols, Stride: data.X.Cols}}
	smaller.X.Data = slices.Delete(slices.Clone(data.X.Data), from*data.X.Stride, (from+n)*data.X.Stride)
	for i, end := range data.Ends {
		switch {
		case i < u:
			smaller.Ends = append(smaller.Ends, end)
		case i > u:
			smaller.Ends = append(smaller.Ends, end-n)
		}
	}
	return smaller, withoutIndex(blocks, u)
}

// TestUnitsDifferByAtMostTheSensitivity checks that the integer sums of neighbours differ by
// no more than the noise is for, whatever the rows of the unit are and however sums round.
// The controls clip each row and add them up, or take means that are not clipped.
func TestUnitsDifferByAtMostTheSensitivity(t *testing.T) {
	worstOf := func(worlds int, of func(*Softmax) Model) (ratio float64) {
		rnd := rand.New(rand.NewPCG(5, 2))
		for range worlds {
			softmax, data, _ := world(rnd)
			data = inUnits(rnd, data)
			model, clip, multiplier := of(softmax), []float64{1e-3, 1, 30}[rnd.IntN(3)], []float64{0.5, 50}[rnd.IntN(2)]
			g := gridOf(t, multiplier, clip, len(softmax.parameters), data.Records(), 0)
			blocks := make([][]int, 1+rnd.IntN(3)) // some too large to be summed at once
			for u := range data.Records() {
				b := rnd.IntN(len(blocks))
				blocks[b] = append(blocks[b], u)
			}
			whole := sumOf(t, model, data, FlatClip(clip), g.perUnit, blocks...)
			for range 8 {
				smaller, moved := withoutUnit(data, blocks, rnd.IntN(data.Records()))
				d := distance(whole, sumOf(t, model, smaller, FlatClip(clip), g.perUnit, moved...))
				ratio = math.Max(ratio, d*multiplier/g.sigma)
			}
		}
		return ratio
	}
	ratio := worstOf(60, func(m *Softmax) Model { return unitModel{m} })
	require.LessOrEqual(t, ratio, 1.0)
	require.Greater(t, ratio, 0.99)
	require.Greater(t, worstOf(20, func(m *Softmax) Model { return addedRows{unitModel{m}} }), 2.0)
}

// addedRows is the control that clips every row of a unit by itself.
type addedRows struct{ unitModel }

func (m addedRows) Worker() Worker { return addedRowsWorker{m.Model.Worker()} }

type addedRowsWorker struct{ Worker }

func (w addedRowsWorker) AddClipped(sum []float32, data Data, records []int, clip Clip) (tally Tally) {
	for _, u := range records {
		for r := data.Ends[u] - 1; r >= 0 && (u == 0 || r >= data.Ends[u-1]); r-- {
			one := make([]float32, len(sum))
			tally.add(w.Worker.AddClipped(one, data, []int{r}, clip))
			for j, v := range one {
				sum[j] += v
			}
		}
	}
	return tally
}

// TestAUnitContributesItsClippedMean states what one unit adds.
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

// TestUnitsTrain trains on units, on any number of goroutines, with and without a stop, on
// units of one row about as on rows, and measures distances between units.
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
	_, err := train(ctx, t, newSoftmax(6, 3), d, cfg, rng.SeedKey(1))
	require.ErrorIs(t, err, context.Canceled)
	again, _ := trained(t, d, cfg, 1)
	require.Equal(t, want.Parameters(), again.Parameters())

	single, rows := clouds(200, 6), clouds(200, 6)
	for i := range 200 {
		single.Ends = append(single.Ends, i+1)
	}
	perUnit, perRow := gradientOf(forRecords(again, single), single, 0, 7, 9), gradientOf(again, rows, 0, 7, 9)
	for j := range perRow {
		require.InDelta(t, perRow[j], perUnit[j], 1e-5)
	}
	measured, err := MeasureDistances(again, d, []int{0, 199}, FlatClip(0.1), Batches)
	require.NoError(t, err)
	require.Len(t, measured, 2)
	_, err = MeasureDistances(again, d, []int{200}, FlatClip(0.1), Batches)
	require.ErrorContains(t, err, "record 200 is not one of 200")
}

// TestUnitsAreRefused checks ends that are no cut of the rows into units, before the charge.
func TestUnitsAreRefused(t *testing.T) {
	many := Data{X: dense.New(MaxRows+2, 1), Y: make([]int, MaxRows+2)}
	for name, ends := range map[string][]int{
		"none": {}, "too few": {1, 5}, "too many": {1, MaxRows + 3}, "an empty one": {1, 1, MaxRows + 2}, "back": {2, 1, MaxRows + 2},
		"too long": {MaxRows + 1, MaxRows + 2}, "negative": {-1, MaxRows + 2},
	} {
		many.Ends = ends
		cfg := SumConfig{ClipNorm: 1, NoiseMultiplier: 1}
		r := reserveEvent(t, cfg.Event())
		_, err := Sum(t.Context(), newToy(), many, cfg, r, rng.SeedKey(1))
		require.ErrorContains(t, err, "record", name)
	}
	many.Ends = []int{MaxRows, MaxRows + 2}
	require.NoError(t, many.validate())
}
