package dpsgd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// without removes record r, a row or a unit, from data, so that all later rows move to other indices and
// addresses. It also removes r from its block. The other records stay in their blocks.
func without(data Data, blocks [][]int, r int) (Data, [][]int) {
	from, to := r, r+1
	if data.Ends != nil {
		if from, to = 0, data.Ends[r]; r > 0 {
			from = data.Ends[r-1]
		}
	}
	x := blas32.General{Rows: data.X.Rows - (to - from), Cols: data.X.Cols, Stride: data.X.Cols + 1}
	x.Data = make([]float32, x.Rows*x.Stride)
	smaller := Data{X: x}
	for i, y := range data.Y {
		if i < from || i >= to {
			copy(dense.Row(x, len(smaller.Y)), dense.Row(data.X, i))
			smaller.Y = append(smaller.Y, y)
		}
	}
	for u, end := range data.Ends {
		if u < r {
			smaller.Ends = append(smaller.Ends, end)
		} else if u > r {
			smaller.Ends = append(smaller.Ends, end-(to-from))
		}
	}
	moved := make([][]int, len(blocks))
	for b, rows := range blocks {
		for _, i := range rows {
			if i < r {
				moved[b] = append(moved[b], i)
			} else if i > r {
				moved[b] = append(moved[b], i-1)
			}
		}
	}
	return smaller, moved
}

func distance(a, b []int64) float64 {
	d := testkit.Series(len(a), func(j int) float64 { return float64(a[j] - b[j]) })
	return normOf(d)
}

// world returns a random training set with adversarial magnitudes, dealt to blocks around
// the size where summation changes.
func world(rnd *rand.Rand) (*Softmax, Data, [][]int) {
	cols, classes := []int{1, 7, 40}[rnd.IntN(3)], 2+rnd.IntN(3)
	model := newSoftmax(cols, classes)
	spread := math.Exp(4 * rnd.NormFloat64())
	model.parameters = testkit.Series((cols+1)*classes, func(int) float32 { return float32(rnd.NormFloat64() * spread) })
	var blocks [][]int
	n := 0
	group := groupingOf(len(model.parameters))
	for _, size := range []int{rnd.IntN(5), group.rows - 1 + rnd.IntN(3), group.limit - 1 + rnd.IntN(3), rnd.IntN(group.limit + 4)} {
		blocks = append(blocks, upTo(n + size)[n:])
		n += size
	}
	data := Data{X: dense.New(n, cols), Y: make([]int, n)}
	alike := rnd.IntN(2) == 0 // one direction: rounding errors add up
	for i := range n {
		x := dense.Row(data.X, i)
		size := math.Exp(rnd.NormFloat64() * 20)
		for j := range x {
			x[j] = float32(size * rnd.NormFloat64())
			if alike {
				x[j] = 1 + 0.3*float32(j%3)
			}
		}
		switch rnd.IntN(20) {
		case 0:
			x[0] = float32(math.NaN())
		case 1:
			x[0] = float32(math.Inf(1))
		case 2:
			clear(x)
		case 3:
			x[0] = math.MaxFloat32
		}
		data.Y[i] = rnd.IntN(classes)
		if alike {
			data.Y[i] = 0
		}
	}
	return model, data, blocks
}

// worst returns the largest distance of the integer sums of neighbours over
// many worlds, as a fraction of what the noise covers: sigma/NoiseMultiplier.
func worst(t *testing.T, worlds int, wrap func(*Softmax) Model, sigma func(noiseMultiplier, clip float64, g grid) float64) float64 {
	return worstOf(t, worlds, world, wrap, sigma)
}

