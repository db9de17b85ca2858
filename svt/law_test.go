package svt

import (
	"encoding/json"
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
	outcomes, err := l.Outcomes(values)
	require.NoError(t, err)
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
		outcomes, err := l.Outcomes(values)
		require.NoError(t, err)
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
		_, err := l.Outcomes([]float64{1})
		require.Error(t, err, "%+v", l)
	}
	_, err := Law{ThresholdNoise: noise, QueryNoise: noise}.Outcomes([]float64{math.NaN()})
	require.Error(t, err)
	_, err = Law{ThresholdNoise: Noise{Geometric, 1}, QueryNoise: Noise{Geometric, 1}}.Outcomes([]float64{0.5})
	require.Error(t, err)
	_, err = Law{ThresholdNoise: noise, QueryNoise: noise}.Outcomes(make([]float64, 30))
	require.Error(t, err)
}

// TestBrokenVariantsReference checks the broken variants of the literature exactly, and the
// ones that are right.
func TestBrokenVariantsReference(t *testing.T) {
	type law [2]any
	var ref struct {
		Variants []struct {
			Name           string
			D              json.RawMessage `json:"queries_D"`
			Other          json.RawMessage `json:"queries_D_prime"`
			Threshold      float64
			ThresholdNoise law     `json:"threshold_noise"`
			QueryNoise     law     `json:"query_noise"`
			Stop           *int    `json:"stop_after_tops"`
			Claimed        float64 `json:"claimed_eps"`
			Ratio          [2]any  `json:"max_log_ratio"`
			Best           struct {
				Direction string
				P         float64 `json:"p_event"`
				Q         float64 `json:"p_event_neighbour"`
				Stick     float64 `json:"hockey_stick"`
			} `json:"best_event"`
			LawD     map[string]float64 `json:"transcripts_D"`
			LawOther map[string]float64 `json:"transcripts_D_prime"`
			Events   []struct {
				Bottoms int
				Window  [2]float64
				P       float64
				Q       float64 `json:"p_neighbour"`
				Ratio   float64 `json:"log_ratio"`
			}
		}
	}
	testkit.ReadJSON(t, "../internal/controls/testdata/broken_variants.json", &ref)
	require.Len(t, ref.Variants, 8)
	noise := func(l law) Noise {
		if l[0] == "none" {
			return Noise{}
		}
		return Noise{kinds[l[0].(string)], l[1].(float64)}
	}
	refuted, right := 0, 0
	for _, v := range ref.Variants {
		if v.Events != nil {
			b1, b2 := v.ThresholdNoise[1].(float64), v.QueryNoise[1].(float64)
			for _, e := range v.Events {
				p := valueReleased(b1, b2, 0, 1, e.Bottoms, e.Window)
				q := valueReleased(b1, b2, 1, 0, e.Bottoms, e.Window)
				// the reference is good to 4e-7 here: by parts, with k = 1/b1 + m/b2,
				k := 1/b1 + float64(e.Bottoms)/b2
				edge := math.Exp(e.Window[0] * k)
				closed := math.Pow(0.5, float64(e.Bottoms)) / (2 * b1) / 2 * math.Exp(-1/b2) *
					((1-math.Exp(e.Window[0]/b2))*edge/k + (1-edge)/k - (1-edge*math.Exp(e.Window[0]/b2))/(k+1/b2))
				require.InEpsilon(t, closed, p, 1e-10)
				require.InEpsilon(t, e.P, p, 1e-6)
				require.InEpsilon(t, e.Q, q, 1e-6)
				require.InEpsilon(t, e.Ratio, math.Log(p/q), 1e-9)
			}
			require.Greater(t, v.Events[len(v.Events)-1].Ratio, 7*v.Claimed)
			refuted++
			continue
		}
		l := Law{Threshold: v.Threshold, ThresholdNoise: noise(v.ThresholdNoise), QueryNoise: noise(v.QueryNoise)}
		if v.Stop != nil {
			l.Stop = *v.Stop
		}
		var one, other []float64
		require.NoError(t, json.Unmarshal(v.D, &one))
		require.NoError(t, json.Unmarshal(v.Other, &other))
		p, q := transcripts(t, l, one), transcripts(t, l, other)
		for k, want := range v.LawD {
			if want > 0 {
				require.InEpsilon(t, want, p[k], 1e-9, "%s %s", v.Name, k)
			}
		}
		for k, want := range v.LawOther {
			if want > 0 {
				require.InEpsilon(t, want, q[k], 1e-9, "%s %s", v.Name, k)
			}
		}
		a, b := aligned(p, q)
		ratio := func(a, b []float64) (worst float64) {
			for i := range a {
				if a[i] > 1e-300 {
					worst = max(worst, math.Log(a[i]/b[i]))
				}
			}
			return worst
		}
		for i, got := range []float64{ratio(a, b), ratio(b, a)} {
			if v.Ratio[i] == "inf" {
				require.True(t, math.IsInf(got, 1))
			} else {
				require.InEpsilon(t, v.Ratio[i].(float64), got, 1e-9, v.Name)
			}
		}
		if v.Best.Direction == "D_prime" {
			a, b = b, a
		}
		if v.Best.Stick == 0 { // the right ones
			require.Zero(t, testkit.EitherHockeyStick(a, b, v.Claimed), v.Name)
			right++
			continue
		}
		require.InEpsilon(t, v.Best.Stick, testkit.HockeyStick(a, b, v.Claimed), 1e-9, v.Name)
		pe, qe := 0.0, 0.0
		for i := range a {
			if a[i] > math.Exp(v.Claimed)*b[i] {
				pe, qe = pe+a[i], qe+b[i]
			}
		}
		require.InEpsilon(t, v.Best.P, pe, 1e-9)
		require.InDelta(t, v.Best.Q, qe, 1e-12)
		refuted++
	}
	require.Equal(t, 2, right)
	require.Equal(t, 6, refuted)
}

// valueReleased returns the probability of this outcome, at threshold 0: the given number of queries of value
// low are below, one query of value top is above, and top plus its noise is released and lies in the window.
// Given the threshold noise z, each low query is below independently, and top + nu is in [max(z, a), b].
func valueReleased(b1, b2, low, top float64, bottoms int, window [2]float64) (p float64) {
	l := Law{ThresholdNoise: Noise{Laplace, b1}, QueryNoise: Noise{Laplace, b2}}
	values := []float64{low, top, window[0], window[1]}
	for range bottoms {
		values = append(values, low)
	}
	points, weights := l.quadrature(values, 80)
	for k, z := range points {
		if z > window[1] {
			continue
		}
		below, _ := l.QueryNoise.split(z - low)
		// Compute P[max(z, a) <= top + nu <= b].
		from := max(z, window[0]) - top
		to := window[1] - top
		_, tail := l.QueryNoise.split(from)
		_, beyond := l.QueryNoise.split(to)
		p += weights[k] * math.Pow(below, float64(bottoms)) * (tail - beyond)
	}
	return p
}
