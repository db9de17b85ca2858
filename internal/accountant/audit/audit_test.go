package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/testkit"
)

func response(rnd *rand.Rand, truth, k int, epsilon float64) audit.Run[int] {
	return func(uint64) (int, error) {
		if rnd.Float64() < math.Exp(epsilon)/(math.Exp(epsilon)+float64(k)-1) {
			return truth, nil
		}
		other := rnd.IntN(k - 1)
		if other >= truth {
			other++
		}
		return other, nil
	}
}

// TestBlackBoxLearnsRandomisedResponse: the bound comes close to the truth, claims just below it are
// refuted, and those just above are not. False-alarm rate 1e-6; fixed seed.
func TestBlackBoxLearnsRandomisedResponse(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const epsilon = 1.0
	for _, claim := range []float64{0.9, 1} {
		f := testkit.Must(audit.BlackBox(context.Background(), response(rnd, 0, 5, epsilon), response(rnd, 3, 5, epsilon),
			audit.Config{Claim: audit.Claim{Epsilon: claim}, Alpha: 1e-6, Runs: 200_000}))
		require.Equal(t, claim < epsilon, f.Refuted(), "%+v", f)
		require.InDelta(t, epsilon, f.Epsilon, 0.08)
		require.LessOrEqual(t, f.Epsilon, epsilon)
	}
}

// TestEarlierRunsLearnAndLaterRunsTest: two inputs with the same uniform law over 100 outputs, at claim 0.
// The control repeats its first runs, so that the event is tested on what it was learned from: that alarms
// almost always.
func TestEarlierRunsLearnAndLaterRunsTest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	const n, audits = 2000, 100
	alarms := func(repeated bool) (count int) {
		for range audits {
			uniform := func() audit.Run[int] {
				var seen []int
				return func(run uint64) (int, error) {
					if repeated && run >= n/4 {
						return seen[run%(n/4)], nil
					}
					seen = append(seen, rnd.IntN(100))
					return seen[len(seen)-1], nil
				}
			}
			f := testkit.Must(audit.BlackBox(context.Background(), uniform(), uniform(), audit.Config{Alpha: 0.05, Runs: n}))
			if f.Refuted() {
				count++
			}
		}
		return count
	}
	require.Less(t, alarms(false), 20, "false-alarm rate 5 %, above 19 of 100 with probability below 1e-7")
	require.Greater(t, alarms(true), 80)
}

// TestFalseAlarmsAreAsRareAsStated: 1000 audits of a mechanism that spends all it claims, at alpha 0.2.
// More than 262 alarms would have probability below 1e-6 if the rate were 0.2; it is far lower, because two
// limits and a learned event are careful.
func TestFalseAlarmsAreAsRareAsStated(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	alarms := 0
	for range 1000 {
		f := testkit.Must(audit.BlackBox(context.Background(), response(rnd, 0, 8, 0.5), response(rnd, 1, 8, 0.5),
			audit.Config{Claim: audit.Claim{Epsilon: 0.5}, Alpha: 0.2, Runs: 400}))
		if f.Refuted() {
			alarms++
		}
	}
	require.LessOrEqual(t, alarms, 262)
	t.Logf("%d alarms of 1000 at alpha 0.2", alarms)
}

func logs(ps ...float64) []float64 {
	out := make([]float64, len(ps))
	for i, p := range ps {
		out[i] = math.Log(p)
	}
	return out
}

func one(p, q []float64) func(yield func(p, q []float64) bool) {
	return func(yield func(p, q []float64) bool) { yield(p, q) }
}

func TestExactIsTheHockeyStick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		law := func(name string) []float64 {
			ps := rapid.SliceOfN(rapid.Float64Range(0.001, 1), 4, 4).Draw(t, name)
			total := 0.0
			for _, p := range ps {
				total += p
			}
			for i := range ps {
				ps[i] /= total
			}
			return ps
		}
		p, q := law("p"), law("q")
		claim := audit.Claim{Epsilon: rapid.Float64Range(0, 3).Draw(t, "epsilon"), Delta: rapid.Float64Range(0, 0.3).Draw(t, "delta")}
		divergence := func(p, q []float64) (d float64) {
			for i := range p {
				d += math.Max(0, p[i]-math.Exp(claim.Epsilon)*q[i])
			}
			return d
		}
		worst := math.Max(divergence(p, q), divergence(q, p))
		f := testkit.Must(audit.Exact(claim, 1e-12, one(logs(p...), logs(q...))))
		if math.Abs(worst-claim.Delta) > 1e-9 {
			require.Equal(t, worst > claim.Delta, f.Refuted(), "divergence %v, delta %v, bound %v", worst, claim.Delta, f.Epsilon)
		}
	})
}

func TestExactSeesTheRarestOutcome(t *testing.T) {
	inf := math.Inf(-1)
	f := testkit.Must(audit.Exact(audit.Claim{Epsilon: 2}, 1e-9, one([]float64{-2000, 0}, []float64{-2003, 0})))
	require.InDelta(t, 3, f.Epsilon, 1e-8)
	require.True(t, f.Refuted())
	f = testkit.Must(audit.Exact(audit.Claim{Epsilon: 100}, 1e-9, one([]float64{inf, 0}, []float64{-700, 0})))
	require.True(t, math.IsInf(f.Epsilon, 1), "impossible on one side only")
	f = testkit.Must(audit.Exact(audit.Claim{Epsilon: 1, Delta: 1e-300}, 1e-9, one([]float64{-700, 0}, []float64{inf, 0})))
	require.False(t, f.Refuted(), "as rare as delta allows")
}

