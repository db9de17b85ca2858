package stable

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
	"github.com/pate-go/pate/svt"
)

func reserve(t require.TestingT, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.AddRemove, e)
}

func least(t require.TestingT, target accountant.Target) func(func(float64) (accountant.Event, error)) (float64, error) {
	return func(event func(float64) (accountant.Event, error)) (float64, error) {
		noise, _, err := accountant.CalibrateNoise(context.Background(), accountant.RDPConfig{Relation: accountant.AddRemove}.NewAccount, target, event)
		return noise, err
	}
}

func epsilon(t require.TestingT, e accountant.Event, delta float64) float64 {
	return testkit.Must(testledger.Account(t, accountant.AddRemove, e).Epsilon(context.Background(), delta)).Upper
}

func histogram(t require.TestingT, counts ...int) aggregate.Histogram {
	return testkit.Must(aggregate.NewHistogram(counts))
}

func configs() []Config {
	return []Config{
		{Mechanism: MStab, Sigma: 3, Threshold: 9, Queries: 40},
		{Mechanism: MStab, Scale: 2, Threshold: 9, Queries: 40},
		{Mechanism: MSvec, Lambda: 2, Threshold: 9, Failures: 6},
		{Mechanism: SVT, B1: 3, B2: 2, Threshold: 9, Failures: 6},
	}
}

// The same key gives the answers of the mechanism itself, and votes on which another class won give none.
func TestSessionsAreThoseOfThePackages(t *testing.T) {
	key := rng.SeedKey(4)
	for _, cfg := range configs() {
		m := testkit.Must(New(cfg))
		session := testkit.Must(m.Start(reserve(t, m.Event()), key))
		require.False(t, session.Releasable())
		var ask func(query uint64, distance int64) (bool, error)
		switch {
		case m.test != nil:
			s := testkit.Must(stability.Start[int](m.test, reserve(t, m.test.Event()), key))
			ask = func(q uint64, d int64) (bool, error) { a, err := s.Ask(q, 0, d); return a.Released, err }
		default:
			s := testkit.Must(svt.Start[int](m.svt, reserve(t, m.svt.Event()), key))
			ask = func(q uint64, d int64) (bool, error) { a, err := s.Ask(q, 0, d); return a.Released, err }
		}
		answered, ended := 0, false
		for q := range uint64(50) {
			gap := int(q*7%40) + 1
			want, wrong := ask(q, int64(gap-1)/2) // class 1 wins from behind
			got, err := session.Ask(q, histogram(t, 3, 3+gap, 2))
			if wrong != nil {
				require.ErrorIs(t, err, aggregate.ErrExhausted)
				ended = true
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want, got.Answered)
			if want {
				require.Equal(t, 1, got.Label)
				answered++
			} else {
				require.Equal(t, aggregate.NoLabel, got.Label)
			}
			require.Equal(t, []aggregate.Answer{got}, testkit.Must(session.AskBatch(q, []aggregate.Histogram{histogram(t, 90, 0, 0)})))
		}
		require.True(t, ended)
		require.Positive(t, answered)
	}
}

// TestFit: what is found is within the budget, and a little less noise is not.
func TestFit(t *testing.T) {
	target := accountant.Target{Epsilon: 1, Delta: 1e-6}
	for _, task := range []Task{
		{Mechanism: MStab, Queries: 1, Delta: 5e-7}, {Mechanism: MStab, Queries: 1000, Delta: 5e-7},
		{Mechanism: MStab, Noise: stability.Laplace, Queries: 1000, Delta: 5e-7},
		{Mechanism: MSvec, Queries: 1000, Failures: 20, Delta: 5e-7}, {Mechanism: SVT, Queries: 1000, Failures: 20, Delta: 5e-7},
		{Mechanism: SVT, Queries: 5, Failures: 5, Delta: 9e-7},
	} {
		cfg := testkit.Must(Fit(task, least(t, target)))
		m := testkit.Must(New(cfg))
		eps := epsilon(t, m.Event(), target.Delta)
		require.LessOrEqual(t, eps, target.Epsilon, "%+v", task)
		require.Greater(t, eps, target.Epsilon*0.995, "%+v", task)
		released, _ := m.LawAt(0)
		require.LessOrEqual(t, math.Exp(released), task.Delta, "%+v", task)
		t.Logf("%+v: %+v", task, cfg)
		if task.Mechanism == MStab && task.Noise == 0 { // one query is for Laplace noise, a thousand for Gaussian
			require.Equal(t, task.Queries == 1, cfg.Scale != 0)
		}
	}
	_, err := Fit(Task{Mechanism: SVT, Queries: 10, Failures: 2, Delta: 1e-6}, least(t, target))
	require.NoError(t, err, "at pure epsilon all of delta may go to releases at distance 0")
	require.ErrorIs(t, testkit.Err(Fit(Task{Mechanism: MStab, Queries: 10, Delta: 2e-6}, least(t, target))), ErrNoFit)
}

