package svt

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// A world is a sequence of queries as two neighbours see it: distances, and whether the
// answers differ. Answers differ only at distance 0 on both sides.
type world struct {
	d, e  []int64
	other []bool
}

// worlds lists all sequences of the given number of queries from a few kinds of each sort.
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

// stableLaw returns the law of released labels. The label is A, or B on the other side for
// answers that differ. A refusal is x.
func stableLaw(t *testing.T, l Law, distances []int64, other []bool) map[string]float64 {
	values := make([]float64, len(distances))
	for i, d := range distances {
		values[i] = -float64(d)
	}
	outcomes, err := l.Outcomes(values)
	require.NoError(t, err)
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

func (w world) laws(t *testing.T, l Law) (p, q []float64) {
	return aligned(stableLaw(t, l, w.d, nil), stableLaw(t, l, w.e, w.other))
}

// TestSmallWorldStable checks that all transcripts of all sequences of up to four queries
// are within what is charged.
func TestSmallWorldStable(t *testing.T) {
	for _, m := range []StableMechanism{
		newStable(t, StableSVTConfig{B1: 1.5, B2: 4, Threshold: 4, Failures: 1}),
		newStable(t, StableSVTConfig{B1: 1.5, B2: 4, Threshold: 4, Failures: 2}),
		newStable(t, StableSVTConfig{B1: 4, B2: 2, Threshold: 3, Failures: 2}),
		newStable(t, StableSVTConfig{B1: 1, B2: 1, Threshold: 0, Failures: 1}),
		newMSvec(t, MSvecConfig{Lambda: 1, Threshold: 5, Failures: 1}),
		newMSvec(t, MSvecConfig{Lambda: 2, Threshold: 6, Failures: 2}),
		newMSvec(t, MSvecConfig{Lambda: 0.5, Threshold: 2, Failures: 3}),
	} {
		l := m.Law()
		var epsilons, claims []float64
		for _, eps := range []float64{0, 0.2, 0.5, 1, 1.5, 2, 3, 5} {
			epsilons, claims = append(epsilons, eps), append(claims, deltaOf(t, m.Event(), eps))
		}
		largest, count := 0.0, 0
		all := append(worlds(1, 0, 2, 5, 9), worlds(3, 0, 3, 8)...)
		if !testkit.Race {
			all = append(all, worlds(4, 1, 6)...)
		}
		for _, w := range all {
			p, q := w.laws(t, l)
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

// TestFalseReleases checks the probability of a false release, when all queries are
// unstable and all answers differ. In the stable run it is the closed form, and a little
// more is charged. In M_svec it is 1 - (1-p)^Q, for any number of queries. Distances in
// between, which tell that the threshold is low, do not help.
func TestFalseReleases(t *testing.T) {
	anyFalse := func(l Law, distances []int64) (p float64) {
		for k, prob := range stableLaw(t, l, distances, unstable(distances)) {
			if strings.Contains(k, "B") {
				p += prob
			}
		}
		return p
	}
	for q := 1; q <= 3; q++ {
		s := newStable(t, StableSVTConfig{B1: 1.5, B2: 6, Threshold: 5, Failures: q})
		r1, r2 := math.Exp(-1/1.5), math.Pow(math.Exp(-1.0/6), float64(q))
		exact := math.Pow(r1, 6) * (1 - r2) / (1 - r1*r2)
		require.InEpsilon(t, exact, anyFalse(s.Law(), make([]int64, 8)), 1e-9)
		charged := math.Pow(r1, 6)
		require.Less(t, exact, charged)
		m := newMSvec(t, MSvecConfig{Lambda: 1.5, Threshold: 7, Failures: q})
		single := math.Exp(sumTail(1.5, 3, 8))
		require.InEpsilon(t, -math.Expm1(float64(q)*math.Log1p(-single)), anyFalse(m.Law(), make([]int64, 8)), 1e-9)
		failure := m.Event().(accountant.WithFailure).Delta
		require.InEpsilon(t, float64(q)*single, failure, 1e-8)

		// This tries every sequence of seven queries from three distances.
		worst, worstM := 0.0, 0.0
		var walk func(d []int64)
		walk = func(d []int64) {
			if len(d) == 7 {
				worst = max(worst, anyFalse(s.Law(), d))
				worstM = max(worstM, anyFalse(m.Law(), d))
				return
			}
			for _, next := range []int64{0, 5, 9} {
				walk(append(d[:len(d):len(d)], next))
			}
		}
		if q == 2 && !testkit.Race {
			walk(nil)
			require.InEpsilon(t, exact, worst, 1e-9)
			require.LessOrEqual(t, worstM, failure)
			t.Logf("%d refusals: M_svec false releases up to %.4f of the charge", q, worstM/failure)
		}
	}
	// A release right after one at distance 5 is likelier than one out of the blue. This is
	// why a union over queries with the unconditional p is not enough by itself.
	m := newMSvec(t, MSvecConfig{Lambda: 1.5, Threshold: 7, Failures: 1})
	law := stableLaw(t, m.Law(), []int64{7, 7, 7, 0}, []bool{false, false, false, true})
	released := law["AAAB"] + law["AAAx"]
	require.Greater(t, law["AAAB"]/released, 1.2*math.Exp(sumTail(1.5, 3, 8)))
}

func unstable(distances []int64) []bool {
	out := make([]bool, len(distances))
	for i, d := range distances {
		out[i] = d == 0
	}
	return out
}

func TestStableReference(t *testing.T) {
	var ref struct {
		Samples []struct {
			B1, B2     float64
			W          int64
			Q          int
			Eps, Delta float64
			D          []int64            `json:"distances_D"`
			Labels     []string           `json:"labels_D"`
			E          []int64            `json:"distances_D_prime"`
			Other      []string           `json:"labels_D_prime"`
			Law        map[string]float64 `json:"law_D"`
			Exact      float64            `json:"exact_delta_at_eps"`
			Unstable   int                `json:"m_unstable_queries"`
			Any        float64            `json:"p_any_release"`
			Bound      float64
		}
	}
	testkit.ReadJSON(t, "testdata/stable_svt_onesided.json", &ref)
	require.Len(t, ref.Samples, 21)
	laws := 0
	for _, e := range ref.Samples {
		if e.Unstable > 0 { // a run without end
			m := newStable(t, StableSVTConfig{B1: e.B1, B2: e.B2, Threshold: e.W, Failures: e.Unstable})
			r1, r2 := math.Exp(-1/e.B1), math.Exp(-float64(e.Unstable)/e.B2)
			require.InEpsilon(t, e.Any, math.Pow(r1, float64(e.W)+1)*(1-r2)/(1-r1*r2), 1e-9, "the law of the least of so many")
			require.InEpsilon(t, e.Bound, math.Pow(r1, float64(e.W)+1), 1e-9)
			if e.Unstable <= 20 {
				_, none, err := Law{Threshold: -float64(e.W), ThresholdNoise: Noise{Geometric, e.B1}, QueryNoise: Noise{Geometric, e.B2}}.FirstAbove([]float64{0})
				require.NoError(t, err)
				released, _ := m.LawAt(0)
				require.InEpsilon(t, none, math.Exp(released), 1e-9)
			}
			continue
		}
		m := newStable(t, StableSVTConfig{B1: e.B1, B2: e.B2, Threshold: e.W, Failures: e.Q})
		other := make([]bool, len(e.D))
		for i := range other {
			other[i] = e.Labels[i] != e.Other[i]
		}
		for k, want := range e.Law {
			got := stableLaw(t, m.Law(), e.D, nil)[strings.ReplaceAll(strings.ReplaceAll(k, "fail", "x"), "|", "")]
			require.InEpsilon(t, want, got, 1e-9)
			laws++
		}
		p, q := world{e.D, e.E, other}.laws(t, m.Law())
		exact := testkit.EitherHockeyStick(p, q, e.Eps*(1+1e-15))
		require.InDelta(t, e.Exact, exact, 1e-9*e.Exact+1e-14, "%+v", e.D)
		require.LessOrEqual(t, exact, e.Delta)
		require.InEpsilon(t, e.Delta, deltaOf(t, m.Event(), e.Eps*1.001), 1e-9)
	}
	require.Positive(t, laws)
}

// TestStretchReference checks exact divergences of one stretch of M_svec in continuous
// noise, and of exponential noise on both.
func TestStretchReference(t *testing.T) {
	var ref struct {
		Check struct {
			Samples []struct {
				Noise     string
				B1, B2, W float64
				PerQuery  float64  `json:"per_query_delta"`
				D         []int64  `json:"distances_D"`
				Labels    []string `json:"labels_D"`
				E         []int64  `json:"distances_D_prime"`
				Other     []string `json:"labels_D_prime"`
				Exact     float64  `json:"exact_delta_at_eps0"`
				Bound     float64
			}
		} `json:"epoch_exact_check"`
	}
	testkit.ReadJSON(t, "testdata/svt_accounting.json", &ref)
	require.Len(t, ref.Check.Samples, 16)
	for _, e := range ref.Check.Samples {
		kind := kinds[e.Noise]
		l := Law{Threshold: -e.W, ThresholdNoise: Noise{kind, e.B1}, QueryNoise: Noise{kind, e.B2}, Stop: 1}
		other := make([]bool, len(e.D))
		for i := range other {
			other[i] = e.Labels[i] != e.Other[i]
		}
		p, q := world{e.D, e.E, other}.laws(t, l)
		exact := max(testkit.HockeyStick(p, q, 1/e.B1+2/e.B2), testkit.HockeyStick(q, p, 1/e.B1+2/e.B2))
		require.InDelta(t, e.Exact, exact, 1e-8*e.Exact+1e-12, "%+v", e)
		require.LessOrEqual(t, exact, e.PerQuery*(1+1e-9), "one false release per stretch, however many queries")
	}
}

// TestLawAtIsTheLaw checks that the closed forms of one query agree with the law.
func TestLawAtIsTheLaw(t *testing.T) {
	for _, m := range []StableMechanism{
		newStable(t, StableSVTConfig{B1: 1.5, B2: 4, Threshold: 5, Failures: 2}),
		newMSvec(t, MSvecConfig{Lambda: 0.3, Threshold: 2, Failures: 1}),
		newMSvec(t, MSvecConfig{Lambda: 3, Threshold: 11, Failures: 1}),
		newMSvec(t, MSvecConfig{Lambda: 300, Threshold: 2000, Failures: 1}),
	} {
		for _, d := range []int64{0, 1, 4, 5, 6, 11, 40, 3000} {
			first, none, err := m.Law().FirstAbove([]float64{-float64(d)})
			require.NoError(t, err)
			released, refused := m.LawAt(d)
			require.InEpsilon(t, none, math.Exp(released), 1e-9, "%+v at %d", m, d)
			require.InDelta(t, first[0], math.Exp(refused), 1e-9*first[0]+1e-16)
		}
		d, err := DistanceFor(m, 0.95)
		require.NoError(t, err)
		released, _ := m.LawAt(d)
		require.GreaterOrEqual(t, math.Exp(released), 0.95)
		released, _ = m.LawAt(d - 1)
		require.Less(t, math.Exp(released), 0.95)
	}
}

// TestSmallWorldSparseVector tries a sparse vector on every small pair of neighbours, moved
// by the sensitivity in every direction. It checks pure epsilon, and how much of it is
// used.
func TestSmallWorldSparseVector(t *testing.T) {
	worst := func(l Law, queries int, sensitivity float64, monotone bool) (ratio float64) {
		var walk func(a, b []float64)
		walk = func(a, b []float64) {
			if len(a) == queries {
				p, q := aligned(transcripts(t, l, a), transcripts(t, l, b))
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
		m := newSparse(t, cfg)
		got := worst(m.Law(), queries, float64(cfg.Sensitivity), cfg.Monotone)
		t.Logf("%+v: loss %.4f", cfg, got)
		require.LessOrEqual(t, got, cfg.Epsilon*(1+1e-9))
		require.Greater(t, got, cfg.Epsilon/4)
	}
	// Controls: the noise of monotone queries on others, sensitivity 1 noise for 2, and no
	// stop.
	m := newSparse(t, SparseVectorConfig{Noise: Geometric, Epsilon: 2, Answers: 2, Sensitivity: 1, Threshold: 0, Monotone: true})
	require.Greater(t, worst(m.Law(), queries, 1, false), 2.0*1.01, "monotone")
	m = newSparse(t, SparseVectorConfig{Noise: DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1, Threshold: 1})
	require.Greater(t, worst(m.Law(), queries, 2, false), 1.01, "sensitivity")
	if !testkit.Race {
		l := m.Law()
		l.Stop = 0
		require.Greater(t, worst(l, queries, 1, false), 1.01, "no stop")
	}
}

// TestSmallWorldControls tries broken stable runs on the same worlds.
func TestSmallWorldControls(t *testing.T) {
	worst := func(l Law, worlds []world, eps float64) (delta float64) {
		for _, w := range worlds {
			p, q := w.laws(t, l)
			delta = max(delta, testkit.EitherHockeyStick(p, q, eps))
		}
		return delta
	}
	m := newStable(t, StableSVTConfig{B1: 1.5, B2: 4, Threshold: 8, Failures: 1})
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

	v := newMSvec(t, MSvecConfig{Lambda: 1.5, Threshold: 12, Failures: 1})
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

// TestCalibrateStableSVT checks that the calibration is what its formula says, close to the
// best, and never above target.
func TestCalibrateStableSVT(t *testing.T) {
	for _, c := range []struct {
		eps, delta float64
		q          int
		refusal    float64
	}{{1, 1e-6, 20, 0.05}, {0.5, 1e-5, 1, 0.01}, {4, 1e-6, 5, 1e-4}, {8, 1e-9, 100, 0.2}} {
		cfg, err := CalibrateStableSVT(c.eps, c.delta, c.q, c.refusal)
		require.NoError(t, err)
		m := newStable(t, cfg)
		require.LessOrEqual(t, 1/cfg.B1+2*float64(c.q)/cfg.B2, c.eps)
		require.InEpsilon(t, c.eps, 1/cfg.B1+2*float64(c.q)/cfg.B2, 1e-9)
		require.LessOrEqual(t, math.Exp(-float64(cfg.Threshold+1)/cfg.B1), c.delta)
		require.Greater(t, math.Exp(-float64(cfg.Threshold)/cfg.B1), c.delta)
		d, err := DistanceFor(m, 1-c.refusal)
		require.NoError(t, err)
		formula := math.Pow(math.Sqrt(-math.Log(c.delta))+math.Sqrt(-2*float64(c.q)*math.Log(c.refusal)), 2) / c.eps
		require.LessOrEqual(t, float64(d), formula+1)
		require.Greater(t, float64(d), 0.8*formula)
		best := d
		for share := 0.01; share < 1; share += 0.01 {
			other := StableSVTConfig{B1: 1 / (share * c.eps), B2: 2 * float64(c.q) / ((1 - share) * c.eps), Failures: c.q}
			other.Threshold = int64(math.Ceil(-math.Log(c.delta)*other.B1)) - 1
			e, err := DistanceFor(newStable(t, other), 1-c.refusal)
			require.NoError(t, err)
			best = min(best, e)
		}
		t.Logf("%+v: distance %d, best %d, formula %.1f", c, d, best, formula)
		require.LessOrEqual(t, float64(d), 1.06*float64(best)+1)
	}
}

// TestRegimeReference checks the gap of votes that a query needs. Ours is that of the
// table, and the printed M_svec is as bad as the table says.
func TestRegimeReference(t *testing.T) {
	var ref struct {
		Entries []map[string]float64
	}
	testkit.ReadJSON(t, "../aggregate/plan/testdata/regime_table.json", &ref)
	require.Len(t, ref.Entries, 16)
	for _, e := range ref.Entries {
		eps, delta, queries := e["eps"], e["delta"], int(e["queries"])
		gap := func(m StableMechanism, refusal float64) float64 {
			d, err := DistanceFor(m, 1-refusal)
			require.NoError(t, err)
			return 2*float64(d) + 1
		}
		for _, q := range []int{5, 20, 100} {
			one := func(refusal float64) float64 {
				cfg, err := CalibrateStableSVT(eps, delta, q, refusal)
				require.NoError(t, err)
				return gap(newStable(t, cfg), refusal)
			}
			require.InDelta(t, e[fmt.Sprintf("svt_onesided_Q%d", q)], one(0.05), 0.02*one(0.05)+2)
			rare := min(0.05, float64(q)/float64(2*queries))
			require.InDelta(t, e[fmt.Sprintf("svt_onesided_Q%d_beta_Q_over_2m", q)], one(rare), 0.02*one(rare)+2)

			printed, err := PrintedMSvec(eps, delta, queries, q)
			require.NoError(t, err)
			require.InDelta(t, e[fmt.Sprintf("svt_paper_Q%d", q)], gap(newMSvec(t, printed), 0.05), 6)
			tight, err := CalibrateMSvec(t.Context(), eps, delta, q)
			require.NoError(t, err)
			// The reference has a union over queries, so it needs a larger gap for more
			// queries.
			got, want := gap(newMSvec(t, tight), 0.05), e[fmt.Sprintf("svt_laplace_rdp_Q%d", q)]
			if queries > q {
				require.Less(t, got, want)
			}
			if eps == 1 {
				t.Logf("%d queries, %d refusals: one-sided %.0f, M_svec calibrated %.0f (with a union over queries %.0f), printed %.0f",
					queries, q, one(rare), got, want, e[fmt.Sprintf("svt_paper_Q%d", q)])
			}
		}
	}
}
