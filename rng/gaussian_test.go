package rng

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

func gaussian(t require.TestingT, sigma float64) *DiscreteGaussian {
	d := testkit.Must(NewDiscreteGaussian(sigma))
	require.Equal(t, sigma, d.Sigma())
	return d
}

func TestDiscreteGaussianLaw(t *testing.T) {
	for _, sigma := range []float64{0.3, 1, math.Sqrt2, 2.5, 10, 40, 150, 256, 1000, 1234.5} {
		t.Run(fmt.Sprint(sigma), func(t *testing.T) {
			d := gaussian(t, sigma)
			s := SeedKey(5).Derive("gaussian", math.Float64bits(sigma)).Stream()
			requireFits(t, func() int64 { return d.Sample(s) }, expOf(d.LogProb))
		})
	}
}

func TestDiscreteGaussianLawWide(t *testing.T) {
	for _, sigma := range []float64{1e6, 1e8 / 3, 1 << 28, 1e9, maxScale} {
		t.Run(fmt.Sprint(sigma), func(t *testing.T) {
			d := gaussian(t, sigma)
			s := SeedKey(6).Derive("gaussian", math.Float64bits(sigma)).Stream()
			width := int64(sigma / 16)
			normal := distuv.Normal{Mu: 0, Sigma: sigma}
			requireFits(t, func() int64 {
				k := d.Sample(s)
				return (k - ((k%width)+width)%width) / width
			}, func(cell int64) float64 {
				lo := float64(cell*width) - 0.5
				return normal.CDF(-max(lo, -lo-float64(width))) - normal.CDF(-max(lo, -lo-float64(width))-float64(width))
			})
		})
	}
}

func TestDiscreteGaussianControls(t *testing.T) {
	d := gaussian(t, 2.5)
	wide := gaussian(t, 300) // eight integers to a cell
	require.EqualValues(t, 3, wide.fine)
	t.Run("zero with either sign", func(t *testing.T) {
		s := SeedKey(10).Stream()
		requireCaught(t, func() int64 {
			w := s.Uint64()
			y, _ := signed(d.cells.find(s, w>>1), w&1)
			return y
		}, expOf(d.LogProb))
	})
	t.Run("one integer's tail for the next", func(t *testing.T) {
		d.cells.find(nil, 1<<62) // makes the table
		s := SeedKey(8).Stream()
		broken := *d.cells.made.Load()
		broken.tails = broken.tails[1:]
		broken.index()
		requireCaught(t, func() int64 {
			for {
				w := s.Uint64()
				x, _ := broken.find(w >> 1)
				if y, ok := signed(x, w&1); ok {
					return y
				}
			}
		}, expOf(d.LogProb))
	})
	t.Run("every place in a cell accepted", func(t *testing.T) {
		coarse := gaussian(t, 3) // cells of 4 integers, s = 3/4
		coarse.fine, coarse.cells.law = 2, halfGaussian{3, 2}
		sampler := func(seed uint64, accept bool) func() int64 {
			s := SeedKey(seed).Stream()
			return func() int64 {
				for {
					w := s.Uint64()
					x, j := coarse.cells.find(s, w>>1), s.Uint64N(4)
					if accept && !bernoulliExpBig(s, func() (p, q *big.Int) { return coarse.exactExponent(x, j) }) {
						continue
					}
					if y, ok := signed(x<<2|j, w&1); ok {
						return y
					}
				}
			}
		}
		requireFits(t, sampler(9, true), expOf(coarse.LogProb))
		requireCaught(t, sampler(9, false), expOf(coarse.LogProb))
	})
	t.Run("sigma short", func(t *testing.T) { // by 1 percent in few cells, 5 in many
		for _, c := range []struct{ short, right *DiscreteGaussian }{{gaussian(t, 2.475), d}, {gaussian(t, 285), wide}} {
			s := SeedKey(11).Stream()
			requireCaught(t, func() int64 { return c.short.Sample(s) }, expOf(c.right.LogProb))
		}
	})
	t.Run("rounded continuous noise", func(t *testing.T) {
		normal := distuv.Normal{Sigma: 2.5, Src: SeedKey(12).Stream()}
		requireCaught(t, func() int64 { return int64(math.Round(normal.Rand())) }, expOf(d.LogProb))
	})
}

// exactGaussian repeats Sample without a table and without an enclosure, in big integers alone. It asks
// quick only whether it may leave two words unread. If so, it decides with words from another stream.
func exactGaussian(d *DiscreteGaussian, s, other *Stream) int64 {
	for {
		w := s.Uint64()
		var m uint64
		if d.fine == 0 {
			m = extend(s, d.cells.law, w>>1, uBits)
		} else {
			from := s
			if _, ok := d.quick(d.cells.table(), w); ok {
				from = other
			}
			var ok bool
			if m, ok = exactSettle(d, from, w, from.Uint64(), from.Uint64()); !ok {
				continue
			}
		}
		if w&1 == 0 {
			return int64(m)
		}
		if m != 0 {
			return -int64(m)
		}
	}
}

// exactSettle repeats settle in big integers alone. The bits of w are 13 of U, 50 - fine of
// V, fine of J and 1 for the sign.
func exactSettle(d *DiscreteGaussian, s *Stream, w, moreU, moreV uint64) (m uint64, ok bool) {
	bit := func(word uint64, at uint) uint64 { return word >> at & 1 }
	var u, v, j uint64
	at := uint(64)
	for range 13 {
		at--
		u = u<<1 | bit(w, at)
	}
	for n := uint(63); at > d.fine+1; n-- {
		at--
		v |= bit(w, at) << n
	}
	for at > 1 {
		at--
		j = j<<1 | bit(w, at)
	}
	for n := range uint(50) {
		u = u<<1 | bit(moreU, 63-n)
	}
	v |= moreV >> (50 - d.fine)
	x := extend(s, d.cells.law, u, 63)
	p, q := d.exactExponent(x, j)
	if x >= 1<<9 {
		ok = bernoulliExpBig(s, func() (*big.Int, *big.Int) { return p, q })
	} else {
		ok = resumeBernoulliExp(s, p, q, 1, v)
	}
	return x<<d.fine | j, ok
}

