package svt

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

func TestAccountingReference(t *testing.T) {
	var ref struct {
		Calibration []struct {
			Eps, Delta float64
			Q, M       int
			Printed    float64 `json:"lambda_paper"`
			Threshold  float64 `json:"threshold_paper"`
			Spent      float64 `json:"eps_actually_spent_by_lambda_paper_optimal_composition"`
			Pure       float64 `json:"lambda_pure_composition"`
			RDP        float64 `json:"lambda_rdp"`
			Optimal    float64 `json:"lambda_optimal_composition"`
			PerQuery   float64 `json:"per_query_false_release"`
			Laplace    float64 `json:"threshold_laplace"`
			Exp        float64 `json:"threshold_exponential"`
		}
		Split []struct {
			C        int
			Monotone bool
			Ratio    [2]float64 `json:"eps1_to_eps2"`
			Share    float64    `json:"eps1_share"`
			Optimal  float64    `json:"var_optimal"`
			Equal    float64    `json:"var_equal_split"`
		} `json:"lyu_optimal_split"`
		Bounds []struct {
			Eps1, Eps2, Alpha float64
			C                 int
			Threshold         float64 `json:"laplace_threshold_bound"`
			Pure              float64 `json:"pure_dp_bound"`
			Recommended       float64
		} `json:"above_threshold_rdp_bounds"`
		Gaussian struct {
			Entries []struct {
				S1    float64 `json:"sigma_threshold"`
				S2    float64 `json:"sigma_query"`
				K     int64   `json:"k_max"`
				Alpha float64
				Bound float64
			}
		} `json:"gaussian_above_threshold_rdp_bound"`
	}
	testkit.ReadJSON(t, "testdata/svt_accounting.json", &ref)
	require.Len(t, ref.Calibration, 16)
	for _, e := range ref.Calibration {
		printed, err := PrintedMSvec(e.Eps, e.Delta, e.M, e.Q)
		require.NoError(t, err)
		require.InEpsilon(t, e.Printed, printed.Lambda, 1e-12)
		require.EqualValues(t, math.Ceil(e.Threshold), printed.Threshold)
		if e.Q < 116 {
			require.Greater(t, printed.Lambda, e.Pure, "worse than plain composition")
		}
		tight, err := CalibrateMSvec(context.Background(), e.Eps, e.Delta, e.Q)
		require.NoError(t, err)
		require.LessOrEqual(t, tight.Lambda, e.RDP*(1+1e-7), "the account knows more orders than the reference")
		require.GreaterOrEqual(t, tight.Lambda, e.Optimal*(1-1e-7), "no account can do better")
		// These check the closed form of the false release, and what a union over stretches
		// in place of queries saves.
		require.InEpsilon(t, e.PerQuery, math.Exp(-e.Laplace/(2*e.RDP))*2/3-math.Exp(-e.Laplace/e.RDP)/6, 1e-9)
		require.InDelta(t, math.Log(e.PerQuery), sumTail(e.RDP*1024, 2*e.RDP*1024, int64(math.Round(e.Laplace*1024))), 0.01, "discrete noise of a fine grid")
		require.Less(t, float64(tight.Threshold), e.Laplace, "with fewer refusals than queries the threshold is lower")
		require.InEpsilon(t, e.PerQuery, 0.5*math.Exp(-e.Exp/e.RDP)*2/3, 0.5) // b1/(b1+b2) e^(-w/b1) with b2 = 2 b1
		m, err := NewMSvec(tight)
		require.NoError(t, err)
		eps, err := epsilonOf(m.Event(), e.Delta)
		require.NoError(t, err)
		require.LessOrEqual(t, eps, e.Eps*(1+1e-9))
		require.Greater(t, eps, e.Eps*0.9)
	}
	require.Len(t, ref.Split, 8)
	for _, e := range ref.Split {
		share := ThresholdShare(e.C, e.Monotone)
		require.InEpsilon(t, e.Share, share, 1e-9)
		require.InEpsilon(t, e.Ratio[1], (1-share)/share, 1e-9)
		moves := 2 * float64(e.C)
		if e.Monotone {
			moves /= 2
		}
		variance := func(share float64) float64 { return 2/(share*share) + 2*moves*moves/((1-share)*(1-share)) }
		require.InEpsilon(t, e.Optimal, variance(share), 1e-9)
		require.InEpsilon(t, e.Equal, variance(0.5), 1e-9)
	}
	for _, e := range ref.Bounds {
		bounds, err := LaplaceBounds(1/e.Eps1, 2*float64(e.C)/e.Eps2, e.C, e.Alpha)
		require.NoError(t, err)
		require.InEpsilon(t, e.Pure, bounds[0].RDP, 1e-9)
		require.InEpsilon(t, e.Threshold, bounds[1].RDP, 1e-9)
		require.InEpsilon(t, e.Recommended, min(bounds[0].RDP, bounds[1].RDP), 1e-9)
		if e.C == 1 { // the account agrees
			got, err := curve(accountant.AboveThreshold{Epsilon1: e.Eps1, Epsilon2: e.Eps2, Answers: 1}, e.Alpha)
			require.NoError(t, err)
			require.InEpsilon(t, e.Recommended, got, 1e-9)
		}
	}
	require.Len(t, ref.Gaussian.Entries, 8)
	for _, e := range ref.Gaussian.Entries {
		b, err := GaussianBound(e.S1, e.S2, e.K, e.Alpha)
		require.NoError(t, err)
		require.InEpsilon(t, e.Bound, b.RDP, 1e-9)
		require.Equal(t, Proved, b.Basis)
	}
}

