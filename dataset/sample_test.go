package dataset

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// without is the set less the row at i.
func without(t *testing.T, s Set, i int) Set {
	t.Helper()
	out := s
	out.Y = slices.Delete(slices.Clone(s.Y), i, i+1)
	out.Units = slices.Delete(slices.Clone(s.Units), i, i+1)
	out.IDs = slices.Delete(slices.Clone(s.IDs), i, i+1)
	out.X.Data = slices.Delete(slices.Clone(s.X.Data), i*s.X.Stride, (i+1)*s.X.Stride)
	out.X.Rows--
	require.NoError(t, out.Validate())
	return out
}

// TestSampleOfANeighbourIsANeighbour: the first tenth of the rows, the negative
// control, pulls in the row after it.
func TestSampleOfANeighbourIsANeighbour(t *testing.T) {
	task, err := SplitTable(randomTable(400, 400), Literature)
	require.NoError(t, err)
	whole := task.Private
	sample := func(s Set) map[string]bool {
		got, err := s.Sample(0.1)
		require.NoError(t, err)
		return unitSet(got)
	}
	tenth := func(s Set) map[string]bool {
		got, err := s.Slice(0, whole.Len()/10)
		require.NoError(t, err)
		return unitSet(got)
	}
	all, first := sample(whole), tenth(whole)
	pulledIn := false
	for i := range whole.Len() {
		less := without(t, whole, i)
		for u := range sample(less) {
			assert.True(t, all[u], "%s came in without row %d", u, i)
		}
		for u := range tenth(less) {
			pulledIn = pulledIn || !first[u]
		}
	}
	assert.True(t, pulledIn, "the control must fail")
}

func TestSampleKeepsWholeUnitsAndAllFields(t *testing.T) {
	task, err := SplitTable(randomTable(9000, 3000), Literature)
	require.NoError(t, err)
	s := task.Private
	s.Image = Shape{Rows: 1, Cols: s.X.Cols}
	before := s.Hash()
	got, err := s.Sample(0.1)
	require.NoError(t, err)
	require.NoError(t, got.Validate())
	assert.Equal(t, []any{s.Name, s.Classes, s.Image, s.Provenance}, []any{got.Name, got.Classes, got.Image, got.Provenance})

	// About 2000 units: 5 standard deviations are 0.034. The sample is fixed, so
	// there is no false alarm beyond the first run.
	kept := unitSet(got)
	assert.InDelta(t, 0.1, float64(len(kept))/float64(len(unitSet(s))), 0.034)
	at := 0
	for i, u := range s.Units {
		if !kept[u] {
			continue
		}
		assert.Equal(t, []any{s.IDs[i], u, s.Y[i]}, []any{got.IDs[at], got.Units[at], got.Y[at]})
		assert.Equal(t, s.X.Data[i*s.X.Stride:i*s.X.Stride+s.X.Cols], got.X.Data[at*got.X.Stride:at*got.X.Stride+got.X.Cols])
		at++
	}
	assert.Equal(t, got.Len(), at)

	got.X.Data[0]++
	got.Y[0]++
	got.Units[0] += "x"
	assert.Equal(t, before, s.Hash(), "rows are copied")

	everything, err := s.Sample(1)
	require.NoError(t, err)
	assert.Equal(t, before, everything.Hash())
	for _, fraction := range []float64{0, -1, 1.1, math.NaN(), math.Inf(1)} {
		_, err := s.Sample(fraction)
		assert.ErrorContains(t, err, "fraction")
	}
}
