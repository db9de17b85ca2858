package stability

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

type release struct {
	T       float64
	Release []float64
	Exact   float64 `json:"exact_delta_at_eps"`
	HalfEps float64 `json:"exact_delta_at_half_eps"`
	False   float64 `json:"false_release"`
	Renyi   map[string]struct {
		Same    float64 `json:"same_output_sup"`
		Laplace float64 `json:"laplace_mechanism"`
	} `json:"renyi_same_output_case"`
}

type mstabReference struct {
	Entries []struct {
		Eps, Delta float64
		Distances  []int64
		Printed    release `json:"laplace_T_log_1_over_delta"`
		Half       release `json:"laplace_T_log_1_over_2delta"`
		Discrete   release `json:"discrete_laplace"`
		Optimal    release `json:"optimal_recursion"`
	}
}

func worstDelta(law func(d int64) (float64, float64), upTo int64, eps float64) float64 {
	at := func(d int64) []float64 {
		released, failed := law(d)
		return []float64{math.Exp(released), math.Exp(failed)}
	}
	worst := testkit.HockeyStick([]float64{at(0)[0], 0, at(0)[1]}, []float64{0, at(0)[0], at(0)[1]}, eps)
	for d := range upTo {
		worst = max(worst, testkit.EitherHockeyStick(at(d), at(d+1), eps))
	}
	return worst
}

func onReals(law func(d float64) (float64, float64)) func(d int64) (float64, float64) {
	return func(d int64) (float64, float64) { return law(float64(d)) }
}

func TestMStabReference(t *testing.T) {
	var ref mstabReference
	testkit.ReadJSON(t, "testdata/mstab.json", &ref)
	require.Len(t, ref.Entries, 4)
	for _, e := range ref.Entries {
		compare := func(name string, want []float64, law func(d int64) (float64, float64), tolerance float64) {
			require.Len(t, want, len(e.Distances))
			for i, d := range e.Distances {
				released, failed := law(d)
				require.InEpsilon(t, want[i], math.Exp(released), tolerance, "%s at %d", name, d)
				require.InDelta(t, 1, math.Exp(released)+math.Exp(failed), 1e-12)
			}
		}
		const exact = 1e-9
		printed := ContinuousLaplace{Epsilon: e.Eps, Threshold: math.Log(1/e.Delta) / e.Eps}
		require.InEpsilon(t, e.Printed.T, printed.Threshold, exact)
		compare("printed", e.Printed.Release, onReals(printed.Law), exact)
		require.InEpsilon(t, e.Printed.Exact, worstDelta(onReals(printed.Law), 200, e.Eps), exact)
		// Between integers the log-ratio is the same, but half of epsilon is reached at other places.
		require.InEpsilon(t, e.Printed.HalfEps, worstDelta(onReals(printed.Law), 200, e.Eps/2), 0.03)
		require.InEpsilon(t, e.Delta/2, e.Printed.Exact, exact, "half of delta is not used")

		half := ContinuousLaplace{Epsilon: e.Eps, Threshold: e.Half.T}
		compare("half", e.Half.Release, onReals(half.Law), exact)
		require.InEpsilon(t, e.Half.Exact, worstDelta(onReals(half.Law), 200, e.Eps), exact)

		discrete := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: e.Eps, Delta: e.Delta})
		require.Equal(t, int64(e.Discrete.T), discrete.Threshold())
		compare("discrete", e.Discrete.Release, discrete.Law, exact)
		require.InEpsilon(t, e.Discrete.False, discrete.failure, exact)
		require.InEpsilon(t, e.Discrete.Exact, worstDelta(discrete.Law, 200, e.Eps), exact)

		optimal := newMStab(t, MStabConfig{Noise: OneShot, Epsilon: e.Eps, Delta: e.Delta})
		compare("optimal", e.Optimal.Release, optimal.Law, exact)
		require.InEpsilon(t, e.Optimal.Exact, worstDelta(optimal.Law, 200, e.Eps), 1e-6)
		require.LessOrEqual(t, worstDelta(optimal.Law, 200, e.Eps), e.Delta*(1+1e-9))

		account := testkit.Must(accountant.NewRDP(accountant.RDPConfig{Relation: accountant.ReplaceOne}))
		require.NoError(t, account.Compose(printed.Event(), 1))
		require.NotEmpty(t, e.Printed.Renyi)
		for order, want := range e.Printed.Renyi {
			divergence, failure := testkit.Must2(account.RDP([]float64{testkit.Must(strconv.ParseFloat(order, 64))}))
			require.InEpsilon(t, want.Laplace, divergence[0], exact)
			require.LessOrEqual(t, want.Same, divergence[0])
			require.InEpsilon(t, e.Printed.Exact, failure, exact)
		}
	}
}

func TestOneShotIsPrivateAndOptimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		eps := math.Exp2(rapid.Float64Range(-6, 5).Draw(t, "log2 epsilon"))
		delta := math.Exp2(rapid.Float64Range(-45, -2).Draw(t, "log2 delta"))
		m := newMStab(t, MStabConfig{Noise: OneShot, Epsilon: eps, Delta: delta})
		table := m.oneShot.release
		pi := delta
		for d := range table {
			released, failed := m.Law(int64(d))
			p, q := math.Exp(released), math.Exp(failed)
			require.InEpsilon(t, pi, p, 1e-4)
			require.LessOrEqual(t, p, pi*(1+1e-9))
			nextReleased, nextFailed := m.Law(int64(d) + 1)
			require.LessOrEqual(t, math.Exp(nextReleased), (math.Exp(eps)*p+delta)*(1+1e-12))
			require.LessOrEqual(t, q, (math.Exp(eps)*math.Exp(nextFailed)+delta)*(1+1e-12))
			require.GreaterOrEqual(t, nextReleased, released)
			pi = min(math.Exp(eps)*pi+delta, 1-math.Exp(-eps)*(1-pi-delta), 1)
		}
		require.InDelta(t, 1, pi, 1e-6, "the table ends where all is released")
	})
}

func TestThresholds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delta := math.Exp2(rapid.Float64Range(-45, -2).Draw(t, "log2 delta"))
		m := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: math.Exp2(rapid.Float64Range(-12, 8).Draw(t, "log2 epsilon")), Delta: delta})
		if rapid.Bool().Draw(t, "gaussian") {
			m = newMStab(t, MStabConfig{Noise: Gaussian, Sigma: math.Exp2(rapid.Float64Range(-4, 9).Draw(t, "log2 sigma")), Delta: delta})
		}
		released, _ := m.Law(0)
		require.LessOrEqual(t, math.Exp(released), m.failure)
		require.InEpsilon(t, math.Exp(released), m.failure, 1e-9)
		require.LessOrEqual(t, m.failure, delta*(1+1e-11))
		if m.threshold > 0 {
			lower, _ := m.Law(1)
			require.Greater(t, math.Exp(lower), delta*(1-1e-9), "a threshold one lower would release as at distance 1")
		}
		probability := rapid.Float64Range(0.01, 0.999).Draw(t, "probability")
		d := testkit.Must(m.DistanceFor(probability))
		released, _ = m.Law(d)
		require.GreaterOrEqual(t, math.Exp(released), probability*(1-1e-12))
		released, _ = m.Law(d - 1)
		if d > 0 {
			require.Less(t, math.Exp(released), probability)
		}
	})
}

func TestMStabFollowsItsLaw(t *testing.T) {
	questions := 200_000
	if testkit.Race {
		questions = 40_000
	}
	for _, cfg := range []MStabConfig{
		{Noise: Laplace, Epsilon: 0.7, Delta: 0.01},
		{Noise: Gaussian, Sigma: 2.5, Delta: 0.02},
		{Noise: OneShot, Epsilon: 0.7, Delta: 0.01},
	} {
		cfg.Questions = questions
		m := newMStab(t, cfg)
		// This is not charged: no ledger would allow as many false releases.
		session := &Session[int]{test: m, key: m.derive(rng.SeedKey(3)), answers: map[uint64]Answer[int]{}}
		require.False(t, session.Releasable())
		distances := []int64{0, 2, 4, 5, 6, 7, 8, 12}
		observed := make([]float64, 2*len(distances))
		for q := range questions {
			i := q % len(distances)
			a := testkit.Must(session.Ask(uint64(q), i, distances[i]))
			cell := 2 * i
			if a.Released {
				require.Equal(t, i, a.Value)
				cell++
			}
			observed[cell]++
		}
		each := float64(questions / len(distances))
		fits := func(m *MStab) float64 {
			p := 1.0
			for i, d := range distances {
				released, failed := m.Law(d)
				p = min(p, testkit.ChiSquare(observed[2*i:2*i+2], []float64{each * math.Exp(failed), each * math.Exp(released)}))
			}
			return p
		}
		require.Greater(t, fits(m), testkit.FalseAlarm/float64(len(distances)))
		cfg.Epsilon *= 1.1 // one of the two is 0
		cfg.Sigma /= 1.1
		if !testkit.Race {
			require.Less(t, fits(newMStab(t, cfg)), testkit.FalseAlarm, "noise a tenth off must be seen")
		}

		require.ErrorIs(t, testkit.Err(session.Ask(uint64(questions), 0, 99)), ErrExhausted)
		again := testkit.Must(session.Ask(7, 5, -3))
		if again.Released {
			require.Equal(t, 7, again.Value, "a stored answer stays")
		}
	}
}