func epsilonOf(e accountant.Event, delta float64) (float64, error) {
	account, err := accountant.NewRDP(accountant.Config{Relation: accountant.ReplaceOne})
	if err != nil {
		return 0, err
	}
	if err := account.Compose(e, 1); err != nil {
		return 0, err
	}
	b, err := account.Epsilon(delta)
	return b.Upper, err
}

func TestStoppingTimeReference(t *testing.T) {
	var ref struct {
		Entries []struct {
			B1, B2, Alpha float64
			Rho           float64 `json:"eps_rho"`
			LogS          float64 `json:"log_S_star"`
			C1            float64 `json:"bound_c1"`
			C5            float64 `json:"bound_c5"`
			Pure          float64 `json:"pure_dp_bound_c1"`
		}
	}
	testkit.ReadJSON(t, "testdata/stopping_time_rdp.json", &ref)
	require.Len(t, ref.Entries, 16)
	for _, e := range ref.Entries {
		// The reference is a scan that ends short of the supremum. A bound must not end
		// short.
		require.GreaterOrEqual(t, logStopping(e.B2, e.Alpha), e.LogS)
		require.InEpsilon(t, e.LogS, logStopping(e.B2, e.Alpha), 2e-7)
		for c, want := range map[int]float64{1: e.C1, 5: e.C5} {
			bounds, err := LaplaceBounds(e.B1, e.B2, c, e.Alpha)
			require.NoError(t, err)
			require.Equal(t, "stopping time", bounds[2].Name)
			require.Equal(t, Proved, bounds[2].Basis)
			require.InEpsilon(t, want, bounds[2].RDP, 2e-7)
			if c == 1 {
				require.InEpsilon(t, e.Pure, bounds[0].RDP, 1e-9)
			}
		}
	}
}

// TestStoppingSupremum checks that no point and no smaller shift exceeds the supremum that
// was found.
func TestStoppingSupremum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := math.Exp2(rapid.Float64Range(-3, 9).Draw(t, "log2 b"))
		a := 1 + math.Exp2(rapid.Float64Range(-5, 8).Draw(t, "log2 (a-1)"))
		s := logStopping(b, a)
		for range 200 {
			x, shift := b*rapid.Float64Range(-8, 8).Draw(t, "x/b"), rapid.Float64Range(0, 2).Draw(t, "shift")
			h, miss := logLaplaceTails(x / b)
			h2, miss2 := logLaplaceTails((x + shift) / b)
			require.LessOrEqual(t, a*h+(1-a)*h2-math.Log(-math.Expm1(a*miss+(1-a)*miss2)), s+1e-12)
		}
	})
}

