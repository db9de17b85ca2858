package nn

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
)

// randomArchitecture draws layers until they fit together.
func randomArchitecture(rnd *rand.Rand) *architecture {
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
		if a, err := newArchitecture(in, loss, append(layers, Dense{Units: 2 + rnd.IntN(20)})...); err == nil {
			return a
		}
	}
}

// extremeBatch returns rows of sizes from denormal to overflowing, zeros, and elements that
// are not finite, among inputs and targets.
func extremeBatch(a *architecture, rows int, rnd *rand.Rand) examples[float32] {
	size, out := a.input().Size(), a.output().Size()
	b := examples[float32]{Stride: size, TargetStride: out}
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

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// TestObligationsAtExtremes checks the obligations of dpsgd.Worker for random networks, on data of every
// size, clipped as a whole, by layer and by tensor.
func TestObligationsAtExtremes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(78, 3))
	finite, trials := 0, 60
	if *long {
		trials = 300
	}
	for trial := range trials {
		a := randomArchitecture(rnd)
		p := make([]float32, a.parameters())
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
		start := func() *worker[float32] {
			w := newWorker[float32](a, a.rows())
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
				for j := at; j < at+n; j++ {
					exact[j] += float64(g[j])
				}
				norm := normOf(g[at : at+n])
				require.True(t, norm <= clip.Norms[k]*(1+0x1p-20), "trial %d, row %d, group %d: norm %g, %v, %v", trial, i, k, norm, clip, a)
				norms[k] += norm
				at += n
			}
		}
		sum := make([]float32, len(p))
		all := w.AddClipped(sum, batch, upTo(rows), clip)
		require.Equal(t, tally.Clipped, all.Clipped, "trial %d: %v", trial, a)
		require.Equal(t, tally.NonFinite, all.NonFinite, "trial %d: %v", trial, a)
		for j, v := range sum {
			exact[j] -= float64(v)
		}
		at := 0
		for k, n := range sizes {
			require.LessOrEqual(t, normOf(exact[at:at+n]), 64*0x1p-24*norms[k], "trial %d, group %d: %v", trial, k, a)
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
	require.Greater(t, finite, 13*trials)
}

func TestTowardsZeroNeverGrows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 3))
	for range 10000 {
		v := rnd.NormFloat64() * math.Exp2(rnd.Float64()*280-160)
		f := float64(towardsZero[float32](v))
		require.LessOrEqual(t, math.Abs(f), math.Abs(v))
		require.InDelta(t, v, f, math.Abs(v)*0x1p-23+0x1p-149)
	}
	require.Equal(t, 0.1, towardsZero[float64](0.1))
}
