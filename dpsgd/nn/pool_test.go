package nn

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMaxPoolTakesTheFirstOfEqual checks both precisions where many values of a window are
// equal, also with more than a hundred taps and an odd number of taps.
func TestMaxPoolTakesTheFirstOfEqual(t *testing.T) {
	for _, pool := range []MaxPool{{Kernel: 1, Stride: 1}, {Kernel: 2, Stride: 1}, {Kernel: 2, Stride: 2}, {Kernel: 3, Stride: 1}, {Kernel: 16, Stride: 3}} {
		in := Image(19, 17, 2)
		checkMaxPool(t, pool, in, newMaxPass[float32](pool, in, 2))
		checkMaxPool(t, pool, in, newMaxPass[float64](pool, in, 2))
	}
}

func checkMaxPool[T Float](t *testing.T, pool MaxPool, in Shape, p Pass[T]) {
	const rows = 2
	out, err := pool.Output(in)
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(6, 1))
	x, dy := make([]T, rows*in.Size()), make([]T, rows*out.Size())
	for j := range x {
		x[j] = T(rnd.IntN(4) - 3) // negative or zero
	}
	for j := range dy {
		dy[j] = T(j + 1)
	}
	y, dx := make([]T, len(dy)), make([]T, len(x))
	p.Forward(y, x, rows)
	p.Backward(dx, dy, rows, nil)
	wantY, wantDX := make([]T, len(y)), make([]T, len(dx))
	for k := range y {
		i, r, c, channel := k/out.Size(), k/(out.Cols*out.Channels)%out.Rows, k/out.Channels%out.Cols, k%out.Channels
		best := -1
		for a := range pool.Kernel {
			for b := range pool.Kernel {
				at := i*in.Size() + ((r*pool.Stride+a)*in.Cols+c*pool.Stride+b)*in.Channels + channel
				if best < 0 || x[at] > x[best] {
					best = at
				}
			}
		}
		wantY[k] = x[best]
		wantDX[best] += dy[k]
	}
	require.Equal(t, wantY, y, "%v", pool)
	require.Equal(t, wantDX, dx, "%v", pool)
}
