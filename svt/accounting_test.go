package svt

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

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
			Recommended       float64
		} `json:"above_threshold_rdp_bounds"`
	}
	testkit.ReadJSON(t, "testdata/svt_accounting.json", &ref)
	require.Len(t, ref.Calibration, 16)
	for _, e := range ref.Calibration {
		printed := testkit.Must(PrintedMSvec(e.Eps, e.Delta, e.M, e.Q))
		require.InEpsilon(t, e.Printed, printed.Lambda, 1e-12)
		require.EqualValues(t, math.Ceil(e.Threshold), printed.Threshold)
		if e.Q < 116 {
			require.Greater(t, printed.Lambda, e.Pure, "worse than plain composition")
		}
		tight := testkit.Must(CalibrateMSvec(context.Background(), e.Eps, e.Delta, e.Q))
		require.LessOrEqual(t, tight.Lambda, e.RDP*(1+1e-7), "the account knows more orders than the reference")
		require.GreaterOrEqual(t, tight.Lambda, e.Optimal*(1-1e-7), "no account can do better")
		// These check the closed form of the false release, and what a union over stretches
		// in place of queries saves.
		require.InEpsilon(t, e.PerQuery, math.Exp(-e.Laplace/(2*e.RDP))*2/3-math.Exp(-e.Laplace/e.RDP)/6, 1e-9)
		require.InDelta(t, math.Log(e.PerQuery), sumTail(e.RDP*1024, 2*e.RDP*1024, int64(math.Round(e.Laplace*1024))), 0.01, "discrete noise of a fine grid")
		require.Less(t, float64(tight.Threshold), e.Laplace, "with fewer refusals than queries the threshold is lower")
		require.InEpsilon(t, e.PerQuery, 0.5*math.Exp(-e.Exp/e.RDP)*2/3, 0.5) // b1/(b1+b2) e^(-w/b1) with b2 = 2 b1
		account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.ReplaceOne}))
		require.NoError(t, account.Compose(newMSvec(t, tight).Event(), 1))
		eps := testkit.Must(account.Epsilon(context.Background(), e.Delta))
		require.LessOrEqual(t, eps.Upper, e.Eps*(1+1e-9))
		require.Greater(t, eps.Upper, e.Eps*0.9)
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
		if e.C == 1 {
			event := accountant.AboveThreshold{Epsilon1: e.Eps1, Epsilon2: e.Eps2, Answers: 1}
			got, _, err := accountant.Divergence(accountant.ReplaceOne, e.Alpha, event)
			require.NoError(t, err)
			require.InEpsilon(t, e.Recommended, got, 1e-9)
		}
	}
}

// TestMSvecFailureIsNeverZero checks that a false release is never charged as impossible,
// however small its probability.
func TestMSvecFailureIsNeverZero(t *testing.T) {
	for _, threshold := range []int64{1 << 12, 1 << 40, 1 << 50} {
		m := newMSvec(t, MSvecConfig{Lambda: 1, Threshold: threshold, Failures: 3})
		require.Greater(t, m.Event().(accountant.WithFailure).Delta, 0.0, threshold)
	}
}
