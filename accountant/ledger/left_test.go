package ledger

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// spend reserves the GNMax queries that cost epsilon alone.
func spend(t *testing.T, l *Ledger, epsilon float64) {
	t.Helper()
	sigma, _, err := accountant.CalibrateNoise(t.Context(), accountant.RDPConfig{Relation: accountant.AddRemove}.NewAccount,
		accountant.Target{Epsilon: epsilon, Delta: 1e-5}, func(noise float64) (accountant.Event, error) {
			return accountant.Repeated{Event: accountant.GNMax{Sigma: noise}, Count: 500}, nil
		})
	require.NoError(t, err)
	testkit.Must(l.Reserve(accountant.Repeated{Event: accountant.GNMax{Sigma: sigma}, Count: 500}))
}

// TestABudgetSharedByPATEAndDPSGD: after 1.2 of 2, composition leaves DP-SGD much more than the difference.
func TestABudgetSharedByPATEAndDPSGD(t *testing.T) {
	for _, mode := range []Mode{Reserved, Filter} {
		cfg := testConfig
		cfg.Mode = mode
		l := testkit.Must(New(cfg))
		require.InDelta(t, 2, l.Left().Epsilon, 0.01)
		spend(t, l, 1.2)
		left := l.Left()
		require.Greater(t, left.Epsilon, 1.5)
		require.Less(t, left.Epsilon, 1.7)

		// What is left fits, and hardly more does.
		fits := func(rho float64) bool {
			n := testkit.Must(l.Fits(t.Context(), accountant.ZCDP{Rho: rho}))
			return n == 1
		}
		require.True(t, fits(left.Rho))
		require.False(t, fits(left.Rho*1.02))

		event := func(noise float64) accountant.Event {
			return accountant.Repeated{Count: 200, Event: accountant.PoissonSampled{Probability: 0.05, Event: accountant.Gaussian{NoiseMultiplier: noise}}}
		}
		noise := testkit.Must(l.LeastNoise(t.Context(), func(noise float64) (accountant.Event, error) { return event(noise), nil }))
		require.Greater(t, renyi(event(noise), 1, 1e-5), 1.35, "%v: subtraction would leave 0.8", mode)
		require.ErrorIs(t, testkit.Err(l.Reserve(event(noise*(1-1e-6)))), ErrBudgetExceeded)
		testkit.Must(l.Reserve(event(noise)))
		n := testkit.Must(l.Fits(t.Context(), event(noise)))
		require.Zero(t, n)
	}
}

// TestWhatFitsCanBeReserved, and one more cannot, in any state of a ledger.
func TestWhatFitsCanBeReserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := testConfig
		cfg.Epsilon = rapid.Float64Range(0.1, 8).Draw(t, "epsilon")
		cfg.Mode = Mode(rapid.IntRange(0, 1).Draw(t, "mode"))
		if rapid.Bool().Draw(t, "some orders") {
			cfg.Orders = []float64{4, 16, 64, math.Inf(1)}
		}
		l, err := New(cfg)
		if err != nil {
			t.Skip(err)
		}
		event := func(label string) accountant.Event {
			noise := rapid.Float64Range(2, 100).Draw(t, label)
			return rapid.SampledFrom([]accountant.Event{
				accountant.GNMax{Sigma: noise}, accountant.Gaussian{NoiseMultiplier: noise}, accountant.PureDP{Epsilon: 1 / noise},
				accountant.Repeated{Event: accountant.LNMax{Scale: noise}, Count: 3},
			}).Draw(t, label+" kind")
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "before") {
			_, _ = l.Reserve(event("before " + string(rune('a'+i))))
		}
		e := event("event")
		n := testkit.Must(l.Fits(t.Context(), e))
		if n > 0 {
			testkit.Must(l.Reserve(accountant.Repeated{Event: e, Count: n}))
			require.ErrorIs(t, testkit.Err(l.Reserve(e)), ErrBudgetExceeded)
		} else {
			require.ErrorIs(t, testkit.Err(l.Reserve(accountant.Repeated{Event: e, Count: 1})), ErrBudgetExceeded)
		}
		total := testkit.Must(l.Epsilon())
		require.LessOrEqual(t, total, cfg.Epsilon)
	})
}

