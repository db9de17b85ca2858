package peers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
)

// BenchmarkPeakMemory trains the tutorial network for three steps and reports the
// peak of the process's resident memory above that before, with data and model
// there already: what opacus_throughput.py reports as peak_mb.
func BenchmarkPeakMemory(b *testing.B) {
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		b.Skip("resident memory is read from /proc")
	}
	const batch, cols, classes = 4096, 784, 10
	b.Run(fmt.Sprintf("cnn/batch-%d/private", batch), func(b *testing.B) {
		rnd := rand.New(rand.NewPCG(1, 4))
		data := dpsgd.Data{X: blas32.General{Rows: 2 * batch, Cols: cols, Stride: cols, Data: make([]float32, 2*batch*cols)}, Y: make([]int, 2*batch)}
		for i := range data.X.Data {
			data.X.Data[i] = rnd.Float32()
		}
		for i := range data.Y {
			data.Y[i] = rnd.IntN(classes)
		}
		cfg := dpsgd.Config{SamplingProbability: 0.5, Steps: 3, LearningRate: 1e-3, ClipNorm: 1, NoiseMultiplier: 1}
		peak := 0.0
		for b.Loop() {
			model, err := nn.NewTutorialCNN(nn.Image(28, 28, 1), classes, rnd)
			require.NoError(b, err)
			l, err := ledger.Open("", ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5, Noise: ledger.SeededNoise})
			require.NoError(b, err)
			reservation, err := l.Reserve(cfg.Event())
			require.NoError(b, err)

			debug.FreeOSMemory()
			require.NoError(b, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // the peak starts again from here
			before := resident(b, "VmRSS:")
			_, err = dpsgd.Train(context.Background(), model, data, cfg, reservation, dpsgd.SeedKey(1))
			require.NoError(b, err)
			peak = max(peak, resident(b, "VmHWM:")-before)
		}
		b.ReportMetric(peak, "peak-MB")
	})
}

// resident returns a size from the status of the process, in MB.
func resident(b *testing.B, field string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err)
	_, rest, found := strings.Cut(string(status), field)
	require.True(b, found)
	var kibibytes float64
	_, err = fmt.Sscan(rest, &kibibytes)
	require.NoError(b, err)
	return kibibytes * 1024 / 1e6
}