func TestGaussianWordsAgreeWithBig(t *testing.T) {
	check := func(t require.TestingT, sigma float64, slack, seed uint64, n int) {
		d := gaussian(t, sigma)
		d.slack = max(d.slack, slack)
		d.cells.made.Store(coarse(d.cells.law, slack).made.Load())
		key := SeedKey(seed)
		a, b, other := key.Stream(), key.Stream(), key.Derive("other").Stream()
		for range n {
			require.Equal(t, exactGaussian(d, b, other), d.Sample(a), "sigma %v slack %d", sigma, slack)
		}
		require.Equal(t, b.Uint64(), a.Uint64(), "words read")
	}
	for _, sigma := range []float64{minScale, 0.01, 1.0 / 16, 0.5, 1, 2.5, 40, 300, 999.75, 1e8 / 3, maxScale} {
		for _, slack := range []uint64{0, 1 << 45, 1 << 58} {
			check(t, sigma, slack, uint64(sigma), few(10))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		sigma := math.Exp2(rapid.Float64Range(-10, 6).Draw(t, "log2 sigma"))
		check(t, sigma, 1<<rapid.IntRange(2, 60).Draw(t, "slack"), rapid.Uint64().Draw(t, "seed"), 2)
	})
}

func TestGaussianAcceptAgreesWithBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := gaussian(t, math.Exp2(rapid.Float64Range(8, 40).Draw(t, "log2 sigma")))
		x := rapid.OneOf(rapid.Uint64Max(400), rapid.Uint64Max(1<<10)).Draw(t, "x")
		j := rapid.Uint64Max(1<<d.fine-1).Draw(t, "j")

		p, q := d.exactExponent(x, j)
		if x < 1<<9 {
			requireEncloses(t, d.exponent(x, j), p, q)
		}
		d.slack = 1 << rapid.UintRange(2, 62).Draw(t, "log2 slack")
		key := SeedKey(rapid.Uint64().Draw(t, "seed"))
		a, b := key.Stream(), key.Stream()
		for range 20 {
			var v uint64
			if x < 1<<9 { // otherwise it is not used
				v = a.Uint64()
			}
			want := bernoulliExpBig(b, func() (*big.Int, *big.Int) { return d.exactExponent(x, j) })
			require.Equal(t, want, d.accept(a, x, j, v))
		}
		require.Equal(t, b.Uint64(), a.Uint64(), "words read")
	})
}

// requireEncloses checks that whole + frac/2^64 <= p/q <= whole + (frac+slack)/2^64 and
// that whole is the integer part.
func requireEncloses(t require.TestingT, x exponent, p, q *big.Int) {
	p = new(big.Int).Lsh(p, 64)
	lo := new(big.Int).SetUint64(x.whole)
	require.Zero(t, lo.Cmp(new(big.Int).Quo(p, new(big.Int).Lsh(q, 64))))
	lo.Add(lo.Lsh(lo, 64), new(big.Int).SetUint64(x.frac))
	hi := new(big.Int).Add(lo, new(big.Int).SetUint64(x.slack))
	require.LessOrEqual(t, lo.Mul(lo, q).Cmp(p), 0)
	require.LessOrEqual(t, p.Cmp(hi.Mul(hi, q)), 0)
}

// TestEnclosureControl checks that an enclosure without its slack is noticed by requireEncloses.
func TestEnclosureControl(t *testing.T) {
	d := gaussian(t, 1234.5)
	missed := 0
	for j := range uint64(1) << d.fine {
		p, q := d.exactExponent(400, j)
		x := d.exponent(400, j)
		top := new(big.Int).SetUint64(x.frac)
		if top.Mul(top, q).Cmp(p.Lsh(p, 64)) < 0 {
			missed++
		}
	}
	require.Positive(t, missed)
}

func TestConcurrentFirstDraw(t *testing.T) {
	d := gaussian(t, 40)
	got := make(chan int64)
	for range 8 {
		go func() { got <- d.Sample(SeedKey(14).Stream()) }()
	}
	want := gaussian(t, 40).Sample(SeedKey(14).Stream())
	for range 8 {
		require.Equal(t, want, <-got)
	}
}

func TestMassesInStrides(t *testing.T) {
	noise := gaussian(t, 3)
	masses := NewMasses(noise.LogProb, 20)
	for _, stride := range []int64{1, 3} {
		for from := int64(-50); from < 40; from++ {
			products, want := make([]float64, 30), make([]float64, 30)
			for i := range products {
				products[i] = 1 / float64(i+1)
				want[i] = products[i] * masses.AtMost(from+int64(i)*stride)
			}
			masses.TimesAtMost(products, from, stride)
			require.Equal(t, want, products, "from %d by %d", from, stride)
			if from < -20 || from > 20 {
				continue
			}
			products = make([]float64, (20-from)/stride+1)
			masses.FillAt(products, from, stride)
			for i, p := range products {
				require.Equal(t, math.Exp(noise.LogProb(from+int64(i)*stride)), p, "from %d by %d", from, stride)
			}
		}
	}
}

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