func worstOf(t *testing.T, worlds int, world func(*rand.Rand) (*Softmax, Data, [][]int), wrap func(*Softmax) Model,
	sigma func(noiseMultiplier, clip float64, g grid) float64) float64 {
	rnd := rand.New(rand.NewPCG(5, 1))
	ratio := 0.0
	for range worlds {
		model, data, blocks := world(rnd)
		clip := []float64{1e-3, 0.1, 1, 30}[rnd.IntN(4)]
		multiplier := []float64{0.5, 4, 50}[rnd.IntN(3)]
		g := gridOf(t, multiplier, clip, len(model.parameters), data.Records(), 0)
		whole := sumOf(t, wrap(model), data, FlatClip(clip), g.perUnit, blocks...)
		for range 8 {
			smaller, moved := without(data, blocks, rnd.IntN(data.Records()))
			d := distance(whole, sumOf(t, wrap(model), smaller, FlatClip(clip), g.perUnit, moved...))
			ratio = math.Max(ratio, d*multiplier/sigma(multiplier, clip, g))
		}
	}
	return ratio
}

func softmaxItself(m *Softmax) Model        { return m }
func sigmaOf(_, _ float64, g grid) float64  { return g.sigma }
func unscaled(m, _ float64, g grid) float64 { return m * g.perUnit }

// broken returns softmax regression with another way to clip, which is given the right worker.
func broken(f func(w Worker, sum []float32, data Data, rows []int, clip Clip) Tally) func(m *Softmax) Model {
	return func(m *Softmax) Model { return brokenModel{m, f} }
}

type brokenModel struct {
	*Softmax
	f func(w Worker, sum []float32, data Data, rows []int, clip Clip) Tally
}

func (m brokenModel) Worker() Worker {
	w := m.Softmax.Worker()
	return fakeWorker{func(sum []float32, data Data, rows []int, clip Clip) Tally { return m.f(w, sum, data, rows, clip) }}
}

func TestNeighboursDifferByAtMostTheSensitivity(t *testing.T) {
	ratio := worst(t, 300, softmaxItself, sigmaOf)
	require.LessOrEqual(t, ratio, 1.0)
	require.Greater(t, ratio, 0.99, "the worlds do not reach a record of full norm")

	noClip := func(w Worker, sum []float32, data Data, rows []int, _ Clip) Tally {
		return w.AddClipped(sum, data, rows, FlatClip(1e6))
	}
	clipOfMean := func(w Worker, sum []float32, data Data, rows []int, clip Clip) Tally {
		tally := w.AddClipped(sum, data, rows, FlatClip(1e6))
		scale := math.Min(1, clip.Norm()*float64(len(rows))/normOf(sum))
		for j := range sum {
			sum[j] *= float32(scale)
		}
		return tally
	}
	weightsOnly := func(w Worker, sum []float32, data Data, rows []int, clip Clip) Tally {
		tally := w.AddClipped(sum, data, rows, clip)
		for j := range sum[:len(sum)/2] {
			sum[j] *= 1.1
		}
		return tally
	}
	for _, control := range []struct {
		name  string
		model func(*Softmax) Model
		sigma func(float64, float64, grid) float64
	}{
		{"no clipping", broken(noClip), sigmaOf},
		{"the mean is clipped", broken(clipOfMean), sigmaOf},
		{"a tenth too much for some parameters", broken(weightsOnly), sigmaOf},
		{"noise without the clip norm", softmaxItself, unscaled},
	} {
		require.Greater(t, worst(t, 60, control.model, control.sigma), 1.0, control.name)
	}
}

func TestRowByRowBlocks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 1))
	for range 5 {
		model, data, _ := world(rnd)
		g := gridOf(t, 4, 1, len(model.parameters), data.X.Rows, 0)
		all, total := upTo(data.X.Rows), make([]int64, len(model.parameters))
		for i := range all {
			for j, v := range sumOf(t, model, data, FlatClip(1), g.perUnit, []int{i}) {
				total[j] += v
			}
		}
		require.Greater(t, len(all), groupingOf(len(total)).limit)
		require.Equal(t, total, sumOf(t, model, data, FlatClip(1), g.perUnit, all))
	}
}

