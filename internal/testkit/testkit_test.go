package testkit

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDivergences(t *testing.T) {
	p, q := []float64{0.5, 0.5, 0}, []float64{0.25, 0.25, 0.5}
	require.InDelta(t, 0.5, HockeyStick(p, q, 0), 1e-15)
	require.InDelta(t, 0, HockeyStick(p, q, math.Log(2)), 1e-15)
	require.InDelta(t, 0.5, EitherHockeyStick(p, q, math.Log(2)), 1e-15)
	require.InDelta(t, math.Log(2), Renyi(p, q, 7), 1e-14)
}

func TestChiSquare(t *testing.T) {
	expected := []float64{5000, 3000, 1990, 4, 6}
	require.InDelta(t, 1, ChiSquare(expected, expected), 1e-12)
	require.Less(t, ChiSquare([]float64{5500, 2500, 1990, 4, 6}, expected), FalseAlarm)
	require.Zero(t, ChiSquare([]float64{5000, 100}, []float64{5096, 4}), "what cannot happen happened often")
	require.InDelta(t, 1, ChiSquare([]float64{50}, []float64{50}), 0)
}

func TestNeighboursAreComplete(t *testing.T) {
	for teachers := 1; teachers <= 6; teachers++ {
		all := Histograms(teachers, 3)
		require.Len(t, all, (teachers+1)*(teachers+2)*(teachers+3)/6)
		pairs, found := map[[2]string]bool{}, map[[2]string]bool{}
		for i, edges := range Neighbours(all, true) {
			for _, j := range edges {
				pair := [2]string{fmt.Sprint(all[i]), fmt.Sprint(all[j])}
				require.False(t, pairs[pair])
				pairs[pair] = true
			}
		}
		votes := make([]int, teachers)
		counts := func() string {
			c := make([]int, 4)
			for _, v := range votes {
				c[v]++
			}
			return fmt.Sprint(c[:3]) // 3 is an abstention
		}
		for code := range 1 << (2 * teachers) {
			for i := range votes {
				votes[i] = code & 3
				code >>= 2
			}
			from, old := counts(), votes[0]
			for votes[0] = range 4 {
				if votes[0] != old {
					found[[2]string{from, counts()}] = true
				}
			}
		}
		require.Equal(t, found, pairs)
	}
}
