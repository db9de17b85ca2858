package dpsgd

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd/optim"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// TestWorkersDoNotMatterToAnyKind checks that parameters, averages, clip norms and counts are the same
// bit for bit. The control shows that another seed changes them.
func TestWorkersDoNotMatterToAnyKind(t *testing.T) {
	check := func(name string, d Data, cfg Config, workers ...int) {
		cfg.Workers = 1
		m, want := trained(t, d, cfg, 1)
		for _, cfg.Workers = range workers {
			other, got := trained(t, d, cfg, 1)
			require.Equal(t, m.Parameters(), other.Parameters(), "%s, %d workers", name, cfg.Workers)
			require.Equal(t, want, got, name)
		}
		other, _ := trained(t, d, cfg, 2)
		require.NotEqual(t, m.Parameters(), other.Parameters())
	}
	d := clouds(700, 9)
	for name, cfg := range everyKind() {
		check(name, d, cfg, 2, 5)
	}
	check("usual", clouds(3000, 37), usual, 3, 7, 40, 0)
	check("bare", clouds(3000, 37), Config{SamplingProbability: 0.5, ClipNorm: 1, Steps: 5, LearningRate: 1, NonPrivate: true}, 3, 7, 40, 0)
}

// TestNonPrivateIsPlainDescent compares training without noise, with and without clipping, with a loop
// over records.
func TestNonPrivateIsPlainDescent(t *testing.T) {
	d := clouds(200, 4)
	for _, clip := range []float64{math.Inf(1), 0.3} {
		cfg := Config{SamplingProbability: 1, ClipNorm: clip, Steps: 12, LearningRate: 0.7, NonPrivate: true,
			Optimizer: optim.Config{Momentum: 0.8}}
		m, _ := trained(t, d, cfg, 1)
		p, velocity := make([]float64, 15), make([]float64, 15)
		for range cfg.Steps {
			mean := make([]float64, 15)
			for i, y := range d.Y {
				g, logits, total := make([]float64, 15), make([]float64, 3), 0.0
				for k := range logits {
					logits[k] = p[12+k]
					for j, v := range dense.Row(d.X, i) {
						logits[k] += p[4*k+j] * float64(v)
					}
					logits[k] = math.Exp(logits[k])
					total += logits[k]
				}
				for k, e := range logits {
					delta := e / total
					if k == y {
						delta--
					}
					for j, v := range dense.Row(d.X, i) {
						g[4*k+j] = delta * float64(v)
					}
					g[12+k] = delta
				}
				scale := math.Min(1, clip/normOf(g))
				for j, v := range g {
					mean[j] += scale * v / 200
				}
			}
			for j := range p {
				velocity[j] = 0.8*velocity[j] + mean[j]
				p[j] -= 0.7 * velocity[j]
			}
		}
		for j, v := range m.Parameters() {
			require.InDelta(t, p[j], v, 2e-5)
		}
	}
}

// TestAdaptiveClippingFindsTheQuantile trains with a learning rate of nearly zero, so that gradients
// stay what they are. C must settle at the quantile of their norms.
func TestAdaptiveClippingFindsTheQuantile(t *testing.T) {
	var values []float32
	for i := range 1001 {
		values = append(values, float32(i)/100)
	}
	cfg := Config{SamplingProbability: 0.5, NoiseMultiplier: 1, Steps: 400, ClipNorm: 0.01, LearningRate: 1e-9,
		Clipping: Clipping{Adaptive: Adaptive{Quantile: 0.3, LearningRate: 0.2, CountNoise: 5}}}
	var last, norms float64
	cfg.Observe = func(m Metrics) {
		require.False(t, math.IsNaN(m.Unclipped))
		last = m.ClipNorm
		if m.Step > 300 {
			norms += m.ClipNorm / 100
		}
	}
	result := testkit.Must(train(t.Context(), t, newToy(), column(values...), cfg, rng.SeedKey(1)))
	require.InDelta(t, 3, norms, 0.15)
	require.InDelta(t, last, result.ClipNorm, 0.1*last)
	require.NotEqual(t, last, result.ClipNorm)
}

