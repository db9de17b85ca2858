package publish

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChoose(t *testing.T) {
	for name, c := range map[string]struct {
		Numbers
		shares [4]float64 // of dpsgd, nearest, sample, pate
	}{
		"as many classes as directions": {Numbers{4200, 6, 6, 1}, [4]float64{0.92, 0.9, 0.77, 0.81}},
		"more directions":               {Numbers{4200, 6, 6.1, 1}, [4]float64{0.92, 0.81, 0.61, 0.67}},
		"too few units of a class":      {Numbers{4199, 6, 6, 1}, [4]float64{0.92, 0.9, 0.67, 0.61}},
		"enough at a higher epsilon":    {Numbers{2100, 6, 6, 2}, [4]float64{0.92, 0.9, 0.77, 0.81}},
		"few units, more directions":    {Numbers{1000, 2, 6, 1}, [4]float64{0.92, 0.81, 0.51, 0.47}},
		"five for each class":           {Numbers{9000, 2, 10, 1}, [4]float64{0.92, 0.81, 0.61, 0.67}},
		"more than five for each class": {Numbers{9000, 2, 10.1, 1}, [4]float64{0.6, 0.55, 0.35, 0.4}},
		"images":                        {Numbers{60000, 10, 0, 1}, [4]float64{0.95, 0.85, 0.7, 0.7}},
	} {
		choices := Choose(c.Numbers)
		require.Equal(t, DPSGD, choices[0].Method, name)
		for i, method := range []string{DPSGD, Nearest, Sample, PATE} {
			at := slices.IndexFunc(choices, func(c Choice) bool { return c.Method == method })
			require.InDelta(t, c.shares[i], choices[at].Share, 1e-12, "%s: %s", name, method)
			require.NotEmpty(t, choices[at].Reason)
		}
		require.Len(t, choices, 4)
		require.True(t, slices.IsSortedFunc(choices, func(a, b Choice) int { return int(100*b.Share) - int(100*a.Share) }), name)
	}
}
