package learn

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/internal/testkit"
)

func TestSampPlanReference(t *testing.T) {
	var ref struct {
		Entries []struct {
			N        int
			Eps      float64
			Delta    float64
			Gamma    float64
			Printed  int `json:"models_printed"`
			Chernoff int `json:"models_chernoff"`
			Scan     int `json:"models_exact_binomial_scan"`
			Disjoint int `json:"models_disjoint_partition"`
		}
	}
	testkit.ReadJSON(t, "testdata/msamp.json", &ref)
	require.Len(t, ref.Entries, 4)
	for _, e := range ref.Entries {
		p, err := newSampPlan(e.N, e.Eps, e.Delta)
		require.NoError(t, err)
		require.InEpsilon(t, e.Gamma, p.gamma, 1e-9)
		require.Equal(t, []int{e.Printed, e.Chernoff, e.Disjoint}, []int{p.printed, p.chernoff, p.blocks})
		fails := func(m int) float64 {
			return float64(e.N) * distuv.Binomial{N: float64(m), P: p.gamma}.Survival(math.Floor(2*p.gamma*float64(m)))
		}
		// The law has steps. The reference is one number that will do, ours the least.
		require.LessOrEqual(t, fails(e.Scan), e.Delta)
		require.LessOrEqual(t, fails(p.scanned), e.Delta)
		for m := p.scanned - 50; m < p.scanned; m++ {
			require.Greater(t, fails(m), e.Delta)
		}
		require.LessOrEqual(t, p.scanned, e.Scan)
		require.InEpsilon(t, e.Scan, p.scanned, 0.02)
	}
	for _, c := range [][3]float64{{0, 1, 0.1}, {9, 0, 0.1}, {9, 1, 0}, {9, 1, 1}, {9, math.NaN(), 0.1}, {9, 400, 0.1}} {
		_, err := newSampPlan(int(c[0]), c[1], c[2])
		require.Error(t, err)
	}
}

// TestLaplaceClip compares the bound with the exact error on the worst data of bounded second moment, rare
// values twice as far out as the clip: the bound holds, and the printed one does not.
func TestLaplaceClip(t *testing.T) {
	const n = 2000
	for _, eps := range []float64{0.01, 0.1, 1} {
		clip, bound, err := laplaceClip(1, n, eps)
		require.NoError(t, err)
		require.InEpsilon(t, 1.0/n+6/(n*eps), bound, 1e-12)
		p := 1 / (4 * clip * clip)
		exact := (p*clip*clip-p*p*clip*clip)/n + p*p*clip*clip + 8*clip*clip/(n*n*eps*eps)
		require.LessOrEqual(t, exact, bound)
		if eps < 0.15 {
			require.Greater(t, exact, 1.0/n+4/(n*eps), "the printed bound is exceeded")
		}
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		_, _, err := laplaceClip(bad, 10, 1)
		require.Error(t, err)
		_, _, err = laplaceClip(1, 10, bad)
		require.Error(t, err)
	}
	_, _, err := laplaceClip(1, 0, 1)
	require.Error(t, err)
}