// TestThresholdsGoRoundAndRound: a config of MStab names the mechanism it came from.
func TestThresholdsGoRoundAndRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := Task{Mechanism: MStab, Queries: rapid.IntRange(1, 1000).Draw(t, "queries"), Delta: math.Pow(10, -rapid.Float64Range(2, 11).Draw(t, "delta"))}
		noise := math.Exp(rapid.Float64Range(0, 5).Draw(t, "noise"))
		for _, f := range task.families() {
			cfg := testkit.Must(f(noise))
			m := testkit.Must(New(cfg))
			require.Equal(t, cfg.Threshold, m.test.Threshold())
			released, _ := m.LawAt(0)
			require.LessOrEqual(t, math.Exp(released)*float64(task.Queries), task.Delta*(1+1e-9))
		}
	})
}

func TestRefusals(t *testing.T) {
	for name, cfg := range map[string]Config{
		"nothing": {}, "other": {Mechanism: "gnmax"},
		"two noises": {Mechanism: MStab, Sigma: 1, Scale: 1, Threshold: 9, Queries: 1}, "no noise": {Mechanism: MStab, Threshold: 9, Queries: 1},
		"NaN": {Mechanism: MStab, Sigma: math.NaN(), Threshold: 9, Queries: 1}, "no tail": {Mechanism: MStab, Sigma: 1, Threshold: 99, Queries: 1},
		"failures of m-stab": {Mechanism: MStab, Sigma: 2, Threshold: 9, Queries: 1, Failures: 1}, "no queries": {Mechanism: MStab, Sigma: 2, Threshold: 9},
		"queries of svt": {Mechanism: SVT, B1: 2, B2: 2, Failures: 1, Queries: 3}, "no failures": {Mechanism: SVT, B1: 2, B2: 2},
		"b1 of m-svec": {Mechanism: MSvec, Lambda: 2, B1: 2, Failures: 1}, "no scale": {Mechanism: MSvec, Failures: 1},
		"infinite": {Mechanism: SVT, B1: 2, B2: math.Inf(1), Failures: 1}, "negative": {Mechanism: MSvec, Lambda: 2, Threshold: -1, Failures: 1},
	} {
		require.Error(t, testkit.Err(New(cfg)), name)
	}
	for _, task := range []Task{
		{}, {Mechanism: SVT, Queries: 1, Delta: 1e-6}, {Mechanism: SVT, Queries: 1, Failures: 2, Delta: 1e-6}, {Mechanism: MStab, Queries: 1, Failures: 1, Delta: 1e-6},
		{Mechanism: MStab, Queries: 1, Delta: math.NaN()}, {Mechanism: MStab, Queries: 1, Delta: 1e-6, Success: 1}, {Mechanism: SVT, Noise: stability.Laplace, Queries: 1, Failures: 1, Delta: 1e-6},
		{Mechanism: "x", Queries: 1, Failures: 1, Delta: 1e-6},
	} {
		require.Error(t, testkit.Err(Fit(task, least(t, accountant.Target{Epsilon: 1, Delta: 1e-5}))), "%+v", task)
	}
	m := testkit.Must(New(configs()[3]))
	require.Error(t, testkit.Err(m.Start(reserve(t, accountant.PureDP{Epsilon: 1}), rng.SeedKey(1))), "another charge")
	require.Error(t, testkit.Err(m.Start(reserve(t, m.Event()), rng.Key{})), "no key")
	s := testkit.Must(m.Start(reserve(t, m.Event()), rng.SeedKey(1)))
	require.Error(t, testkit.Err(s.Ask(0, aggregate.Histogram{})), "no votes")
}
