package dataset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"
)

// visits returns rows of units with one to nine rows each, in a random order, and without one
// of the units if without names it.
func visits(seed uint64, without string) Set {
	s := Set{Name: "visits", X: blas32.General{Cols: 2, Stride: 2}, Classes: []string{"a", "b"}}
	rnd := rand.New(rand.NewPCG(seed, 1))
	for u := range 40 {
		for v := range 1 + u%9 {
			s.X.Data = append(s.X.Data, float32(u), float32(v/2)) // some rows are equal
			s.Y = append(s.Y, v%4/3)
			s.Units = append(s.Units, fmt.Sprint("unit ", u))
			s.IDs = append(s.IDs, fmt.Sprint(u, "/", v))
		}
	}
	s.X.Rows = len(s.Y)
	var order []int
	for _, i := range rnd.Perm(len(s.Y)) {
		if s.Units[i] != without {
			order = append(order, i)
		}
	}
	return s.rows(order)
}

// byUnit returns the rows that each unit keeps, in their order.
func byUnit(t *testing.T, s Set, ends []int) map[string]string {
	kept, from := map[string]string{}, 0
	for _, end := range ends {
		require.Greater(t, end, from)
		for i := from; i < end; i++ {
			require.Equal(t, s.Units[from], s.Units[i], "rows of a unit stand together")
			kept[s.Units[i]] += fmt.Sprint(s.X.Data[2*i:2*i+2], s.Y[i])
		}
		from = end
	}
	require.Equal(t, s.Len(), from)
	return kept
}

// TestPerUnitDependsOnTheUnitAlone: the order of the file and other units change nothing about
// the rows that a unit keeps, and another key does.
func TestPerUnitDependsOnTheUnitAlone(t *testing.T) {
	of := func(seed uint64, without, key string) map[string]string {
		set, ends := visits(seed, without).PerUnit(3, []byte(key))
		for _, end := range ends {
			require.LessOrEqual(t, end, set.Len())
		}
		return byUnit(t, set, ends)
	}
	want := of(1, "", "key")
	require.Len(t, want, 40)
	require.Equal(t, want, of(2, "", "key"), "another order")
	less := of(3, "unit 17", "key")
	require.NotContains(t, less, "unit 17")
	less["unit 17"] = want["unit 17"]
	require.Equal(t, want, less, "a unit less")
	require.NotEqual(t, want, of(1, "", "other key"))

	all, ends := visits(1, "").PerUnit(256, []byte("key"))
	require.Equal(t, visits(1, "").Len(), all.Len())
	require.Len(t, ends, 40)
	for most := 1; most <= 3; most++ {
		_, ends := visits(1, "").PerUnit(most, []byte("key"))
		from := 0
		require.True(t, slices.IsSorted(ends))
		for _, end := range ends {
			require.LessOrEqual(t, end-from, most)
			from = end
		}
	}
}
