package pld

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSharesAreSettled: what outputs keep and what their neighbours take makes up all of them, and what an
// output takes belongs to what it keeps.
func TestSharesAreSettled(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		n := 1 + rnd.IntN(40)
		mixes, points := make([]mixing, n), make([]mergedOutput, n)
		for i := range points {
			points[i].dev = float64(rnd.IntN(3) - 1)
			if j := i - int(points[i].dev); points[i].dev != 0 && j >= 0 && j < n && rnd.IntN(5) > 0 {
				mixes[i].rate = 0.45 * math.Pow(rnd.Float64(), float64(rnd.IntN(4)))
			}
		}
		share(mixes, points)
		kept := make([]float64, n)
		for i := range mixes {
			kept[i] += mixes[i].share
			if mixes[i].rate > 0 {
				kept[i-int(points[i].dev)] += mixes[i].take
			}
		}
		for i, m := range mixes {
			require.InDelta(t, 1, kept[i], 0x1p-51)
			require.InDelta(t, m.rate*m.share, m.take, 0x1p-50)
			require.GreaterOrEqual(t, m.share, 0.1*(1-0x1p-50))
			require.LessOrEqual(t, m.share, 1.0)
		}
	}
}

// TestNestedLatticesAreVisitedAsAnyAre: sums over the cells of a coarser lattice are those of single points
// placed by their losses.
func TestNestedLatticesAreVisitedAsAnyAre(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		period := 2 + rnd.IntN(7)
		from := &tilted{h: 0.25, lo: rnd.IntN(60) - 30, p: make([]float64, 1+rnd.IntN(50))}
		for i := range from.p {
			from.p[i] = float64(rnd.IntN(3))
		}
		to := &tilted{h: 0.25 * float64(period)}
		for _, nearest := range []bool{false, true} {
			weigh := func(x float64) [2]float64 { return [2]float64{1, x} }
			mass, moment := make(map[int]float64), make(map[int]float64)
			last := math.MinInt
			from.visit(to, period, nearest, weigh, func(k int, a, b float64) {
				require.Greater(t, k, last)
				last = k
				mass[k] += a
				moment[k] += b
			})
			for i, p := range from.p {
				r := modulo(from.lo+i, period)
				k := (from.lo + i - r) / period
				if nearest && 2*r > period {
					k, r = k+1, r-period
				}
				mass[k] -= p
				moment[k] -= p * 0.25 * float64(r)
			}
			for k := range mass {
				require.Zero(t, mass[k])
				require.InDelta(t, 0, moment[k], 1e-12)
			}
		}
	}
}
