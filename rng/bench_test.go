package rng

import (
	"fmt"
	"math/big"
	"testing"
	"time"
)

func reportDraws(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "draws/s")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkDiscreteGaussian(b *testing.B) {
	for _, sigma := range []float64{0.5, 2.5, 10, 40, 150, 1e3, 1 << 28, 1e9} {
		d, err := NewDiscreteGaussian(sigma)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("sigma=%g", sigma), func(b *testing.B) {
			s := SeedKey(1).Stream()
			for b.Loop() {
				d.Sample(s)
			}
			reportDraws(b)
		})
	}
}

// BenchmarkFill draws what a step of private training draws, in runs.
func BenchmarkFill(b *testing.B) {
	dst := make([]int64, 4096)
	for _, sigma := range []float64{40, 1e3, 1 << 28, 1e9, maxScale} {
		d, err := NewDiscreteGaussian(sigma)
		if err != nil {
			b.Fatal(err)
		}
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

func BenchmarkDiscreteLaplace(b *testing.B) {
	for _, scale := range []float64{20, 40, 1e3} {
		d, err := NewDiscreteLaplace(scale)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("scale=%g", scale), func(b *testing.B) {
			s := SeedKey(1).Stream()
			for b.Loop() {
				d.Sample(s)
			}
			reportDraws(b)
		})
	}
}

// BenchmarkBernoulliExp decides with probability exp(-n/10).
func BenchmarkBernoulliExp(b *testing.B) {
	for _, n := range []uint64{1, 30, 200} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			s := SeedKey(1).Stream()
			for b.Loop() {
				BernoulliExp(s, n, 10)
			}
			reportDraws(b)
		})
	}
}

// BenchmarkQuery draws the randomness of one Confident-GNMax query on ten classes: its
// stream, and eleven draws.
func BenchmarkQuery(b *testing.B) {
	threshold, err := NewDiscreteGaussian(150)
	if err != nil {
		b.Fatal(err)
	}
	counts, err := NewDiscreteGaussian(40)
	if err != nil {
		b.Fatal(err)
	}
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

// BenchmarkRatio reports how many times faster Sample is than Algorithms 1-3 of Canonne,
// Kamath, Steinke (2020) written down in math/big, measured in the same run.
func BenchmarkRatio(b *testing.B) {
	d, err := NewDiscreteGaussian(40)
	if err != nil {
		b.Fatal(err)
	}
	const n = 2000
	var words, naive float64
	for b.Loop() {
		s := SeedKey(1).Stream()
		words += seconds(func() {
			for range n {
				d.Sample(s)
			}
		})
		naive += seconds(func() {
			for range n {
				naiveGaussian(s, 40)
			}
		})
	}
	b.ReportMetric(naive/words, "times-naive")
	b.ReportMetric(0, "ns/op")
}

func seconds(f func()) float64 {
	start := time.Now()
	f()
	return time.Since(start).Seconds()
}

func naiveUniform(s *Stream, n *big.Int) *big.Int {
	limit := new(big.Int).Lsh(big.NewInt(1), uint(n.BitLen()))
	for {
		x := new(big.Int)
		for range (n.BitLen() + 63) / 64 {
			x.Or(x.Lsh(x, 64), new(big.Int).SetUint64(s.Uint64()))
		}
		if x.Mod(x, limit); x.Cmp(n) < 0 {
			return x
		}
	}
}

func naiveBernoulliExp(s *Stream, x *big.Rat) bool {
	one := big.NewRat(1, 1)
	for x.Cmp(one) > 0 {
		if !naiveBernoulliExp(s, one) {
			return false
		}
		x = new(big.Rat).Sub(x, one)
	}
	for k := int64(1); ; k++ {
		p := new(big.Rat).Mul(x, big.NewRat(1, k))
		if naiveUniform(s, p.Denom()).Cmp(p.Num()) >= 0 {
			return k&1 == 1
		}
	}
}

func naiveGaussian(s *Stream, sigma int64) int64 {
	t := big.NewInt(sigma + 1)
	for {
		u := naiveUniform(s, t)
		if !naiveBernoulliExp(s, new(big.Rat).SetFrac(u, t)) {
			continue
		}
		v := new(big.Int)
		for naiveBernoulliExp(s, big.NewRat(1, 1)) {
			v.Add(v, big.NewInt(1))
		}
		y := u.Add(u, v.Mul(v, t))
		negative := naiveUniform(s, big.NewInt(2)).Sign() == 0
		if negative && y.Sign() == 0 {
			continue
		}
		x := new(big.Rat).SetInt(y)
		x.Sub(x, new(big.Rat).SetFrac(big.NewInt(sigma*sigma), t))
		x.Mul(x, x).Mul(x, big.NewRat(1, 2*sigma*sigma))
		if naiveBernoulliExp(s, x) {
			if negative {
				y.Neg(y)
			}
			return y.Int64()
		}
	}
}
