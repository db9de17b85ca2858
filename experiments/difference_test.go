package experiments

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDifferences(t *testing.T) {
	epsilon := 2.0
	row := func(method string, runs ...float64) Row {
		r := Row{Method: method, TargetEpsilon: 2, Epsilon: &epsilon, StandardError: 0.001, Runs: runs}
		for _, a := range runs {
			r.Accuracy += a / float64(len(runs))
		}
		if len(runs) == 1 {
			r.Runs = nil
		}
		return r
	}
	other := row("elsewhere", 0.5)
	other.TargetEpsilon = 4
	unprotected := row("unprotected", 0.5)
	unprotected.Epsilon = nil
	all := differences([]Row{row("a", 0.90, 0.92, 0.94), row("b", 0.80, 0.82, 0.84), other, unprotected})
	require.Len(t, all, 1)
	d := all[0]
	require.Equal(t, "a", d.Better)
	require.InDelta(t, 0.1, d.Mean, 1e-12)
	require.InDelta(t, 0.1-1.959964*0.001*math.Sqrt2, d.Low, 1e-9, "pairs differ alike: test rows alone")
	d = difference(row("a", 0.80, 0.82, 0.84), row("b", 0.90, 0.92, 0.94))
	require.Equal(t, "b", d.Better)
	// sd of the pairs is 0.03, and Student's t of two degrees of freedom 4.302653.
	d = difference(row("a", 0.90, 0.93, 0.96), row("b", 0.90, 0.90, 0.90))
	require.Empty(t, d.Better)
	require.InDelta(t, math.Hypot(4.302653*0.03/math.Sqrt(3), 1.959964*0.001*math.Sqrt2), d.High-d.Mean, 1e-6)
	require.Empty(t, difference(row("a", 0.900), row("b", 0.902)).Better)
	require.Equal(t, "b", difference(row("a", 0.900), row("b", 0.903)).Better)
}
