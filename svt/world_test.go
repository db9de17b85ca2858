package svt

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// A world is a sequence of queries as two neighbours see it: distances, and whether the
// answers differ. Answers differ only at distance 0 on both sides.
type world struct {
	d, e  []int64
	other []bool
}

func worlds(queries int, distances ...int64) (all []world) {
	type kind struct {
		d, e  int64
		other bool
	}
	kinds := []kind{{0, 0, true}}
	for _, d := range distances {
		kinds = append(kinds, kind{d, d, false}, kind{d, d + 1, false}, kind{d + 1, d, false})
	}
	var build func(w world)
	build = func(w world) {
		if len(w.d) == queries {
			all = append(all, w)
			return
		}
		for _, k := range kinds {
			build(world{append(w.d[:len(w.d):len(w.d)], k.d), append(w.e[:len(w.e):len(w.e)], k.e), append(w.other[:len(w.other):len(w.other)], k.other)})
		}
	}
	build(world{})
	return all
}

func once[N, V any](f func(sequence []N) V) func(sequence []N) V {
	kept := map[string]V{}
	return func(sequence []N) V {
		key := fmt.Sprint(sequence)
		v, ok := kept[key]
		if !ok {
			v = f(sequence)
			kept[key] = v
		}
		return v
	}
}

func outcomesAt(t *testing.T, l Law) func(distances []int64) []Outcome {
	return once(func(distances []int64) []Outcome {
		values := testkit.Series(len(distances), func(i int) float64 { return -float64(distances[i]) })
		return testkit.Must(l.Outcomes(values))
	})
}

func stableLaw(outcomes []Outcome, other []bool) map[string]float64 {
	law := map[string]float64{}
	for _, o := range outcomes {
		var b strings.Builder
		for i, refused := range o.Above {
			switch {
			case refused:
				b.WriteByte('x')
			case other != nil && other[i]:
				b.WriteByte('B')
			default:
				b.WriteByte('A')
			}
		}
		law[b.String()] += o.Prob
	}
	return law
}

func (w world) laws(outcomes func(distances []int64) []Outcome) (p, q []float64) {
	return aligned(stableLaw(outcomes(w.d), nil), stableLaw(outcomes(w.e), w.other))
}

func TestSmallWorldStable(t *testing.T) {
	for _, m := range []StableMechanism{
		testkit.Must(NewStableSVT(StableSVTConfig{B1: 1.5, B2: 4, Threshold: 4, Failures: 1})),
		testkit.Must(NewStableSVT(StableSVTConfig{B1: 1.5, B2: 4, Threshold: 4, Failures: 2})),
		testkit.Must(NewStableSVT(StableSVTConfig{B1: 4, B2: 2, Threshold: 3, Failures: 2})),
		testkit.Must(NewStableSVT(StableSVTConfig{B1: 1, B2: 1, Threshold: 0, Failures: 1})),
		testkit.Must(NewMSvec(MSvecConfig{Lambda: 1, Threshold: 5, Failures: 1})),
		testkit.Must(NewMSvec(MSvecConfig{Lambda: 2, Threshold: 6, Failures: 2})),
		testkit.Must(NewMSvec(MSvecConfig{Lambda: 0.5, Threshold: 2, Failures: 3})),
	} {
		l := m.Law()
		var epsilons, claims []float64
		for _, eps := range []float64{0, 0.2, 0.5, 1, 1.5, 2, 3, 5} {
			epsilons, claims = append(epsilons, eps), append(claims, deltaOf(t, m.Event(), eps))
		}
		largest, count, outcomes := 0.0, 0, outcomesAt(t, l)
		all := append(worlds(1, 0, 2, 5, 9), worlds(3, 0, 3, 8)...)
		if !testkit.Race {
			all = append(all, worlds(4, 1, 6)...)
		}
		for _, w := range all {
			p, q := w.laws(outcomes)
			for i, eps := range epsilons {
				exact := testkit.EitherHockeyStick(p, q, eps)
				require.LessOrEqual(t, exact, claims[i]*(1+1e-9)+1e-13, "%+v %+v at %g", m, w, eps)
				largest = max(largest, exact/claims[i])
			}
			count++
		}
		t.Logf("%+v, %d worlds: largest share of the claim %.4f", l, count, largest)
		require.Greater(t, largest, 0.3)
	}
}

func TestLawAtIsTheLaw(t *testing.T) {
	for _, m := range []StableMechanism{
		testkit.Must(NewStableSVT(StableSVTConfig{B1: 1.5, B2: 4, Threshold: 5, Failures: 2})),
		testkit.Must(NewMSvec(MSvecConfig{Lambda: 0.3, Threshold: 2, Failures: 1})),
		testkit.Must(NewMSvec(MSvecConfig{Lambda: 3, Threshold: 11, Failures: 1})),
		testkit.Must(NewMSvec(MSvecConfig{Lambda: 300, Threshold: 2000, Failures: 1})),
	} {
		for _, d := range []int64{0, 1, 4, 5, 6, 11, 40, 3000} {
			first, none := testkit.Must2(m.Law().FirstAbove([]float64{-float64(d)}))
			released, refused := m.LawAt(d)
			require.InEpsilon(t, none, math.Exp(released), 1e-9, "%+v at %d", m, d)
			require.InDelta(t, first[0], math.Exp(refused), 1e-9*first[0]+1e-16)
		}
		d := testkit.Must(DistanceFor(m, 0.95))
		released, _ := m.LawAt(d)
		require.GreaterOrEqual(t, math.Exp(released), 0.95)
		released, _ = m.LawAt(d - 1)
		require.Less(t, math.Exp(released), 0.95)
	}
}