// TestOneRunHoldsForRandomisedResponse: every canary is released by randomised response at the claim, so
// the guesses are binomial as the theorem has it at its worst. The chance of a p-value below 0.05 is at
// most 0.05, and is close to it.
func TestOneRunHoldsForRandomisedResponse(t *testing.T) {
	claim := audit.Claim{Epsilon: 1}
	const r = 300
	law := distuv.Binomial{N: r, P: 1 / (1 + math.Exp(-1))}
	chance, refuted := 0.0, 0.0
	for v := range r + 1 {
		g := audit.Guesses{Canaries: 1000, Made: r, Right: v}
		if g.PValue(claim) <= 0.05 {
			chance += law.Prob(float64(v))
		}
		if testkit.Must(audit.OneRun(g, claim, 0.05)).Refuted() {
			refuted += law.Prob(float64(v))
		}
	}
	require.LessOrEqual(t, chance, 0.05)
	require.Greater(t, chance, 0.03)
	require.InDelta(t, chance, refuted, 1e-9, "the bound and the p-value are one test")
}

func TestGuessTakesBothEnds(t *testing.T) {
	g := testkit.Must(audit.Guess([]float64{0.1, 5, -3, 2, 0}, []bool{true, true, false, false, true}, 4))
	require.Equal(t, audit.Guesses{Canaries: 5, Made: 4, Right: 2}, g)
}

func TestWhatIsNoAuditIsRefused(t *testing.T) {
	ctx, nan := context.Background(), math.NaN()
	run := func(uint64) (int, error) { return 0, nil }
	good := audit.Config{Claim: audit.Claim{Epsilon: 1}, Alpha: 0.01, Runs: 10}
	for _, change := range []func(*audit.Config){
		func(c *audit.Config) { c.Alpha = 0 },
		func(c *audit.Config) { c.Alpha = nan },
		func(c *audit.Config) { c.Runs = 1 },
		func(c *audit.Config) { c.Claim.Epsilon = nan },
		func(c *audit.Config) { c.Claim.Epsilon = math.Inf(1) },
		func(c *audit.Config) { c.Claim.Delta = 1 },
	} {
		cfg := good
		change(&cfg)
		require.Error(t, testkit.Err(audit.BlackBox(ctx, run, run, cfg)))
	}
	failed := errors.New("failed")
	_, err := audit.BlackBox(ctx, run, func(i uint64) (int, error) { return 0, failed }, good)
	require.ErrorIs(t, err, failed)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, testkit.Err(audit.BlackBox(cancelled, run, run, good)), context.Canceled)

	_, err = audit.Exact(good.Claim, 1e-9, one(logs(0.5, 0.4), logs(0.5, 0.5)))
	require.ErrorContains(t, err, "add up to 0.9")
	require.Error(t, testkit.Err(audit.Exact(good.Claim, 1e-9, one(logs(1), logs(0.5, 0.5)))))
	require.Error(t, testkit.Err(audit.Exact(good.Claim, 1e-9, one([]float64{nan}, []float64{0}))))
	_, err = audit.Exact(good.Claim, 1e-9, func(func(p, q []float64) bool) {})
	require.ErrorContains(t, err, "no neighbours")

	require.Error(t, testkit.Err(audit.OneRun(audit.Guesses{Canaries: 10, Made: 11, Right: 2}, good.Claim, 0.1)))
	require.Error(t, testkit.Err(audit.Guess([]float64{1, nan}, []bool{true, false}, 2)))
	require.Error(t, testkit.Err(audit.Guess([]float64{1, 2}, []bool{true, false}, 1)))
}

type golden struct {
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
}

func readGolden(t *testing.T) (g golden) {
	require.NoError(t, json.Unmarshal(testkit.Must(os.ReadFile("testdata/auditing.json")), &g))
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

func TestOneRunPValues(t *testing.T) {
	for _, e := range readGolden(t).OneRun.Entries {
		g := audit.Guesses{Canaries: e.M, Made: e.R, Right: e.V}
		for text, want := range e.PValue {
			p := g.PValue(audit.Claim{Epsilon: testkit.Must(strconv.ParseFloat(text, 64)), Delta: e.Delta})
			near(t, want, p, "%+v at epsilon %s", g, text)
		}
		near(t, e.EpsLower95, testkit.Must(audit.OneRun(g, audit.Claim{Epsilon: 1, Delta: e.Delta}, 0.05)).Epsilon)
	}
}

// A coin that tells the truth nine times in ten is sold as 1-differentially private.
func ExampleBlackBox() {
	rnd := rand.New(rand.NewPCG(7, 7))
	about := func(secret bool) audit.Run[bool] {
		return func(uint64) (bool, error) { return secret == (rnd.Float64() < 0.9), nil }
	}
	finding, err := audit.BlackBox(context.Background(), about(true), about(false), audit.Config{
		Claim: audit.Claim{Epsilon: 1}, Alpha: 1e-4, Runs: 10_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("at least %.1f, refuted: %v\n", finding.Epsilon, finding.Refuted())
	// Output: at least 2.1, refuted: true
}
