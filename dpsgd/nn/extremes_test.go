package nn

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
)

// randomArchitecture draws layers until they fit together.
func randomArchitecture(rnd *rand.Rand) *Architecture {
	for {
		in := Image(1+rnd.IntN(8), 1+rnd.IntN(8), 1+rnd.IntN(4))
		var layers []Layer
		for range rnd.IntN(5) {
			layers = append(layers, []Layer{
				Conv2D{Filters: 1 + rnd.IntN(20), Kernel: 1 + rnd.IntN(4), Stride: 1 + rnd.IntN(2), Padding: rnd.IntN(2)},
				MaxPool{Kernel: 1 + rnd.IntN(3), Stride: 1 + rnd.IntN(2)},
				AveragePool{Kernel: 1 + rnd.IntN(3), Stride: 1 + rnd.IntN(2)},
				GroupNorm{Groups: 1 + rnd.IntN(2)}, ReLU{}, Tanh{},
			}[rnd.IntN(6)])
		}
		layers = append(layers, Flatten{})
		for range rnd.IntN(3) {
			layers = append(layers, Dense{Units: 1 + rnd.IntN(40)}, []Layer{ReLU{}, Tanh{}, GroupNorm{Groups: 1}}[rnd.IntN(3)])
		}
		loss := []Loss{CrossEntropy, SquaredError}[rnd.IntN(2)]
		if a, err := NewArchitecture(in, loss, append(layers, Dense{Units: 2 + rnd.IntN(20)})...); err == nil {
			return a
		}
	}
}

// extremeBatch returns rows of sizes from denormal to overflowing, zeros, and elements that
// are not finite, among inputs and targets.
func extremeBatch(a *Architecture, rows int, rnd *rand.Rand) Batch[float32] {
	size, out := a.Input().Size(), a.Output().Size()
	b := Batch[float32]{Stride: size, TargetStride: out}
	value := func(kind int, spread float64) float32 {
		v := rnd.NormFloat64() * spread
		switch kind {
		case 0:
			if rnd.IntN(10) == 0 {
				v = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rnd.IntN(3)]
			}
		case 1:
			v = math.Copysign(math.MaxFloat32, v)
		case 2:
			v = rnd.NormFloat64() * 1e-42
		case 3:
			v = 0
		case 4:
			v = rnd.NormFloat64() * 0x1p62
		}
		return float32(v)
	}
	for range rows {
		kind, spread := rnd.IntN(12), math.Exp(25*rnd.NormFloat64())
		for range size {
			b.X = append(b.X, value(kind, spread))
		}
		kind, spread = rnd.IntN(12), math.Exp(25*rnd.NormFloat64())
		for range out {
			b.Targets = append(b.Targets, value(kind, min(spread, 1e37)))
		}
		b.Y = append(b.Y, rnd.IntN(out))
	}
	return b
}

// TestObligationsAtExtremes checks the obligations of dpsgd.Worker for random networks, on
// data of every size, clipped as a whole, by layer and by tensor.
func TestObligationsAtExtremes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(78, 3))
	finite := 0
	for trial := range 300 {
		a := randomArchitecture(rnd)
		p := make([]float32, a.Parameters())
		size := math.Exp([]float64{-1, 20 * rnd.NormFloat64()}[rnd.IntN(2)])
		for i := range p {
			p[i] = float32(rnd.NormFloat64() * size)
		}
		rows := []int{1, 7, 40, 100}[rnd.IntN(4)]
		batch := extremeBatch(a, rows, rnd)
		sizes := [][]int{{len(p)}, groups(a), a.tensors}[trial%3]
		clip := dpsgd.Clip{Stabilizer: []float64{0, 0, 0, 1e-320, 0x1p-30, 0.01, 1e6}[rnd.IntN(7)]}
		for range sizes {
			clip.Norms = append(clip.Norms, []float64{0x1p-40, 1e-3, 1, 0x1p40}[rnd.IntN(4)])
		}
		start := func() *Worker[float32] {
			w := NewWorker[float32](a)
			if trial%3 == 2 {
				w.layers = byTensor[float32](len(a.tensors), w.rows)
			}
			w.Start(p)
			return w
		}
		w := start()
		var tally dpsgd.Tally
		exact, norms := make([]float64, len(p)), make([]float64, len(sizes))
		var alone [][]float32
		for i := range rows {
			g := make([]float32, len(p))
			own := start().AddClipped(g, batch, []int{i}, clip)
			tally.Clipped += own.Clipped
			tally.NonFinite += own.NonFinite
			finite += int(1 - own.NonFinite)
			alone = append(alone, g)
			at := 0
			for k, n := range sizes {
				square := 0.0
				for j := at; j < at+n; j++ {
					square += float64(g[j]) * float64(g[j])
					exact[j] += float64(g[j])
				}
				norm := math.Sqrt(square)
				require.True(t, norm <= clip.Norms[k]*(1+0x1p-20), "trial %d, row %d, group %d: norm %g, %v, %v", trial, i, k, norm, clip, a)
				norms[k] += norm
				at += n
			}
		}
		sum := make([]float32, len(p))
		all := w.AddClipped(sum, batch, upTo(rows), clip)
		require.Equal(t, tally.Clipped, all.Clipped, "trial %d: %v", trial, a)
		require.Equal(t, tally.NonFinite, all.NonFinite, "trial %d: %v", trial, a)
		at := 0
		for k, n := range sizes {
			square := 0.0
			for j := at; j < at+n; j++ {
				square += (float64(sum[j]) - exact[j]) * (float64(sum[j]) - exact[j])
			}
			require.LessOrEqual(t, math.Sqrt(square), 64*0x1p-24*norms[k], "trial %d, group %d: %v", trial, k, a)
			at += n
		}
		// What other rows left in the worker must not show.
		for range min(rows, 5) {
			i := rnd.IntN(rows)
			g := make([]float32, len(p))
			w.AddClipped(g, batch, []int{i}, clip)
			require.True(t, slices.Equal(alone[i], g), "trial %d, row %d: %v", trial, i, a)
		}
	}
	require.Greater(t, finite, 4000)
}