func TestNewMStabRefuses(t *testing.T) {
	good := MStabConfig{Noise: Laplace, Epsilon: 1, Delta: 1e-6, Questions: 1}
	for want, change := range map[string]func(*MStabConfig){
		"not a Noise": func(c *MStabConfig) { c.Noise = 0 },
		"Epsilon":     func(c *MStabConfig) { c.Epsilon = math.NaN() },
		"Epsilon ":    func(c *MStabConfig) { c.Epsilon = 0 },
		"Sigma":       func(c *MStabConfig) { c.Sigma = 1 },
		"Sigma must":  func(c *MStabConfig) { c.Noise, c.Epsilon = Gaussian, 0 },
		"Epsilon is":  func(c *MStabConfig) { c.Noise = Gaussian },
		"Delta":       func(c *MStabConfig) { c.Delta = 0 },
		"Delta must":  func(c *MStabConfig) { c.Delta = math.NaN() },
		"Questions":   func(c *MStabConfig) { c.Questions = 0 },
		"too small":   func(c *MStabConfig) { c.Noise, c.Epsilon = OneShot, 0x1p-20 },
	} {
		cfg := good
		change(&cfg)
		require.ErrorContains(t, testkit.Err(NewMStab(cfg)), want)
	}
	m := newMStab(t, good)
	require.ErrorContains(t, testkit.Err(Start[int](m, reserve(t, m.Event()), rng.Key{})), "zero Key")
	require.ErrorIs(t, testkit.Err(Start[int](m, reserve(t, accountant.PureDP{Epsilon: 1}), rng.SeedKey(1))), ledger.ErrNotReserved)
	r := reserve(t, m.Event())
	testkit.Must(Start[int](m, r, rng.SeedKey(1)))
	require.ErrorIs(t, testkit.Err(Start[int](m, r, rng.SeedKey(1))), ledger.ErrNotReserved, "twice")
	for _, p := range []float64{-1, 1, math.NaN()} {
		require.Error(t, testkit.Err(m.DistanceFor(p)))
	}
}

func TestSessionsRepeat(t *testing.T) {
	answers := func(key rng.Key, cfg MStabConfig, order func(i int) int) string {
		m := newMStab(t, cfg)
		s := testkit.Must(Start[int](m, reserve(t, m.Event()), key))
		out := make([]Answer[int], cfg.Questions)
		var wg sync.WaitGroup
		for i := range out {
			wg.Go(func() {
				q := order(i)
				out[q], _ = s.Ask(uint64(q), q, 9)
			})
		}
		wg.Wait()
		return fmt.Sprint(out)
	}
	cfg := MStabConfig{Noise: Laplace, Epsilon: 0.5, Delta: 0.004, Questions: 200}
	forward := func(i int) int { return i }
	first := answers(rng.SeedKey(1), cfg, forward)
	require.Equal(t, first, answers(rng.SeedKey(1), cfg, func(i int) int { return cfg.Questions - 1 - i }))
	require.NotEqual(t, first, answers(rng.SeedKey(2), cfg, forward))
	cfg.Epsilon = 0.5000001
	require.NotEqual(t, first, answers(rng.SeedKey(1), cfg, forward))
}

func TestLaplaceScaleIsNotBelowTheInverse(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	above := 0
	for range 2000 {
		epsilon := math.Exp2(-20 + 29*rnd.Float64())
		b := atLeastInverse(epsilon)
		product := new(big.Float).SetPrec(200).Mul(big.NewFloat(epsilon), big.NewFloat(b))
		require.GreaterOrEqual(t, product.Cmp(big.NewFloat(1)), 0, "epsilon %v", epsilon)
		if b > 1/epsilon {
			above++
		}
	}
	require.Greater(t, above, 100, "where the quotient was rounded down")
	m := newMStab(t, MStabConfig{Noise: Laplace, Epsilon: 0.3, Delta: 0.01})
	require.Equal(t, atLeastInverse(0.3), m.laplace.Scale())
}

func newMStab(t require.TestingT, cfg MStabConfig) *MStab {
	if cfg.Questions == 0 {
		cfg.Questions = 1
	}
	return testkit.Must(NewMStab(cfg))
}

func reserve(t require.TestingT, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.ReplaceOne, e)
}

func deltaOf(t require.TestingT, e accountant.Event, eps float64) float64 {
	return testkit.Must(testledger.Account(t, accountant.ReplaceOne, e).Delta(context.Background(), eps)).Upper
}
