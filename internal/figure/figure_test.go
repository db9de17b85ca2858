package figure

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesDoNotLieUponEachOther(t *testing.T) {
	ends := []float64{99, 99.9, 99, 70, 98.9, 99.5}
	const step = 40.0 / 18
	at := apart(ends, step, 60, 100-step/2)
	for _, height := range at {
		require.LessOrEqual(t, height, 100.0)
	}
	require.InDelta(t, 70, at[3], 1e-9, "nothing is near")
	require.Greater(t, at[1], at[5])
	slices.Sort(at)
	for i := range at[1:] {
		require.GreaterOrEqual(t, at[i+1]-at[i], step-1e-9)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis Axis
		want []float64
	}{
		{Axis{Low: 0, High: 1}, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{Axis{Low: -3, High: 12}, []float64{0, 5, 10}},
		{Axis{Low: 97.2, High: 99.1}, []float64{97.5, 98, 98.5, 99}},
		{Axis{Low: 1, High: 100, Log: true}, []float64{1, 2, 5, 10, 20, 50, 100}},
		{Axis{Low: 1e-9, High: 1e3, Log: true}, []float64{1e-8, 1e-6, 1e-4, 1e-2, 1, 100}},
	} {
		require.InDeltaSlice(t, c.want, c.axis.over(nil).Ticks, 1e-9, "%+v", c.axis)
	}
}