// TestDiscreteLaplaceIsCovered compares hockey-stick divergences of the discrete pair with those of the
// continuous pair that the event stands for. The grid is so coarse that the difference shows: without
// the two units of laplaceScale the discrete pair is not covered.
func TestDiscreteLaplaceIsCovered(t *testing.T) {
	discrete := func(d int, b, epsilon float64) (h float64) {
		reach := d + int(45*b) // the rest is below e^-45
		for k := -reach; k <= reach; k++ {
			p := math.Tanh(1/(2*b)) * math.Exp(-math.Abs(float64(k))/b)
			q := math.Tanh(1/(2*b)) * math.Exp(-math.Abs(float64(k-d))/b)
			h += math.Max(0, p-math.Exp(epsilon)*q)
		}
		return h
	}
	continuous := func(multiplier, epsilon float64) float64 {
		switch {
		case epsilon >= 1/multiplier:
			return 0
		case epsilon <= -1/multiplier:
			return 1 - math.Exp(epsilon)
		}
		return -math.Expm1((epsilon - 1/multiplier) / 2)
	}
	bare := 0.0
	for _, multiplier := range []float64{0.3, 1, 4} {
		for _, d := range []int{1, 2, 5, 8} {
			b := laplaceScale(multiplier, grid{sensitivity: float64(d)})
			require.InDelta(t, multiplier*float64(d+2), b, 1)
			for epsilon := -1.2 / multiplier; epsilon < 1.2/multiplier; epsilon += 0.0237 / multiplier {
				require.LessOrEqual(t, discrete(d, b, epsilon), continuous(multiplier, epsilon)+1e-12)
				bare = math.Max(bare, discrete(d, multiplier*float64(d), epsilon)-continuous(multiplier, epsilon))
			}
		}
	}
	require.Greater(t, bare, 1e-4, "without them")
}

func TestAverage(t *testing.T) {
	cfg := usual
	cfg.AverageDecay = 0.8
	average, m := make([]float64, 15), newSoftmax(4, 3)
	cfg.Observe = func(Metrics) { optim.Average(average, m.Parameters(), 0.8) }
	result := testkit.Must(train(t.Context(), t, m, clouds(200, 4), cfg, rng.SeedKey(1)))
	require.Len(t, result.Average, 15)
	for j, v := range average {
		require.Equal(t, float32(v), result.Average[j])
	}
	require.NotEqual(t, m.Parameters(), result.Average)
}

func TestMetrics(t *testing.T) {
	private, public := clouds(600, 4), clouds(500, 4)
	cfg := usual
	cfg.Public, cfg.PublicEvery = public, 7
	cfg.Schedule = Schedule{Shape: Linear, Final: 0.5}
	m := newSoftmax(4, 3)
	var counts Diagnostics
	var scored []int
	cfg.Observe = func(at Metrics) {
		require.Equal(t, 30, at.Steps)
		require.Equal(t, cfg.rate(at.Step-1), at.LearningRate)
		require.Equal(t, 0.5, at.ClipNorm)
		require.True(t, math.IsNaN(at.Unclipped))
		require.Equal(t, cfg.EventAfter(at.Step), at.Event)
		counts.add(at.Private)
		require.LessOrEqual(t, at.Private.ClipFraction(), 1.0)
		require.Less(t, at.Private.MeanLoss(), 3.0)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", at, at, at), "NonFinite")
		if at.Public == nil {
			return
		}
		scored = append(scored, at.Step)
		require.Equal(t, accuracy(t, m, public), at.Public.Accuracy)
		require.Error(t, testkit.Err(json.Marshal(at)), "private metrics have no JSON form")
	}
	result := testkit.Must(train(t.Context(), t, m, private, cfg, rng.SeedKey(1)))
	require.Equal(t, []int{7, 14, 21, 28, 30}, scored)
	require.Equal(t, result.Diagnostics, counts)

	// The loss of a model of zeros is log 3.
	o := testkit.Must(newObserver(newSoftmax(4, 3), cfg))
	s := testkit.Must(o.score(t.Context()))
	require.InDelta(t, math.Log(3), s.Loss, 1e-6)

	cfg.Public = clouds(10, 5)
	r := reserve(t, cfg)
	require.ErrorContains(t, testkit.Err(Train(t.Context(), m, private, cfg, r, rng.SeedKey(1))), "Public")
	require.NoError(t, r.Begin(cfg.Event(), ledger.Use{Relation: accountant.AddRemove}), "nothing was charged for it")
}

// TestMemoryDoesNotGrowWithTheBatch checks that a batch sixteen times as large takes a few words more a
// record, and no memory for gradients.
func TestMemoryDoesNotGrowWithTheBatch(t *testing.T) {
	const cols, records = 2000, 8192
	data := Data{X: blas32.General{Rows: records, Cols: cols, Stride: 0, Data: make([]float32, cols)}, Y: make([]int, records)}
	allocated := func(q float64) float64 {
		tr := trainerOf(t, newSoftmax(cols, 2), data, Config{SamplingProbability: q, NoiseMultiplier: 1, ClipNorm: 1, Steps: 1, LearningRate: 1, Workers: 1}, 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		stepOf(t, tr)
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	small, large := allocated(1.0/32), allocated(0.5)
	require.Less(t, large-small, 200.0*records/2, "a gradient takes %d", 4*2*cols)
}
