package dpsgd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pate-go/pate/internal/dense"
)

// BenchmarkStep times one update with batches of 4,096 records on average, private and not,
// on all processors. The unit samples/s counts records in batches. What matters is the
// ratio of the two within one run.
func BenchmarkStep(b *testing.B) {
	for _, cols := range []int{784, 2304} {
		const records, classes = 16384, 10
		rnd := rand.New(rand.NewPCG(1, 4))
		data := Data{X: dense.New(records, cols), Y: make([]int, records)}
		for i := range data.X.Data {
			data.X.Data[i] = float32(rnd.Float64())
		}
		for i := range data.Y {
			data.Y[i] = rnd.IntN(classes)
		}
		for _, cfg := range []Config{
			{NonPrivate: true, ClipNorm: math.Inf(1)},
			{NoiseMultiplier: 4, ClipNorm: 0.1},
		} {
			name := "private"
			if cfg.NonPrivate {
				name = "non-private"
			}
			b.Run(fmt.Sprintf("softmax-%d-%d/%s", cols, classes, name), func(b *testing.B) {
				cfg.SamplingProbability, cfg.Steps, cfg.LearningRate = 0.25, 1, 0.1
				t := trainerOf(b, newSoftmax(cols, classes), data, cfg, 1)
				for b.Loop() {
					stepOf(b, t)
				}
				b.ReportMetric(float64(t.counts.Sampled)/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}

// BenchmarkNoise times the noise of one step for 23,050 parameters.
func BenchmarkNoise(b *testing.B) {
	data := Data{X: dense.New(1, 2304), Y: []int{0}}
	t := trainerOf(b, newSoftmax(2304, 10), data, Config{SamplingProbability: 1, NoiseMultiplier: 4, ClipNorm: 0.1}, 1)
	t.release.total = make([]int64, t.release.parameters)
	for step := uint64(0); b.Loop(); step++ {
		addNoise(t.release, step)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(t.release.total)), "ns/sample")
}
