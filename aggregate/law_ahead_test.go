package aggregate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func TestAheadInClosedForm(t *testing.T) {
	for _, x := range []float64{0, 0.01, 0.7, 3, 12, 40, 700, 1e9} {
		require.InDelta(t, math.Erfc(-x/2)/2, gaussianAhead(x, 1), 1e-15)
		require.InDelta(t, 1-(2+x)*math.Exp(-x)/4, laplaceAhead(x, 1), 1e-13)
		require.InDelta(t, 1/(1+math.Exp(-x)), gumbelAhead(x, 1), 1e-15)
		require.InDelta(t, 1-math.Exp(-x)/2, oneSidedAhead(x, 1), 1e-13)
		for _, rivals := range []int{2, 9, 99, 999} {
			for _, ahead := range []func(float64, int) float64{gaussianAhead, laplaceAhead, gumbelAhead, oneSidedAhead} {
				require.GreaterOrEqual(t, ahead(x, rivals), 1/float64(rivals+1)-1e-12)
				require.LessOrEqual(t, ahead(x, rivals), ahead(x, rivals-1)+1e-12)
			}
		}
	}
}

// TestAheadIsTheLaw compares several rivals with the laws.
func TestAheadIsTheLaw(t *testing.T) {
	for _, classes := range []int{2, 3, 10, 40} {
		for _, gap := range []int{0, 3, 25, 110} {
			counts := make([]int, classes)
			counts[0] = gap
			h := histogram(t, counts...)
			x := float64(gap) / 20
			for name, c := range map[string]struct {
				ahead float64
				law   lawFunc
			}{
				"gnmax":            {gaussianAhead(x, classes-1), gnmax(t, 20).ContinuousLaw},
				"lnmax":            {laplaceAhead(x, classes-1), lnmax(t, 20).ContinuousLaw},
				"exponential":      {gumbelAhead(x, classes-1), exponential(t, 20).Law},
				"permute-and-flip": {oneSidedAhead(x, classes-1), permuteAndFlip(t, 20).Law},
			} {
				law := testkit.Must(c.law(h))
				require.InDelta(t, math.Exp(law.LogLabels[0]), c.ahead, 1e-12, "%s, %d classes, gap %d", name, classes, gap)
			}
		}
	}
}
