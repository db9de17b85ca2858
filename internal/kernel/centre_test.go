package kernel

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCentre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "n")
		src := rapid.SliceOfN(hostile[float32](), n, n).Draw(t, "src")
		mean := rapid.SliceOfN(hostile[float32](), n, n).Draw(t, "mean")
		scale, far := rapid.Float64Range(-1e6, 1e6).Draw(t, "scale"), rapid.Float32Range(0, 1e8).Draw(t, "far")
		want := make([]float32, n)
		for i := range want {
			d := float64(float32(float64(src[i]-mean[i]) * scale))
			if want[i] = float32(math.Max(-float64(far), math.Min(d, float64(far)))); far == 0 && d == 0 {
				want[i] = float32(d)
			}
		}
		for _, on := range paths[float32]() {
			got, ok := guarded(src)
			centre(on, got, got, mean, scale, far)
			for i := range got { // a zero has either sign
				require.True(t, want[i] == got[i] || want[i] != want[i] && got[i] != got[i], "%v %v", want[i], got[i])
			}
			require.True(t, ok())
		}
	})
	require.Panics(t, func() { Centre(make([]float32, 2), make([]float32, 3), make([]float32, 2), 1, 1) })
	require.Panics(t, func() { Centre(make([]float32, 2), make([]float32, 2), make([]float32, 1), 1, 1) })
}