func TestSmallWorldSparseVector(t *testing.T) {
	worst := func(l Law, queries int, sensitivity float64, monotone bool) (ratio float64) {
		law := once(func(values []float64) map[string]float64 { return transcripts(t, l, values) })
		var walk func(a, b []float64)
		walk = func(a, b []float64) {
			if len(a) == queries {
				p, q := aligned(law(a), law(b))
				for i := range p {
					if p[i] > 1e-12 {
						ratio = max(ratio, math.Abs(math.Log(p[i]/q[i])))
					}
				}
				return
			}
			for _, v := range []float64{-1, 1} {
				for _, shift := range []float64{-sensitivity, 0, sensitivity} {
					if monotone && shift < 0 {
						continue
					}
					walk(append(a[:len(a):len(a)], 4*v), append(b[:len(b):len(b)], 4*v+shift))
				}
			}
		}
		walk(nil, nil)
		return ratio
	}
	queries := 4
	if testkit.Race {
		queries = 3
	}
	for _, cfg := range []SparseVectorConfig{
		{Noise: DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1, Threshold: 1},
		{Noise: Geometric, Epsilon: 1, Answers: 1, Sensitivity: 1, Threshold: 1},
		{Noise: DiscreteLaplace, Epsilon: 2, Answers: 2, Sensitivity: 2, Threshold: -3},
		{Noise: Geometric, Epsilon: 2, Answers: 2, Sensitivity: 1, Threshold: 0, Monotone: true},
		{Noise: DiscreteLaplace, Epsilon: 1, Answers: 2, Sensitivity: 1, Threshold: 2, Monotone: true},
	} {
		got := worst(testkit.Must(NewSparseVector(cfg)).Law(), queries, float64(cfg.Sensitivity), cfg.Monotone)
		t.Logf("%+v: loss %.4f", cfg, got)
		require.LessOrEqual(t, got, cfg.Epsilon*(1+1e-9))
		require.Greater(t, got, cfg.Epsilon/4)
	}
	m := testkit.Must(NewSparseVector(SparseVectorConfig{Noise: Geometric, Epsilon: 2, Answers: 2, Sensitivity: 1, Threshold: 0, Monotone: true}))
	require.Greater(t, worst(m.Law(), queries, 1, false), 2.0*1.01, "monotone")
	m = testkit.Must(NewSparseVector(SparseVectorConfig{Noise: DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1, Threshold: 1}))
	require.Greater(t, worst(m.Law(), queries, 2, false), 1.01, "sensitivity")
	if !testkit.Race {
		l := m.Law()
		l.Stop = 0
		require.Greater(t, worst(l, queries, 1, false), 1.01, "no stop")
	}
}

func TestSmallWorldControls(t *testing.T) {
	worst := func(l Law, worlds []world, eps float64) (delta float64) {
		outcomes := outcomesAt(t, l)
		for _, w := range worlds {
			p, q := w.laws(outcomes)
			delta = max(delta, testkit.EitherHockeyStick(p, q, eps))
		}
		return delta
	}
	m := testkit.Must(NewStableSVT(StableSVTConfig{B1: 1.5, B2: 4, Threshold: 8, Failures: 1}))
	event := m.Event().(accountant.StableSVT)
	eps, delta := 1/event.B1+2/event.B2, math.Exp(-9/1.5)
	all := worlds(3, 1, 8)
	require.LessOrEqual(t, worst(m.Law(), all, eps), delta)
	l := m.Law()
	l.Stop = 0
	require.Greater(t, worst(l, all, eps), 2*delta, "refusals that are not counted")
	l = m.Law()
	l.Stop = 2
	require.Greater(t, worst(l, all, eps), 1.5*delta, "Q + 1 refusals, charged for Q")
	l = m.Law()
	l.QueryNoise = Noise{}
	require.Greater(t, worst(l, all, eps), 2*delta, "no query noise")
	l = m.Law()
	l.QueryNoise, l.ThresholdNoise = l.ThresholdNoise, l.QueryNoise
	require.Greater(t, worst(l, all, eps), 2*delta, "scales exchanged")

	v := testkit.Must(NewMSvec(MSvecConfig{Lambda: 1.5, Threshold: 12, Failures: 1}))
	epsilon, failure := 2/1.5, v.Event().(accountant.WithFailure).Delta
	all = worlds(3, 0, 11)
	require.LessOrEqual(t, worst(v.Law(), all, epsilon), failure)
	l = v.Law()
	l.Stop = 2
	require.Greater(t, worst(l, all, epsilon), 1.5*failure, "c <= Q: Q + 1 stretches")
	l = v.Law()
	l.QueryNoise.Scale = 0.75
	require.Greater(t, worst(l, all, epsilon), 2*failure, "query noise smaller than that of the threshold")
	l = v.Law()
	l.Threshold = -11
	l.ThresholdNoise.Scale, l.QueryNoise.Scale = 8*0.25*0.25, 16*0.25*0.25 // 2/lambda = 1/4 asks for 8
	require.Greater(t, worst(l, all, 0.25), 0.05, "lambda multiplied by epsilon")
}

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
		got, rest := testkit.Must2(l.FirstAbove(queries))
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
		p, _ := testkit.Must2(l.FirstAbove(one))
		q, _ := testkit.Must2(l.FirstAbove(other))
		require.InEpsilon(t, e.P, p[e.M], 1e-9)
		require.InEpsilon(t, e.Neighbour, q[e.M], 1e-9)
		require.InDelta(t, e.LogRatio, math.Log(p[e.M]/q[e.M]), 1e-9)
		require.LessOrEqual(t, e.LogRatio, e.Claimed)
	}
}

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