func TestGrid(t *testing.T) {
	for _, multiplier := range []float64{0x1p-10, 0.3, 1, 4.07, 100, 0x1p20} {
		for _, clip := range []float64{0x1p-40, 0.1, 1, 0x1p40} {
			for _, parameters := range []int{1, 23050, 1e6} {
				name := fmt.Sprint(multiplier, clip, parameters)
				g, err := newGrid(multiplier, clip, parameters, 60000, 0)
				require.NoError(t, err, name)
				require.GreaterOrEqual(t, g.sigma, 0x1p32, name)
				require.LessOrEqual(t, g.sigma, 0x1p40, name)
				require.GreaterOrEqual(t, g.sigma, multiplier*g.sensitivity, name)
				require.Equal(t, gridOf(t, multiplier, 1, parameters, 60000, 0).sigma, g.sigma, "a clip norm that moves needs one sampler")
				require.Zero(t, math.Float64bits(g.perUnit)&(1<<29-1), name)
				// The noise is larger than NoiseMultiplier ClipNorm by at most this factor.
				most := 1.0021
				switch {
				case multiplier > 100:
					most = 2
				case parameters > 1<<16:
					most = 1.0031
				}
				require.Less(t, g.sigma/(multiplier*clip*g.perUnit), most, name)
				require.GreaterOrEqual(t, g.sigma/(multiplier*clip*g.perUnit), 1.0, name)
				// Check the sum of a piece, and the whole sum.
				require.Less(t, MaxRows*clip*g.perUnit, 0x1p51, name)
			}
		}
	}
	require.ErrorContains(t, testkit.Err(newGrid(0x1p-10, 1, 10, 1<<40, 0)), "NoiseMultiplier")
	require.ErrorContains(t, testkit.Err(newGrid(0x1p20, 1, 1e9, 10, 0)), "NoiseMultiplier")
}

// newWide returns a model with many parameters, so that whole groups of MaxRows are summed at a time, in runs
// of so many rows. Its gradient is the record's columns over and over.
func newWide(rowsOfRun int) fake {
	return fake{parameters: make([]float32, 1<<16+8), add: func(sum []float32, data Data, rows []int, clip Clip) (tally Tally) {
		run := make([]float32, len(sum))
		for i, r := range rows {
			x := dense.Row(data.X, r)
			scale, clipped := clip.Scale(0, normOf(x[:8])*math.Sqrt(float64(len(sum)/8)))
			if clipped {
				tally.Clipped++
			}
			var part [8]float32
			for j := range part {
				part[j] = float32(scale * float64(x[j]))
			}
			for j := range run {
				run[j] += part[j%8]
			}
			if (i+1)%rowsOfRun == 0 || i == len(rows)-1 {
				for j, v := range run {
					sum[j] += v
				}
				clear(run)
			}
		}
		return tally
	}}
}

func TestNeighboursOfLargeModels(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 1))
	m := newWide(32)
	require.Equal(t, grouping{MaxRows, MaxRows}, groupingOf(len(m.parameters)))
	ratio := 0.0
	for _, size := range []int{1, MaxRows - 1, MaxRows, MaxRows + 1} {
		data := Data{X: dense.New(size, 8), Y: make([]int, size)}
		for i := range data.X.Data {
			data.X.Data[i] = 1 + float32(i%8)/7
		}
		const clip, multiplier = 0.7, 2
		g := gridOf(t, multiplier, clip, len(m.parameters), size, 0)
		whole := sumOf(t, m, data, FlatClip(clip), g.perUnit, upTo(size))
		smaller, moved := without(data, [][]int{upTo(size)}, rnd.IntN(size))
		d := distance(whole, sumOf(t, m, smaller, FlatClip(clip), g.perUnit, moved...))
		ratio = math.Max(ratio, d*multiplier/g.sigma)
	}
	require.LessOrEqual(t, ratio, 1.0)
	require.Greater(t, ratio, 0.99)
}

