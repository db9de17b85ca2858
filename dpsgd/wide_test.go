package dpsgd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
)

// wide is a model with many parameters, so that whole groups of MaxRows are summed at a time. Its gradient is
// the record's columns over and over. A depth above 64 additions breaks an obligation on purpose.
type wide struct {
	parameters []float32
	run        int
}

func newWide(run int) wide { return wide{make([]float32, 1<<16+8), run} }

func (m wide) Parameters() []float32 { return m.parameters }
func (m wide) Check(Data) error      { return nil }
func (m wide) Worker() Worker        { return wideWorker{m, make([]float32, len(m.parameters))} }
func (m wide) Fingerprint() []byte   { return nil }

type wideWorker struct {
	m   wide
	run []float32
}

func (wideWorker) Start() {}
func (w wideWorker) AddClipped(sum []float32, data Data, rows []int, clip Clip) (tally Tally) {
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
		for j := range w.run {
			w.run[j] += part[j%8]
		}
		if (i+1)%w.m.run == 0 || i == len(rows)-1 {
			for j, v := range w.run {
				sum[j] += v
			}
			clear(w.run)
		}
	}
	return tally
}

// TestNeighboursOfLargeModels checks the sensitivity of sums with the larger groups: blocks
// around MaxRows records, which rounding pushes in one direction.
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
