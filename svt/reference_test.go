package svt

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// TestFalseReleases checks the probability of a false release, when all queries are unstable and all answers
// differ. In the stable run it is the closed form, and a little more is charged. In M_svec it is 1 - (1-p)^Q,
// for any number of queries. Distances in between, which tell that the threshold is low, do not help.
func TestFalseReleases(t *testing.T) {
	anyFalse := func(l Law, distances []int64) (p float64) {
		for k, prob := range stableLaw(outcomesAt(t, l)(distances), unstable(distances)) {
			if strings.Contains(k, "B") {
				p += prob
			}
		}
		return p
	}
	for q := 1; q <= 3; q++ {
		s := testkit.Must(NewStableSVT(StableSVTConfig{B1: 1.5, B2: 6, Threshold: 5, Failures: q}))
		r1, r2 := math.Exp(-1/1.5), math.Pow(math.Exp(-1.0/6), float64(q))
		exact := math.Pow(r1, 6) * (1 - r2) / (1 - r1*r2)
		require.InEpsilon(t, exact, anyFalse(s.Law(), make([]int64, 8)), 1e-9)
		charged := math.Pow(r1, 6)
		require.Less(t, exact, charged)
		m := testkit.Must(NewMSvec(MSvecConfig{Lambda: 1.5, Threshold: 7, Failures: q}))
		single := math.Exp(sumTail(1.5, 3, 8))
		require.InEpsilon(t, -math.Expm1(float64(q)*math.Log1p(-single)), anyFalse(m.Law(), make([]int64, 8)), 1e-9)
		failure := m.Event().(accountant.WithFailure).Delta
		require.InEpsilon(t, float64(q)*single, failure, 1e-8)

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
	m := testkit.Must(NewMSvec(MSvecConfig{Lambda: 1.5, Threshold: 7, Failures: 1}))
	law := stableLaw(outcomesAt(t, m.Law())([]int64{7, 7, 7, 0}), []bool{false, false, false, true})
	released := law["AAAB"] + law["AAAx"]
	require.Greater(t, law["AAAB"]/released, 1.2*math.Exp(sumTail(1.5, 3, 8)))
}

func unstable(distances []int64) []bool {
	return testkit.Series(len(distances), func(i int) bool { return distances[i] == 0 })
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
			m := testkit.Must(NewStableSVT(StableSVTConfig{B1: e.B1, B2: e.B2, Threshold: e.W, Failures: e.Unstable}))
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
		m := testkit.Must(NewStableSVT(StableSVTConfig{B1: e.B1, B2: e.B2, Threshold: e.W, Failures: e.Q}))
		other := testkit.Series(len(e.D), func(i int) bool { return e.Labels[i] != e.Other[i] })
		for k, want := range e.Law {
			got := stableLaw(outcomesAt(t, m.Law())(e.D), nil)[strings.ReplaceAll(strings.ReplaceAll(k, "fail", "x"), "|", "")]
			require.InEpsilon(t, want, got, 1e-9)
			laws++
		}
		p, q := world{e.D, e.E, other}.laws(outcomesAt(t, m.Law()))
		exact := testkit.EitherHockeyStick(p, q, e.Eps*(1+1e-15))
		require.InDelta(t, e.Exact, exact, 1e-9*e.Exact+1e-14, "%+v", e.D)
		require.LessOrEqual(t, exact, e.Delta)
		require.InEpsilon(t, e.Delta, deltaOf(t, m.Event(), e.Eps*1.001), 1e-9)
	}
	require.Positive(t, laws)
}

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
		other := testkit.Series(len(e.D), func(i int) bool { return e.Labels[i] != e.Other[i] })
		p, q := world{e.D, e.E, other}.laws(outcomesAt(t, l))
		exact := max(testkit.HockeyStick(p, q, 1/e.B1+2/e.B2), testkit.HockeyStick(q, p, 1/e.B1+2/e.B2))
		require.InDelta(t, e.Exact, exact, 1e-8*e.Exact+1e-12, "%+v", e)
		require.LessOrEqual(t, exact, e.PerQuery*(1+1e-9), "one false release per stretch, however many queries")
	}
}

func TestCalibrateStableSVT(t *testing.T) {
	for _, c := range []struct {
		eps, delta float64
		q          int
		refusal    float64
	}{{1, 1e-6, 20, 0.05}, {0.5, 1e-5, 1, 0.01}, {4, 1e-6, 5, 1e-4}, {8, 1e-9, 100, 0.2}} {
		cfg := testkit.Must(CalibrateStableSVT(c.eps, c.delta, c.q, c.refusal))
		m := testkit.Must(NewStableSVT(cfg))
		require.LessOrEqual(t, 1/cfg.B1+2*float64(c.q)/cfg.B2, c.eps)
		require.InEpsilon(t, c.eps, 1/cfg.B1+2*float64(c.q)/cfg.B2, 1e-9)
		require.LessOrEqual(t, math.Exp(-float64(cfg.Threshold+1)/cfg.B1), c.delta)
		require.Greater(t, math.Exp(-float64(cfg.Threshold)/cfg.B1), c.delta)
		d := testkit.Must(DistanceFor(m, 1-c.refusal))
		formula := math.Pow(math.Sqrt(-math.Log(c.delta))+math.Sqrt(-2*float64(c.q)*math.Log(c.refusal)), 2) / c.eps
		require.LessOrEqual(t, float64(d), formula+1)
		require.Greater(t, float64(d), 0.8*formula)
		best := d
		for share := 0.01; share < 1; share += 0.01 {
			other := StableSVTConfig{B1: 1 / (share * c.eps), B2: 2 * float64(c.q) / ((1 - share) * c.eps), Failures: c.q}
			other.Threshold = int64(math.Ceil(-math.Log(c.delta)*other.B1)) - 1
			best = min(best, testkit.Must(DistanceFor(testkit.Must(NewStableSVT(other)), 1-c.refusal)))
		}
		t.Logf("%+v: distance %d, best %d, formula %.1f", c, d, best, formula)
		require.LessOrEqual(t, float64(d), 1.06*float64(best)+1)
	}
}