func released(t *testing.T, m Model, d Data, cfg SumConfig, seed uint64) SumResult {
	return testkit.Must(Sum(t.Context(), m, d, cfg, reserveEvent(t, cfg.Event()), rng.SeedKey(seed)))
}

func TestSumIsTheClippedSum(t *testing.T) {
	m := newToy()
	data := column(0.25, -9, 0.5, float32(math.Inf(1)))
	cfg := SumConfig{ClipNorm: 1, NoiseMultiplier: 0x1p-10}
	result := released(t, m, data, cfg, 1)
	require.InDelta(t, -0.25, result.Sum[0], 6*0x1p-10)
	require.NotEqual(t, -0.25, result.Sum[0], "there is noise")
	require.Equal(t, accountant.Gaussian{NoiseMultiplier: 0x1p-10}, result.Event)
	require.False(t, result.Releasable)
	require.Equal(t, Diagnostics{Sampled: 4, Clipped: 1, NonFinite: 1}, result.Diagnostics)
	require.Zero(t, m.parameters[0], "nothing is trained")
}

// TestSumNoise checks that the noise of a sum has the claimed size. The relative standard
// error of the estimate is 1/sqrt(2 P), the false-alarm rate 1e-6.
func TestSumNoise(t *testing.T) {
	const cols = 10000
	m := newSoftmax(cols, 2)
	data := clouds(1, cols)
	data.Y[0] = 0
	dense.Row(data.X, 0)[0] = float32(math.NaN())
	cfg := SumConfig{ClipNorm: 0.3, NoiseMultiplier: 1.7}
	sum := released(t, m, data, cfg, 1).Sum
	n := float64(len(sum))
	require.InEpsilon(t, 1.7*0.3*1.0005, normOf(sum)/math.Sqrt(n), 4.9/math.Sqrt(2*n))
	require.Equal(t, sum, released(t, m, data, cfg, 1).Sum)
	require.NotEqual(t, sum, released(t, m, data, cfg, 2).Sum)
	data.X.Data[1]++
	require.NotEqual(t, sum, released(t, m, data, cfg, 1).Sum, "other data meets other noise")
}

func TestSumChargesFirst(t *testing.T) {
	m := newToy()
	cfg := SumConfig{ClipNorm: 1, NoiseMultiplier: 1}
	sum := func(cfg SumConfig, r *ledger.Reservation, key rng.Key) error {
		return testkit.Err(Sum(t.Context(), m, column(1), cfg, r, key))
	}
	require.ErrorIs(t, sum(cfg, nil, rng.SeedKey(1)), ledger.ErrNotReserved)
	require.ErrorIs(t, sum(cfg, reserveEvent(t, accountant.Gaussian{NoiseMultiplier: 2}), rng.SeedKey(1)), ledger.ErrNotReserved)
	r := reserveEvent(t, cfg.Event())
	require.ErrorContains(t, sum(cfg, r, rng.Key{}), "key")
	require.NoError(t, sum(cfg, r, rng.SeedKey(1)), "a refused run uses no reservation")
	require.ErrorIs(t, sum(cfg, r, rng.SeedKey(1)), ledger.ErrNotReserved)
	for field, bad := range map[string]SumConfig{
		"ClipNorm":        {ClipNorm: math.NaN(), NoiseMultiplier: 1},
		"NoiseMultiplier": {ClipNorm: 1},
		"Workers":         {ClipNorm: 1, NoiseMultiplier: 1, Workers: -1},
	} {
		require.ErrorContains(t, sum(bad, reserveEvent(t, cfg.Event()), rng.SeedKey(1)), "SumConfig."+field+" ")
	}
}

