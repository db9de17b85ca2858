package audit

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/testkit"
)

// worst returns the largest expectation of the likelihood ratio of (p1, q1) to (p0, q0) at a point of H. The
// expectation is bilinear and H a quadrangle, so a grid on the edges is enough.
func worst(p1, q1, p0, q0, growth, delta float64, see func(p, q float64)) (most float64) {
	for i := range 101 {
		x := float64(i) / 100
		for _, at := range [][2]float64{{min(growth*x+delta, 1-(1-x-delta)/growth, 1), x}, {0, x}, {x, 1}} {
			see(at[0], at[1])
			most = max(most, (at[0]*p1/p0+(1-at[0])*(1-p1)/(1-p0))*(at[1]*q1/q0+(1-at[1])*(1-q1)/(1-q0)))
		}
	}
	return most
}

// TestNearestPointIsSafe: no point of H is nearer than the nearest point, and at every point of H the
// likelihood ratio has an expectation of at most 1. The control is another point on the edge of H.
func TestNearestPointIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p1, q1 := rapid.Float64Range(0.001, 0.999).Draw(t, "p"), rapid.Float64Range(0.001, 0.999).Draw(t, "q")
		growth, delta := math.Exp(rapid.Float64Range(0, 3).Draw(t, "epsilon")), rapid.Float64Range(0, 0.3).Draw(t, "delta")
		p0, q0 := nearest(p1, q1, growth, delta)
		require.LessOrEqual(t, p0, growth*q0+delta+1e-12)
		require.LessOrEqual(t, 1-q0, growth*(1-p0)+delta+1e-12)
		divergence := func(p, q float64) float64 {
			return -p1*math.Log(p) - (1-p1)*math.Log(1-p) - q1*math.Log(q) - (1-q1)*math.Log(1-q)
		}
		require.LessOrEqual(t, worst(p1, q1, p0, q0, growth, delta, func(p, q float64) {
			if p > 0 && p < 1 && q > 0 && q < 1 {
				require.LessOrEqual(t, divergence(p0, q0), divergence(p, q)+1e-9)
			}
		}), 1+1e-9)
	})
	require.Greater(t, worst(0.6, 0.1, 0.2, 0.1, 2, 0, func(p, q float64) {}), 1.01)
}

// TestPairsAreRightAtEveryTime: 1,000 audits at alpha 0.2 look at the bound again and again. If the rate of
// false alarms were 0.2, more than 146 of 500 would have probability below 1e-6. The control claims a quarter
// of epsilon.
func TestPairsAreRightAtEveryTime(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, claim := range []Claim{{Epsilon: 1}, {Epsilon: 0.5, Delta: 0.1}} {
		alarms, control := 0, 0
		for range 500 {
			var p Pairs
			hits, highest := [2]float64{}, 0.0
			for n := 0; n < 512; n += 1 + n/8 {
				var batch Pairs
				for range 1 + n/8 {
					batch.Add(rnd.Float64() < math.Exp(claim.Epsilon)*0.2+claim.Delta, rnd.Float64() < 0.2)
				}
				p.Bet(batch, (hits[0]+0.5)/float64(n+1), (hits[1]+0.5)/float64(n+1), claim.Delta)
				hits[0], hits[1] = hits[0]+float64(batch.Both+batch.First), hits[1]+float64(batch.Both+batch.Second)
				highest = max(highest, p.LowerBound(0.2))
			}
			if highest > claim.Epsilon {
				alarms++
			}
			if highest > claim.Epsilon/4 {
				control++
			}
		}
		require.LessOrEqual(t, alarms, 146)
		require.Greater(t, control, 250)
		t.Logf("%v: %d false alarms of 500 at alpha 0.2, %d at a quarter of the claim", claim, alarms, control)
	}
}