// TestRDPBoundsAgainstLaws checks that exact divergences of small runs are below all
// bounds. The control takes a sensitivity of 1 for the 2 that comparisons have, and exceeds
// the stopping-time bound.
func TestRDPBoundsAgainstLaws(t *testing.T) {
	largest := map[string]float64{}
	for _, pair := range [][2][]float64{
		{{0, 0, 0, 0, 0, 1}, {1, 1, 1, 1, 1, 0}}, {{1, 1, 1, 1, 1, 0}, {0, 0, 0, 0, 0, 1}},
		{{-8, -8, -8, -8, -8, -8}, {-7, -7, -7, -7, -7, -7}}, {{3, -2, 5, 0, 1, 1}, {2, -1, 4, 1, 0, 2}},
		{{-6, -6, -6, -6, -6, -6, -6, -5}, {-5, -5, -5, -5, -5, -5, -5, -6}}, {{0}, {1}}, {{1}, {0}},
	} {
		for _, b := range [][2]float64{{2, 4}, {1, 6}, {4, 3}} {
			for c := 1; c <= 3; c++ {
				l := Law{ThresholdNoise: Noise{Laplace, b[0]}, QueryNoise: Noise{Laplace, b[1]}, Stop: c}
				p, q := aligned(transcripts(t, l, pair[0]), transcripts(t, l, pair[1]))
				for _, a := range []float64{1.5, 2, 4, 16} {
					bounds, err := LaplaceBounds(b[0], b[1], c, a)
					require.NoError(t, err)
					exact := testkit.Renyi(p, q, a)
					for _, bound := range bounds {
						require.LessOrEqual(t, exact, bound.RDP*(1+1e-9), "%s", bound.Name)
						largest[bound.Name] = max(largest[bound.Name], exact/bound.RDP)
					}
				}
			}
			l := Law{ThresholdNoise: Noise{Gaussian, b[0]}, QueryNoise: Noise{Gaussian, b[1]}, Stop: 1}
			p, q := aligned(transcripts(t, l, pair[0]), transcripts(t, l, pair[1]))
			for _, a := range []float64{1.5, 2, 4} {
				bound, err := GaussianBound(b[0], b[1], int64(len(pair[0])), a)
				require.NoError(t, err)
				exact := testkit.Renyi(p, q, a)
				require.LessOrEqual(t, exact, bound.RDP)
				largest[bound.Name] = max(largest[bound.Name], exact/bound.RDP)
			}
		}
	}
	t.Log("largest share of each bound", largest)
	for _, bad := range [][3]float64{{0, 1, 2}, {1, -1, 2}, {1, 1, 1}, {1, 1, math.NaN()}} {
		_, err := LaplaceBounds(bad[0], bad[1], 1, bad[2])
		require.Error(t, err)
		_, err = GaussianBound(bad[0], bad[1], 1, bad[2])
		require.Error(t, err)
	}
	_, err := LaplaceBounds(1, 1, 0, 2)
	require.Error(t, err)
	_, err = GaussianBound(1, 1, 0, 2)
	require.Error(t, err)
}

// TestMSvecFailureIsNeverZero checks that a false release is never charged as impossible,
// however small its probability.
func TestMSvecFailureIsNeverZero(t *testing.T) {
	for _, threshold := range []int64{1 << 12, 1 << 40, 1 << 50} {
		m, err := NewMSvec(MSvecConfig{Lambda: 1, Threshold: threshold, Failures: 3})
		require.NoError(t, err)
		require.Greater(t, m.Event().(accountant.WithFailure).Delta, 0.0, threshold)
	}
}
