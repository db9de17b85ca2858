package publish

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
)

// Every method is among the choices once, the best first. Each bound of the rule has a case on both sides.
func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		Numbers
		want   string
		shares [4]float64 // of dpsgd, nearest, sample, pate
	}{
		"as many classes as directions": {Numbers{4200, 6, 6, 1}, Nearest, [4]float64{0.85, 0.95, 0.85, 0.85}},
		"more directions":               {Numbers{4200, 6, 6.1, 1}, DPSGD, [4]float64{0.95, 0.85, 0.7, 0.7}},
		"too few units of a class":      {Numbers{4199, 6, 6, 1}, DPSGD, [4]float64{0.85, 0.8, 0.65, 0.65}},
		"enough at a higher epsilon":    {Numbers{2100, 6, 6, 2}, Nearest, [4]float64{0.85, 0.95, 0.85, 0.85}},
		"few units, more directions":    {Numbers{1000, 2, 6, 1}, DPSGD, [4]float64{0.95, 0.8, 0.5, 0.5}},
		"five for each class":           {Numbers{9000, 2, 10, 1}, DPSGD, [4]float64{0.95, 0.85, 0.7, 0.7}},
		"more than five for each class": {Numbers{9000, 2, 10.1, 1}, DPSGD, [4]float64{0.85, 0.6, 0.5, 0.3}},
		"images":                        {Numbers{60000, 10, 0, 1}, DPSGD, [4]float64{0.95, 0.85, 0.7, 0.7}},
	} {
		choices := Choose(c.Numbers)
		require.Equal(t, c.want, choices[0].Method, name)
		for i, method := range []string{DPSGD, Nearest, Sample, PATE} {
			at := slices.IndexFunc(choices, func(c Choice) bool { return c.Method == method })
			require.InDelta(t, c.shares[i], choices[at].Share, 1e-12, "%s: %s", name, method)
			require.NotEmpty(t, choices[at].Reason)
		}
		require.Len(t, choices, 4)
		require.True(t, slices.IsSortedFunc(choices, func(a, b Choice) int { return int(100*b.Share) - int(100*a.Share) }), name)
	}
}

func TestDirections(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	rows := func(n, columns, vary int, shift float32) dense.Matrix {
		x := dense.New(n, columns)
		for i := range n {
			for j := range columns {
				x.Data[i*x.Stride+j] = shift
				if j < vary {
					x.Data[i*x.Stride+j] += float32(rnd.NormFloat64())
				}
			}
		}
		return x
	}
	require.InDelta(t, 1, directions(rows(300, 4, 1, 7)), 1e-3, "the mean does not count")
	require.InDelta(t, 4, directions(rows(3000, 6, 4, 0)), 0.1, "all of the same variance")
	require.Zero(t, directions(rows(10, 2, 0, 3)), "equal rows")
	half := rows(300, 2, 2, 0)
	for i := range half.Rows {
		half.Data[i*half.Stride+1] /= 2
	}
	require.InDelta(t, 25./17, directions(half), 0.1, "variances 1 and 1/4: (5/4)² / (17/16)")
	sorted := rows(3000, 2, 1, 0)
	for i := 2000; i < sorted.Rows; i++ {
		sorted.Data[i*sorted.Stride+1] = 1.7320508 * float32(i%2*2-1)
	}
	require.InDelta(t, 2, directions(sorted), 0.1, "the last rows are read, too")
}