func TestPairsApproachTheTruth(t *testing.T) {
	for name, c := range map[string]struct {
		pairs           Pairs
		delta, from, to float64
	}{
		"no difference": {Pairs{Both: 100, First: 100, Second: 100, Neither: 100}, 0, 0, 0},
		"always, never": {Pairs{First: 1000}, 0, 5.1, 5.4}, // log(2000/log(1e4)) is the most that 1,000 pairs allow
		"ten pairs":     {Pairs{First: 10}, 0, 0.4, 0.6},
		"within delta":  {Pairs{First: 50, Neither: 950}, 0.06, 0, 0},
		"ratio of e":    {Pairs{Both: 1250, First: 27800, Second: 9960, Neither: 61000}, 0, 0.9, 1},
		"other input":   {Pairs{Both: 1250, First: 9960, Second: 27800, Neither: 61000}, 0, 0, 0},
		"ratio, delta":  {Pairs{Both: 1250, First: 27800, Second: 9960, Neither: 61000}, 0.1, 0.45, 0.57},
	} {
		var p Pairs
		n := float64(c.pairs.total()) + 1
		p.Bet(c.pairs, (float64(c.pairs.Both+c.pairs.First)+0.5)/n, (float64(c.pairs.Both+c.pairs.Second)+0.5)/n, c.delta)
		bound := p.LowerBound(1e-4)
		require.GreaterOrEqual(t, bound, c.from, name)
		require.LessOrEqual(t, bound, c.to, name)
	}
}

// TestPowerOfKnownEvents: expected counts of broken variants show about as much as Clopper-Pearson limits of
// two samples do, although the bound is for every time at once.
func TestPowerOfKnownEvents(t *testing.T) {
	var g struct {
		Power []struct {
			Variant      string
			ClaimedDelta float64 `json:"claimed_delta"`
			P, Q         float64
			Lower        map[string]float64 `json:"eps_lower_at_expected_counts"`
		}
	}
	require.NoError(t, json.Unmarshal(testkit.Must(os.ReadFile("testdata/auditing.json")), &g))
	for _, v := range g.Power {
		for text, want := range v.Lower {
			n := testkit.Must(strconv.ParseFloat(text, 64))
			at := func(p float64) int { return int(math.Round(p * n)) }
			var p Pairs
			p.Bet(Pairs{Both: at(v.P * v.Q), First: at(v.P * (1 - v.Q)), Second: at((1 - v.P) * v.Q), Neither: at((1 - v.P) * (1 - v.Q))}, v.P+1/n, v.Q+1/n, v.ClaimedDelta)
			require.GreaterOrEqual(t, p.LowerBound(1e-4), 0.95*want-0.05, "%s, %s runs", v.Variant, text)
		}
	}
}

// TestTrialsAddUpManyAnswers: one answer of 40 is at most 0.2-private, and 40 are far from it. Noise in place
// of answers gives no event that holds on new runs. Numbers that differ give one. Fixed seed.
func TestTrialsAddUpManyAnswers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	answers := func(epsilon float64, unlike bool) func(sign float64) Outcome[string] {
		return func(sign float64) (o Outcome[string]) {
			for q := range 40 {
				label := fmt.Sprint("label ", rnd.Float64() < 1/(1+math.Exp(sign*epsilon/2)))
				if unlike {
					label = fmt.Sprint(q, rnd.Uint64())
				}
				o.Labels = append(o.Labels, label)
			}
			return o
		}
	}
	mean := func(apart float64) func(sign float64) Outcome[string] {
		return func(sign float64) Outcome[string] {
			return Outcome[string]{Numbers: map[string]float64{"mean": rnd.NormFloat64() + sign*apart, "other": rnd.NormFloat64()}}
		}
	}
	for name, c := range map[string]struct {
		pairs    int
		run      func(sign float64) Outcome[string]
		from, to float64
	}{
		"weak answers": {2100, answers(0.2, false), 0.3, 1.5}, "equal answers": {2100, answers(0, false), 0, 0},
		"unlike answers": {2100, answers(0.2, true), 0, 0}, "numbers": {40, mean(3), 0.5, 2}, "equal numbers": {400, mean(0), 0, 0},
	} {
		rnd = rand.New(rand.NewPCG(3, 4)) // in any order of the cases
		trial := Trial[string]{Claim: Claim{Epsilon: 1}, Alpha: 1e-4, Most: c.pairs}
		more := func(n int, _ float64) error {
			for ; n > 0 && len(trial.Runs[0]) < c.pairs; n-- {
				trial.Add(c.run(1), c.run(-1))
			}
			return nil
		}
		require.NoError(t, more(c.pairs/4, 0))
		f, err := trial.Test(more)
		require.NoError(t, err)
		require.True(t, f.Epsilon >= c.from && f.Epsilon <= c.to, "%s: %+v by %v", name, f, trial.Event)
		require.Equal(t, c.pairs, f.Runs)
	}
}
