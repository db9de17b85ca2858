package svt

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

// name returns the name of a transcript, with 1 for above.
func name(above []bool) string {
	var b strings.Builder
	for _, a := range above {
		b.WriteByte("01"[map[bool]int{true: 1}[a]])
	}
	return b.String()
}

func transcripts(t require.TestingT, l Law, values []float64) map[string]float64 {
	outcomes := testkit.Must(l.Outcomes(values))
	out := map[string]float64{}
	for _, o := range outcomes {
		out[name(o.Above)] += o.Prob
	}
	return out
}

// aligned lists the probabilities of two laws over all their outcomes.
func aligned(p, q map[string]float64) (a, b []float64) {
	for k := range p {
		a, b = append(a, p[k]), append(b, q[k])
	}
	for k := range q {
		if _, ok := p[k]; !ok {
			a, b = append(a, 0), append(b, q[k])
		}
	}
	return a, b
}

var kinds = map[string]Kind{"laplace": Laplace, "lap": Laplace, "exponential": Exponential, "exp": Exponential, "gaussian": Gaussian}

func TestAboveThresholdReference(t *testing.T) {
	var ref struct {
		Entries []struct {
			Queries   []float64
			Threshold float64
			Noise     string
			B1        float64   `json:"threshold_noise_scale"`
			B2        float64   `json:"query_noise_scale"`
			First     []float64 `json:"p_first_top_at"`
			None      float64   `json:"p_no_top"`
		}
		Discrete []struct {
			Queries   []float64
			Threshold float64
			T1        float64   `json:"t_threshold"`
			T2        float64   `json:"t_query"`
			First     []float64 `json:"p_first_top_at"`
			None      float64   `json:"p_no_top"`
		} `json:"discrete_laplace_entries"`
		Tightness []struct {
			Noise     string
			M         int
			T         float64
			Claimed   float64 `json:"eps_claimed"`
			P         float64
			Neighbour float64 `json:"p_neighbour"`
			LogRatio  float64 `json:"log_ratio"`
		} `json:"epsilon_tightness"`
	}
	testkit.ReadJSON(t, "testdata/above_threshold.json", &ref)
	require.Len(t, ref.Entries, 24)
	require.Len(t, ref.Discrete, 7)
	require.Len(t, ref.Tightness, 11)
	check := func(l Law, queries, first []float64, none float64) {
		got, rest, err := l.FirstAbove(queries)
		require.NoError(t, err)
		require.InEpsilonSlice(t, first, got, 1e-9)
		require.InEpsilon(t, none, rest, 1e-9)
	}
	for _, e := range ref.Entries {
		kind := kinds[e.Noise]
		check(Law{Threshold: e.Threshold, ThresholdNoise: Noise{kind, e.B1}, QueryNoise: Noise{kind, e.B2}}, e.Queries, e.First, e.None)
	}
	for _, e := range ref.Discrete {
		check(Law{Threshold: e.Threshold, ThresholdNoise: Noise{DiscreteLaplace, e.T1}, QueryNoise: Noise{DiscreteLaplace, e.T2}}, e.Queries, e.First, e.None)
	}
	// With D = (0^m, 1) and D' = (1^m, 0) the bound is attained as m grows.
	for _, e := range ref.Tightness {
		kind := kinds[e.Noise]
		l := Law{Threshold: e.T, ThresholdNoise: Noise{kind, 2}, QueryNoise: Noise{kind, 4}}
		one, other := make([]float64, e.M+1), make([]float64, e.M+1)
		one[e.M] = 1
		for i := range e.M {
			other[i] = 1
		}
		p, _, err := l.FirstAbove(one)
		require.NoError(t, err)
		q, _, err := l.FirstAbove(other)
		require.NoError(t, err)
		require.InEpsilon(t, e.P, p[e.M], 1e-9)
		require.InEpsilon(t, e.Neighbour, q[e.M], 1e-9)
		require.InDelta(t, e.LogRatio, math.Log(p[e.M]/q[e.M]), 1e-9)
		require.LessOrEqual(t, e.LogRatio, e.Claimed)
	}
}

// TestLawsAddUp checks that the probabilities of outcomes add up to 1 for any law.
func TestLawsAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.Float64Range(0.3, 20)
		kind := rapid.SampledFrom([]Kind{Laplace, Exponential, Gaussian, DiscreteLaplace, Geometric})
		l := Law{ThresholdNoise: Noise{kind.Draw(t, "kind"), scale.Draw(t, "b1")}, Stop: rapid.IntRange(0, 3).Draw(t, "stop"), Refresh: rapid.Bool().Draw(t, "refresh")}
		query := kind
		if l.ThresholdNoise.discrete() {
			query = rapid.SampledFrom([]Kind{DiscreteLaplace, Geometric})
		} else {
			query = rapid.SampledFrom([]Kind{Laplace, Exponential, Gaussian})
		}
		l.QueryNoise = Noise{query.Draw(t, "query kind"), scale.Draw(t, "b2")}
		values := make([]float64, rapid.IntRange(1, 6).Draw(t, "queries"))
		for i := range values {
			values[i] = float64(rapid.IntRange(-9, 9).Draw(t, "value"))
		}
		outcomes := testkit.Must(l.Outcomes(values))
		require.EqualValues(t, l.outcomes(len(values)), len(outcomes))
		total := 0.0
		for _, o := range outcomes {
			require.GreaterOrEqual(t, o.Prob, 0.0)
			total += o.Prob
		}
		require.InDelta(t, 1, total, 1e-9)
	})
	noise := Noise{Laplace, 1}
	for _, l := range []Law{
		{}, {ThresholdNoise: noise, QueryNoise: Noise{Geometric, 1}}, {ThresholdNoise: Noise{Laplace, math.NaN()}, QueryNoise: noise},
		{ThresholdNoise: Noise{6, 1}, QueryNoise: noise}, {ThresholdNoise: Noise{Laplace, 1e11}, QueryNoise: Noise{Laplace, 0.1}},
	} {
		require.Error(t, testkit.Err(l.Outcomes([]float64{1})), "%+v", l)
	}
	require.Error(t, testkit.Err(Law{ThresholdNoise: noise, QueryNoise: noise}.Outcomes([]float64{math.NaN()})))
	require.Error(t, testkit.Err(Law{ThresholdNoise: Noise{Geometric, 1}, QueryNoise: Noise{Geometric, 1}}.Outcomes([]float64{0.5})))
	require.Error(t, testkit.Err(Law{ThresholdNoise: noise, QueryNoise: noise}.Outcomes(make([]float64, 30))))
}
