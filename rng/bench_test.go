package rng

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func reportDraws(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "draws/s")
	b.ReportMetric(0, "ns/op")
}

// benchmarkDraws measures single draws of a sampler at some scales.
func benchmarkDraws[S interface{ Sample(*Stream) int64 }](b *testing.B, name string, sampler func(float64) (S, error), scales ...float64) {
	for _, scale := range scales {
		d, err := sampler(scale)
		require.NoError(b, err)
		b.Run(fmt.Sprintf("%s=%g", name, scale), func(b *testing.B) {
			s := SeedKey(1).Stream()
			for b.Loop() {
				d.Sample(s)
			}
			reportDraws(b)
		})
	}
}

func BenchmarkDiscreteGaussian(b *testing.B) {
	benchmarkDraws(b, "sigma", NewDiscreteGaussian, 0.5, 2.5, 10, 40, 150, 1e3, 1<<28, 1e9)
}

func BenchmarkDiscreteLaplace(b *testing.B) {
	benchmarkDraws(b, "scale", NewDiscreteLaplace, 20, 40, 1e3)
}

// BenchmarkFill draws what a step of private training draws, in runs.
func BenchmarkFill(b *testing.B) {
	dst := make([]int64, 4096)
	for _, sigma := range []float64{40, 1e3, 1 << 28, 1e9, maxScale} {
		d := gaussian(b, sigma)
		b.Run(fmt.Sprintf("sigma=%g", sigma), func(b *testing.B) {
			s := SeedKey(1).Stream()
			for b.Loop() {
				d.Fill(dst, s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(dst)), "ns/draw")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func BenchmarkUint64(b *testing.B) {
	s := SeedKey(1).Stream()
	for b.Loop() {
		s.Uint64()
	}
}

// BenchmarkBernoulliExp decides with probability exp(-n/10).
func BenchmarkBernoulliExp(b *testing.B) {
	for _, n := range []uint64{1, 30, 200} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			s := SeedKey(1).Stream()
			for b.Loop() {
				bernoulliRatio(s, n, 10)
			}
			reportDraws(b)
		})
	}
}

// BenchmarkQuery draws the randomness of one Confident-GNMax query on ten classes: its
// stream, and eleven draws.
func BenchmarkQuery(b *testing.B) {
	threshold, counts := gaussian(b, 150), gaussian(b, 40)
	streams, query := SeedKey(1).Streams("query"), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		query++
		s := streams.Of(query)
		threshold.Sample(s)
		for range 10 {
			counts.Sample(s)
		}
	}
}

// BenchmarkTable measures the first draw of a sampler, which makes its table.
func BenchmarkTable(b *testing.B) {
	for _, sigma := range []float64{1, 40, 255} {
		b.Run(fmt.Sprintf("sigma=%g", sigma), func(b *testing.B) {
			for b.Loop() {
				newTable(gaussianLaw(sigma))
			}
		})
	}
}
