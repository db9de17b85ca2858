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
	for _, sigma := range []float64{0.5, 4, 40, 1e3, 1e6, 1e8} {
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

func BenchmarkDiscreteLaplace(b *testing.B) {
	d, err := NewDiscreteLaplace(40)
	if err != nil {
		b.Fatal(err)
	}
	s := SeedKey(1).Stream()
	for b.Loop() {
		d.Sample(s)
	}
	reportDraws(b)
}

// BenchmarkRatio compares with Algorithms 1-3 written down in math/big: how many
// times faster, in one run.
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
