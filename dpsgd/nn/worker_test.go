package nn

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dpsgd"
)

// TestRowsWhereTheyLie checks that rows that follow each other, which are not copied, add what
// they add from other places, and that nothing writes to the data. Among the networks are
// some whose layers work in the memory of the input.
func TestRowsWhereTheyLie(t *testing.T) {
	const n, cols = 9, 12
	for name, layers := range map[string][]Layer{
		"linear":          {Dense{Units: 3}},
		"in place":        {Flatten{}, ReLU{}, Dense{Units: 3}},
		"first in place":  {ReLU{}, Dense{Units: 3}},
		"behind a vector": {Flatten{}, Dense{Units: 4, Weights: He}, Tanh{}, Dense{Units: 3}},
	} {
		in := Vector(cols)
		if name == "in place" {
			in = Image(2, 3, 2)
		}
		m, err := New(in, CrossEntropy, layers...)
		require.NoError(t, err, name)
		copy(m.parameters, randomParameters[float32](m.arch, 1))
		for _, bad := range []int{-1, 4} {
			together := randomBatch[float32](m.arch, n, 1)
			if bad >= 0 {
				together.X[bad*cols] = float32(math.NaN())
			}
			apart := examples[float32]{X: make([]float32, n*(cols+1)), Stride: cols + 1, Y: together.Y}
			rows := upTo(n)
			for i := range rows {
				copy(apart.X[i*(cols+1):], together.X[i*cols:(i+1)*cols])
			}
			before := slices.Clone(together.X)
			for _, clip := range []float64{0.3, math.Inf(1)} {
				var sums [2][]float32
				var tallies [2]dpsgd.Tally
				for k, b := range []examples[float32]{together, apart} {
					w := newWorker[float32](m.arch, m.arch.rows())
					w.Start(m.parameters)
					sums[k] = make([]float32, len(m.parameters))
					tallies[k] = w.AddClipped(sums[k], b, rows, dpsgd.FlatClip(clip))
				}
				require.Equal(t, sums[1], sums[0], "%s, row %d, clip %g", name, bad, clip)
				require.Equal(t, tallies[1], tallies[0])
				require.Equal(t, int64(min(1, bad+1)), tallies[0].NonFinite)
			}
			for i, v := range together.X {
				require.Equal(t, math.Float32bits(before[i]), math.Float32bits(v), "the data")
			}
		}
	}
}