// TestTheTotalIsThatOfAnAccountOfItsOwn: the running sums against package accountant on the whole schedule.
func TestTheTotalIsThatOfAnAccountOfItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := testConfig
		cfg.Epsilon = 50
		l := testkit.Must(New(cfg))
		var taken []accountant.Event
		for range rapid.IntRange(1, 30).Draw(t, "entries") {
			e := rapid.SampledFrom([]accountant.Event{
				accountant.GNMax{Sigma: 40}, accountant.PureDP{Epsilon: 0.01}, accountant.LNMax{Scale: 60},
				accountant.Repeated{Event: accountant.Threshold{Sigma: 200}, Count: 1000},
				accountant.MStab{Epsilon: 0.1, Threshold: 170}, accountant.NonPrivate{},
				accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 2}},
			}).Draw(t, "event")
			before := testkit.Must(l.Epsilon())
			if _, err := l.Reserve(e); err != nil {
				require.ErrorIs(t, err, ErrBudgetExceeded)
				after := testkit.Must(l.Epsilon())
				require.Equal(t, before, after)
				continue
			}
			taken = append(taken, e)
		}
		want := renyi(accountant.Composed{Events: taken}, 1, 1e-5)
		got := testkit.Must(l.Epsilon())
		require.InDelta(t, want, got, 1e-9*want)
		onOrders := testkit.Must(l.chain.balance.onOrders(nil))
		require.GreaterOrEqual(t, onOrders*(1+1e-12), got)
		require.InDelta(t, got, onOrders, 0.02*got)
		require.Equal(t, want, renyi(accountant.Composed{Events: l.Schedule().Events}, 1, 1e-5))
	})
}

// TestManySmallChargesAreNotLostToRounding: a million terms, each far below the sum.
func TestManySmallChargesAreNotLostToRounding(t *testing.T) {
	h := testkit.Must(newHeader(filterConfig()))
	b := testkit.Must(newBalance(h))
	e := accountant.Gaussian{NoiseMultiplier: 1e5 / 3}
	text := testkit.Must(accountant.MarshalEvent(e))
	for range 1_000_000 {
		c := testkit.Must(b.chargeOf(text))
		require.NoError(t, b.add(c))
	}
	exact := 1e6 * (b.cfg.Orders[0] / 2 * (3e-5 * 3e-5))
	require.InEpsilon(t, exact, b.divergence(0, 0), 5e-12)
	require.GreaterOrEqual(t, b.divergence(0, 0), exact)
}

func TestClaims(t *testing.T) {
	claim := func(cfg Config, use func(l *Ledger), delta float64) float64 {
		l, m := fileOf(t, cfg)
		use(l)
		s := testkit.Must(verify(m.data))
		return testkit.Must(s.Claim(delta))
	}
	nothing := func(*Ledger) {}
	some := func(l *Ledger) {
		testkit.Must(l.Reserve(votes(60)))
	}
	require.Zero(t, claim(testConfig, nothing, 1e-5))
	reserved := claim(testConfig, some, 1e-5)
	require.Less(t, reserved, 1.2)
	require.Greater(t, claim(testConfig, some, 1e-8), reserved)

	// What a filter let through is no claim.
	for _, orders := range [][]float64{nil, {6, 12, math.Inf(1)}} {
		cfg := filterConfig()
		cfg.Orders = orders
		require.Equal(t, 2.0, claim(cfg, nothing, 1e-5))
		require.Equal(t, 2.0, claim(cfg, some, 1e-5))
		less, more := claim(cfg, some, 1e-4), claim(cfg, some, 1e-8)
		if orders == nil {
			require.Less(t, less, 1.8)
		} else {
			require.InDelta(t, 2, less, 1e-9, "at order +Inf epsilon is the same at every delta")
		}
		require.Greater(t, more, 2.0)
		require.InDelta(t, 2, claim(cfg, some, 1e-5*(1-1e-9)), 1e-6)
		cfg.FailureDelta = 1e-6
		require.True(t, math.IsInf(claim(cfg, some, 1e-7), 1))
	}
}
