package ledger

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

func spend(t *testing.T, l *Ledger, epsilon float64) {
	t.Helper()
	sigma, _, err := accountant.CalibrateNoise(t.Context(), accountant.RDPConfig{Relation: accountant.AddRemove}.NewAccount,
		accountant.Target{Epsilon: epsilon, Delta: 1e-5}, func(noise float64) (accountant.Event, error) {
			return accountant.Repeated{Event: accountant.GNMax{Sigma: noise}, Count: 500}, nil
		})
	require.NoError(t, err)
	testkit.Must(l.Reserve(accountant.Repeated{Event: accountant.GNMax{Sigma: sigma}, Count: 500}))
}

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

		fits := func(rho float64) bool {
			return testkit.Must(l.Fits(t.Context(), accountant.ZCDP{Rho: rho})) == 1
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
		require.Zero(t, testkit.Must(l.Fits(t.Context(), event(noise))))
	}
}

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
		require.LessOrEqual(t, testkit.Must(l.Epsilon()), cfg.Epsilon)
	})
}

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
				require.Equal(t, before, testkit.Must(l.Epsilon()))
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

func TestManySmallChargesAreNotLostToRounding(t *testing.T) {
	b := testkit.Must(newBalance(testkit.Must(newHeader(filterConfig()))))
	e := accountant.Gaussian{NoiseMultiplier: 1e5 / 3}
	text := testkit.Must(accountant.MarshalEvent(e))
	for range 1_000_000 {
		require.NoError(t, b.add(testkit.Must(b.chargeOf(text))))
	}
	exact := 1e6 * (b.cfg.Orders[0] / 2 * (3e-5 * 3e-5))
	require.InEpsilon(t, exact, b.divergence(0, 0), 5e-12)
	require.GreaterOrEqual(t, b.divergence(0, 0), exact)
}

func TestClaims(t *testing.T) {
	claim := func(cfg Config, use func(l *Ledger), delta float64) float64 {
		l, m := fileOf(t, cfg)
		use(l)
		return testkit.Must(testkit.Must(verify(m.data)).Claim(delta))
	}
	nothing := func(*Ledger) {}
	some := func(l *Ledger) { testkit.Must(l.Reserve(votes(60))) }
	require.Zero(t, claim(testConfig, nothing, 1e-5))
	reserved := claim(testConfig, some, 1e-5)
	require.Less(t, reserved, 1.2)
	require.Greater(t, claim(testConfig, some, 1e-8), reserved)

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

func roomy(mode Mode) Config {
	c := testConfig
	c.Mode, c.Epsilon = mode, 1e5
	return c
}

func BenchmarkPairs(b *testing.B) {
	for _, mode := range []Mode{Reserved, Filter} {
		for _, batch := range []int{1, 100, 1000, 10000} {
			b.Run(fmt.Sprintf("%v/batch=%d", mode, batch), func(b *testing.B) {
				l := testkit.Must(Open(b.Context(), filepath.Join(b.TempDir(), "ledger.jsonl"), roomy(mode), VerifyOptions{}))
				defer l.Close()
				events := make([]accountant.Event, batch)
				for i := range events {
					events[i] = accountant.GNMax{Sigma: 40}
				}
				pairs := 0
				for b.Loop() {
					l.chain.sealed = false // to measure the same in both modes
					reservations, err := l.ReserveBatch(events)
					if err != nil {
						b.Fatal(err)
					}
					outcomes := make([]Outcome, batch)
					for i, r := range reservations {
						outcomes[i] = Outcome{Of: r, Bytes: []byte{byte(i)}}
					}
					l.chain.sealed = true
					if err := l.CommitBatch(outcomes); err != nil {
						b.Fatal(err)
					}
					pairs += batch
				}
				b.ReportMetric(float64(pairs)/b.Elapsed().Seconds(), "pairs/s")
			})
		}
	}
}

func long(b testing.TB, mode Mode, entries int, event accountant.Event) []byte {
	m := &memory{data: make([]byte, 0, 520*entries)}
	l := testkit.Must(openStore(m, roomy(mode), VerifyOptions{}))
	events := make([]accountant.Event, min(entries, 1000))
	for i := range events {
		events[i] = event
	}
	var done []Outcome
	for n := 0; n < entries; n += len(events) {
		for _, r := range testkit.Must(l.ReserveBatch(events)) {
			done = append(done, Outcome{Of: r, Bytes: []byte("label")})
		}
		if mode == Filter {
			require.NoError(b, l.CommitBatch(done))
			done = done[:0]
		}
	}
	require.NoError(b, l.CommitBatch(done))
	return m.data
}

func BenchmarkVerify(b *testing.B) {
	events := map[string]accountant.Event{
		"gnmax": accountant.GNMax{Sigma: 40},
		"dpsgd": accountant.PoissonSampled{Probability: 0.001, Event: accountant.Gaussian{NoiseMultiplier: 10}},
	}
	for _, mode := range []Mode{Reserved, Filter} {
		for name, event := range events {
			b.Run(fmt.Sprintf("%v/%s", mode, name), func(b *testing.B) {
				data := long(b, mode, 1_000_000, event)
				for b.Loop() {
					s, err := verify(data)
					if err != nil || s.Entries != 1_000_000 || s.Commits != 1_000_000 {
						b.Fatal(s, err)
					}
				}
				b.SetBytes(int64(len(data)))
			})
		}
	}
}

func TestMemoryDoesNotGrowWithLength(t *testing.T) {
	heap := func(keep any) float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(keep)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := testkit.Must(Open(t.Context(), path, roomy(Filter), VerifyOptions{}))
	batch := make([]accountant.Event, 1000)
	for i := range batch {
		batch[i] = accountant.GNMax{Sigma: 40}
	}
	write := func(batches int) {
		for range batches {
			reservations := testkit.Must(l.ReserveBatch(batch))
			outcomes := make([]Outcome, len(batch))
			for i, r := range reservations {
				outcomes[len(batch)-1-i] = Outcome{Of: r} // in another order
			}
			require.NoError(t, l.CommitBatch(outcomes))
		}
	}
	write(1)
	before := heap(l)
	write(30)
	require.Less(t, heap(l)-before, 1.0, "MB kept for 30000 entries")
	require.NoError(t, l.Close())

	file := testkit.Must(os.Open(path))
	defer file.Close()
	before = heap(nil)
	s := testkit.Must(Verify(file, VerifyOptions{}))
	require.EqualValues(t, 31000, s.Commits)
	require.Less(t, heap(s)-before, 1.0)
}
