package analysis

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// TestSmoothSensitivityOfAReleaseIsSmooth: in a small world, between all neighbours, costs differ by at
// most the smooth sensitivity of either, and that by at most the factor that is charged; so the
// divergence of the two laws is at most the charge. Without the discount for distance it is not smooth.
func TestSmoothSensitivityOfAReleaseIsSmooth(t *testing.T) {
	most := 0.0
	for _, m := range []Mechanism{gnmax(0.8), gnmax(1.5), gnmax(4), confident(5, 3, 1.5)} {
		s := testkit.Must(NewSanitizer(SanitizerConfig{Mechanism: m, Queries: 1, Teachers: 7, Classes: 3, Delta: 1e-5, Order: 3, Beta: 0.1, Sigma: 5, Margin: 1}))
		type law struct{ mean, sd, smooth float64 }
		all := testkit.Histograms(7, 3) // the rest abstains
		laws := make([]law, len(all))
		for i, h := range all {
			mean, sd, err := s.noise(context.Background(), []group{{tally: newTally(h), queries: 1}})
			require.NoError(t, err)
			laws[i] = law{mean, sd, sd / 5}
		}
		charge := testkit.Must(releaseCost(s.event(), 3))
		ratio, closest := 0.0, 0.0
		for i, edges := range testkit.Neighbours(all, true) {
			for _, j := range edges {
				p, q := laws[i], laws[j]
				require.LessOrEqual(t, math.Abs((p.mean-p.sd)-(q.mean-q.sd)), math.Min(p.smooth, q.smooth), "%v %v", all[i], all[j])
				ratio = math.Max(ratio, p.sd/q.sd)
				d := gaussianDivergence(p.mean, p.sd, q.mean, q.sd, 3)
				require.LessOrEqual(t, d, charge, "%v %v", all[i], all[j])
				closest = math.Max(closest, d/charge)
			}
		}
		require.LessOrEqual(t, ratio, math.Exp(0.1))
		t.Logf("%+v: ratio of neighbours e^%.4f, divergence up to %.3f of the charge", m, math.Log(ratio), closest)
		most = math.Max(most, closest)
	}
	require.Greater(t, most, 0.3, "the charge is not far above")
}

// gaussianDivergence is the divergence of order a of N(m, s^2) from N(n, r^2).
func gaussianDivergence(m, s, n, r, a float64) float64 {
	v := a*r*r + (1-a)*s*s
	if v <= 0 {
		return math.Inf(1)
	}
	return a*(m-n)*(m-n)/(2*v) + math.Log(r/s) + math.Log(r*r/v)/(2*(a-1))
}

// TestSmoothSensitivityOfTwoQueriesIsSmooth: a teacher moves in both at once.
func TestSmoothSensitivityOfTwoQueriesIsSmooth(t *testing.T) {
	const teachers = 5
	s := testkit.Must(NewSanitizer(SanitizerConfig{Mechanism: gnmax(0.9), Queries: 2, Teachers: teachers, Classes: 2, Delta: 1e-5, Order: 3, Beta: 0.1, Sigma: 5, Margin: 1}))
	charge := testkit.Must(releaseCost(s.event(), 3))
	all := testkit.Histograms(teachers, 2)
	edges := testkit.Neighbours(all, true)
	near := func(i, j int) bool { return i == j || slices.Contains(edges[i], j) } // one teacher votes otherwise, or abstains
	type law struct{ mean, sd float64 }
	laws := map[[2]int]law{}
	for i, p := range all {
		for j, q := range all {
			mean, sd, err := s.noise(context.Background(), []group{{tally: newTally(p), queries: 1}, {tally: newTally(q), queries: 1}})
			require.NoError(t, err)
			laws[[2]int{i, j}] = law{mean, sd}
		}
	}
	closest := 0.0
	for x, p := range laws {
		for y, q := range laws {
			if near(x[0], y[0]) && near(x[1], y[1]) {
				d := gaussianDivergence(p.mean, p.sd, q.mean, q.sd, 3)
				require.LessOrEqual(t, d, charge, "%v %v", x, y)
				closest = math.Max(closest, d/charge)
			}
		}
	}
	t.Logf("divergence up to %.3f of the charge", closest)
	require.Greater(t, closest, 0.1)
}

// TestLocalSensitivityIsNotSmooth: noise scaled by the local sensitivity alone
// differs between neighbours by more than is charged.
func TestLocalSensitivityIsNotSmooth(t *testing.T) {
	l := testkit.Must(newLocalCost(1.5, 3, 3))
	local := func(counts ...int) float64 {
		profile := make([]float64, 1)
		l.cellProfile(profile, newTally(counts), 1)
		return profile[0]
	}
	require.Greater(t, local(11, 1, 0)/local(12, 0, 0), math.Exp(0.1))
}
