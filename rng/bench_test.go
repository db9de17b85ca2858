package rng

import (
	"fmt"
	"testing"
)

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
