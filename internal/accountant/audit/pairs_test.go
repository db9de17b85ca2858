package audit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unique"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/accountant/audit"
)

// worst returns the events of a pair of runs of a mechanism that spends its claim.
func worst(rnd *rand.Rand, claim audit.Claim, beside float64) (first, second bool) {
	return rnd.Float64() < math.Exp(claim.Epsilon)*beside+claim.Delta, rnd.Float64() < beside
}

// TestPairsAreRightAtEveryTime: 1,000 audits at alpha 0.2 look at the bound again and again. If the rate of false
// alarms were 0.2, more than 262 would have probability below 1e-6. The control bets on the claim at a quarter
// of its epsilon, which alarms almost always.
func TestPairsAreRightAtEveryTime(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, claim := range []audit.Claim{{Epsilon: 1}, {Epsilon: 0.5, Delta: 0.1}} {
		alarms, control := 0, 0
		for range 500 {
			var p audit.Pairs
			highest := 0.0
			for n := range 512 {
				p.Add(worst(rnd, claim, 0.2))
				if n&(n+1) == 0 {
					highest = max(highest, p.LowerBound(claim.Delta, 0.2))
				}
			}
			if highest > claim.Epsilon {
				alarms++
			}
			if highest > claim.Epsilon/4 {
				control++
			}
		}
		require.LessOrEqual(t, alarms, 146, "above this with probability below 1e-6")
		require.Greater(t, control, 250)
		t.Logf("%v: %d false alarms of 500 at alpha 0.2, %d at a quarter of the claim", claim, alarms, control)
	}
}

func TestPairsApproachTheTruth(t *testing.T) {
	for name, c := range map[string]struct {
		pairs    audit.Pairs
		delta    float64
		from, to float64
	}{
		"nothing":        {audit.Pairs{}, 0, 0, 0},
		"no difference":  {audit.Pairs{Both: 100, First: 100, Second: 100, Neither: 100}, 0, 0, 0},
		"always, never":  {audit.Pairs{First: 1000}, 0, 4, 6},
		"within delta":   {audit.Pairs{First: 50, Neither: 950}, 0.06, 0, 0},
		"ratio of e":     {audit.Pairs{Both: 1250, First: 27800, Second: 9960, Neither: 61000}, 0, 0.88, 1},
		"other input":    {audit.Pairs{Both: 1250, First: 9960, Second: 27800, Neither: 61000}, 0, 0, 0},
		"ratio, delta":   {audit.Pairs{Both: 1250, First: 27800, Second: 9960, Neither: 61000}, 0.1, 0.45, 0.57},
		"beyond the bet": {audit.Pairs{First: 1 << 40}, 0, 15, 17},
	} {
		bound := c.pairs.LowerBound(c.delta, 1e-4)
		require.GreaterOrEqual(t, bound, c.from, name)
		require.LessOrEqual(t, bound, c.to, name)
	}
}

// TestEventsAddUpManyAnswers: one answer of 40 is at most 0.2-private, and 40 are far from it. Noise in place
// of answers gives no event that holds on new runs. Fixed seed.
func TestEventsAddUpManyAnswers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	runs := func(n int, epsilon float64, unlike bool) (all [2][]audit.Outcome) {
		for side, sign := range []float64{1, -1} {
			for range n {
				var o audit.Outcome
				for q := range 40 {
					label := rnd.Float64() < 1/(1+math.Exp(sign*epsilon/2))
					feature := fmt.Sprint("label ", label)
					if unlike {
						feature = fmt.Sprint(q, rnd.Uint64())
					}
					o = append(o, unique.Make(feature))
				}
				all[side] = append(all[side], o)
			}
		}
		return all
	}
	for _, c := range []struct {
		epsilon, from, to float64
		unlike            bool
	}{{0.2, 0.3, 1.5, false}, {0, 0, 0, false}, {0.2, 0, 0, true}} {
		learned, tested := runs(600, c.epsilon, c.unlike), runs(1500, c.epsilon, c.unlike)
		e := audit.LearnEvent(learned[0], learned[1], 0, 1500)
		var p audit.Pairs
		for i := range tested[0] {
			first, second := e.Contains(tested[0][i]), e.Contains(tested[1][i])
			if e.Swapped {
				first, second = second, first
			}
			p.Add(first, second)
		}
		bound := p.LowerBound(0, 1e-4)
		require.True(t, bound >= c.from && bound <= c.to, "%v: %v by %v", c, bound, e)
	}
}