// TestTrainFitsItsLedger checks the relation. The event of DP-SGD is for a record added or removed.
// Replacing one costs more, so a ledger of that relation does not take the charge.
func TestTrainFitsItsLedger(t *testing.T) {
	secret := testkit.Must(rng.NewKey())
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 50, ClipNorm: 1, Steps: 1, LearningRate: 1}
	for name, c := range map[string]struct {
		relation accountant.Relation
		noise    ledger.Noise
		key      rng.Key
		fits     bool
	}{
		"add_remove":  {accountant.AddRemove, ledger.SecretNoise, secret, true},
		"replace_one": {accountant.ReplaceOne, ledger.SecretNoise, secret, false},
		"seed":        {accountant.AddRemove, ledger.SecretNoise, rng.SeedKey(1), false},
		"experiment":  {accountant.AddRemove, ledger.SeededNoise, rng.SeedKey(1), true},
	} {
		t.Run(name, func(t *testing.T) {
			l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: c.relation, Epsilon: 1e9, Delta: 1e-5, Noise: c.noise}))
			r, err := l.Reserve(cfg.Event())
			if c.relation == accountant.ReplaceOne {
				require.ErrorIs(t, err, accountant.ErrUnsupportedEvent)
				return // nothing to train on
			}
			require.NoError(t, err)
			m := newToy()
			_, err = Train(t.Context(), m, column(0.25, 0.25), cfg, r, c.key)
			if c.fits {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ledger.ErrUnfit)
			require.Zero(t, m.parameters[0])
		})
	}
}

// TestReleasesRefuseReplacedRecords checks sums and Laplace noise, which are for records added or removed
// as well. A ledger of the other relation can hold their events, at half of what a replaced record costs.
// So it is the release that refuses, before it reads a record.
func TestReleasesRefuseReplacedRecords(t *testing.T) {
	key := testkit.Must(rng.NewKey())
	sum := SumConfig{ClipNorm: 1, NoiseMultiplier: 2}
	laplace := Config{SamplingProbability: 1, NoiseMultiplier: 2, ClipNorm: 1, Steps: 1, LearningRate: 1, Laplace: true}
	for name, c := range map[string]struct {
		event accountant.Event
		run   func(Model, *ledger.Reservation) error
	}{
		"sum": {sum.Event(), func(m Model, r *ledger.Reservation) error {
			return testkit.Err(Sum(t.Context(), m, column(0.25), sum, r, key))
		}},
		"laplace": {laplace.Event(), func(m Model, r *ledger.Reservation) error {
			return testkit.Err(Train(t.Context(), m, column(0.25), laplace, r, key))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			event := c.event
			on := func(relation accountant.Relation, m Model, method accountant.Method) error {
				l, err := ledger.New(ledger.Config{Unit: "record", Relation: relation, Epsilon: 1e9, Delta: 1e-5, Noise: ledger.SecretNoise, Accountant: method})
				require.NoError(t, err)
				return c.run(m, testkit.Must(l.Reserve(event)))
			}
			m := newToy()
			require.ErrorIs(t, on(accountant.ReplaceOne, m, accountant.ByRDP), ledger.ErrUnfit)
			require.ErrorIs(t, on(accountant.AddRemove, m, accountant.ByAuto), ledger.ErrUnfit, "integer noise has a privacy loss distribution of its own")
			require.Zero(t, m.parameters[0])
			require.NoError(t, on(accountant.AddRemove, m, accountant.ByRDP))

			if name == "sum" { // a failure in the charge covers integer noise, if it is large enough
				event = accountant.WithFailure{Event: c.event, Delta: 1e-22}
				require.ErrorIs(t, on(accountant.AddRemove, newToy(), accountant.ByAuto), ledger.ErrUnfit)
				event = accountant.WithFailure{Event: c.event, Delta: 1e-8}
				require.NoError(t, on(accountant.AddRemove, newToy(), accountant.ByAuto))
				event = accountant.WithFailure{Event: SumConfig{ClipNorm: 1, NoiseMultiplier: 3}.Event(), Delta: 1e-8}
				require.ErrorIs(t, on(accountant.AddRemove, newToy(), accountant.ByAuto), ledger.ErrNotReserved)
			}
		})
	}
}
