package audit_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/testkit"
)

type golden struct {
	ClopperPearson struct {
		Entries []struct {
			K1       int     `json:"k1"`
			N1       int     `json:"n1"`
			K0       int     `json:"k0"`
			N0       int     `json:"n0"`
			Delta    float64 `json:"delta"`
			Alpha    float64 `json:"alpha"`
			P1Lower  float64 `json:"p1_lower"`
			P0Upper  float64 `json:"p0_upper"`
			EpsLower float64 `json:"eps_lower"`
		} `json:"entries"`
	} `json:"clopper_pearson"`
	OneRun struct {
		Entries []struct {
			M          int                `json:"m"`
			R          int                `json:"r"`
			V          int                `json:"v"`
			Delta      float64            `json:"delta"`
			PValue     map[string]float64 `json:"p_value_at_eps"`
			EpsLower95 float64            `json:"eps_lower_95"`
		} `json:"entries"`
	} `json:"one_run"`
	Power []struct {
		Variant      string             `json:"variant"`
		ClaimedEps   float64            `json:"claimed_eps"`
		ClaimedDelta float64            `json:"claimed_delta"`
		P            float64            `json:"p"`
		Q            float64            `json:"q"`
		Lower        map[string]float64 `json:"eps_lower_at_expected_counts"`
		Detected     map[string]bool    `json:"detected"`
	} `json:"power"`
}

func readGolden(t *testing.T) (g golden) {
	data := testkit.Must(os.ReadFile("testdata/auditing.json"))
	require.NoError(t, json.Unmarshal(data, &g))
	return g
}

func near(t *testing.T, want, got float64, what ...any) {
	t.Helper()
	if want == 0 {
		require.InDelta(t, want, got, 1e-12, what...)
		return
	}
	require.InEpsilon(t, want, got, 1e-9, what...)
}

func TestClopperPearsonLimits(t *testing.T) {
	for _, e := range readGolden(t).ClopperPearson.Entries {
		on, beside := audit.Count{Hits: e.K1, Runs: e.N1}, audit.Count{Hits: e.K0, Runs: e.N0}
		lower, _, err := on.Limits(e.Alpha)
		require.NoError(t, err)
		near(t, e.P1Lower, lower)
		require.LessOrEqual(t, lower, e.P1Lower, "rounded outwards")
		_, upper, err := beside.Limits(e.Alpha)
		require.NoError(t, err)
		near(t, e.P0Upper, upper)
		require.GreaterOrEqual(t, upper, e.P0Upper, "rounded outwards")
		bound := testkit.Must(audit.LowerBound(on, beside, e.Delta, e.Alpha))
		near(t, e.EpsLower, bound)
	}
}

func TestOneRunPValues(t *testing.T) {
	for _, e := range readGolden(t).OneRun.Entries {
		g := audit.Guesses{Canaries: e.M, Made: e.R, Right: e.V}
		for text, want := range e.PValue {
			epsilon := testkit.Must(strconv.ParseFloat(text, 64))
			p := testkit.Must(g.PValue(audit.Claim{Epsilon: epsilon, Delta: e.Delta}))
			near(t, want, p, "%+v at epsilon %s", g, text)
		}
		f := testkit.Must(audit.OneRun(g, audit.Claim{Epsilon: 1, Delta: e.Delta}, 0.05))
		near(t, e.EpsLower95, f.Epsilon)
	}
}

// TestPowerOfKnownEvents: at counts as expected, the number of runs decides what is refuted as it should.
func TestPowerOfKnownEvents(t *testing.T) {
	for _, v := range readGolden(t).Power {
		for text, want := range v.Lower {
			runs := testkit.Must(strconv.Atoi(text))
			expected := func(p float64) audit.Count { return audit.Count{Hits: int(p*float64(runs) + 0.5), Runs: runs} }
			bound := testkit.Must(audit.LowerBound(expected(v.P), expected(v.Q), v.ClaimedDelta, 1e-4))
			near(t, want, bound, "%s, %d runs", v.Variant, runs)
			require.Equal(t, v.Detected[text], bound > v.ClaimedEps, "%s, %d runs", v.Variant, runs)
		}
	}
}
