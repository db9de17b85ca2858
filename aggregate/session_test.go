package aggregate

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

func reserve(t require.TestingT, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.AddRemove, e)
}

func begin(t require.TestingT, m Mechanism, key rng.Key) Session {
	s, err := m.Start(reserve(t, m.Event()), key)
	require.NoError(t, err)
	return s
}

func newGNMax(t require.TestingT, sigma float64, queries int) *GNMax {
	m, err := NewGNMax(GNMaxConfig{Sigma: sigma, Queries: queries})
	require.NoError(t, err)
	return m
}

func newLNMax(t require.TestingT, scale float64, queries int) *LNMax {
	m, err := NewLNMax(LNMaxConfig{Scale: scale, Queries: queries})
	require.NoError(t, err)
	return m
}

func newExponential(t require.TestingT, scale float64, queries int) *Exponential {
	m, err := NewExponential(ExponentialConfig{Scale: scale, Queries: queries})
	require.NoError(t, err)
	return m
}

func newPermuteAndFlip(t require.TestingT, scale float64, queries int) *PermuteAndFlip {
	m, err := NewPermuteAndFlip(PermuteAndFlipConfig{Scale: scale, Queries: queries})
	require.NoError(t, err)
	return m
}

func TestSessionCaps(t *testing.T) {
	h := histogram(t, 90, 10)
	t.Run("questions", func(t *testing.T) {
		s := begin(t, newGNMax(t, 1, 2), rng.SeedKey(1))
		first, err := s.Ask(7, h)
		require.NoError(t, err)
		for range 5 {
			again, err := s.Ask(7, histogram(t, 0, 100))
			require.NoError(t, err)
			require.Equal(t, first, again, "a number asked before has its answer")
		}
		_, err = s.Ask(8, h)
		require.NoError(t, err)
		a, err := s.Ask(9, h)
		require.ErrorIs(t, err, ErrExhausted)
		require.Equal(t, Answer{Label: NoLabel}, a)
		again, err := s.Ask(7, h)
		require.NoError(t, err)
		require.Equal(t, first, again)
	})
	t.Run("declined questions", func(t *testing.T) {
		m, err := NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: 50, Sigma1: 1, Sigma2: 1, Queries: 3, Answers: 3})
		require.NoError(t, err)
		s := begin(t, m, rng.SeedKey(1))
		for q := range uint64(3) {
			a, err := s.Ask(q, histogram(t, 20, 20))
			require.NoError(t, err)
			require.False(t, a.Answered)
		}
		_, err = s.Ask(3, h)
		require.ErrorIs(t, err, ErrExhausted, "no answer was given, but all tests are used up")
	})
	t.Run("answers", func(t *testing.T) {
		m, err := NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: 50, Sigma1: 1, Sigma2: 1, Queries: 10, Answers: 2})
		require.NoError(t, err)
		s := begin(t, m, rng.SeedKey(1))
		unsure := histogram(t, 20, 20)
		for q, h := range []Histogram{unsure, h, unsure, h} {
			a, err := s.Ask(uint64(q), h)
			require.NoError(t, err)
			require.Equal(t, q%2 == 1, a.Answered)
		}
		for _, h := range []Histogram{unsure, h} {
			_, err = s.Ask(9, h)
			require.ErrorIs(t, err, ErrExhausted)
		}
	})
	t.Run("classes", func(t *testing.T) {
		s := begin(t, newGNMax(t, 1, 9), rng.SeedKey(1))
		_, err := s.Ask(1, h)
		require.NoError(t, err)
		_, err = s.Ask(2, histogram(t, 1, 2, 3))
		require.ErrorContains(t, err, "3 classes")
		_, err = s.Ask(3, Histogram{})
		require.Error(t, err)
	})
}

// The charge comes first: another event, a used reservation or none at all start nothing.
func TestStartNeedsItsCharge(t *testing.T) {
	m, c := newGNMax(t, 40, 10), confident(t, 10, 20, 40)
	r := reserve(t, m.Event())
	_, err := m.Start(r, rng.Key{})
	require.Error(t, err, "zero key")
	_, err = newGNMax(t, 39, 10).Start(r, rng.SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved, "less noise than charged for")
	_, err = newGNMax(t, 40, 11).Start(r, rng.SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved, "more queries than charged for")
	_, err = c.Start(r, rng.SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved)
	_, err = m.Start(nil, rng.SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved)
	s, err := m.Start(r, rng.SeedKey(1))
	require.NoError(t, err)
	require.False(t, s.Releasable())
	_, err = m.Start(r, rng.SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved, "a charge is used once")

	key, err := rng.NewKey()
	require.NoError(t, err)
	require.True(t, begin(t, c, key).Releasable())
}

func TestEvents(t *testing.T) {
	require.Equal(t,
		accountant.Repeated{Event: accountant.GNMax{Sigma: 40.3, Discrete: true}, Count: 250},
		newGNMax(t, 40.3, 250).Event())
	m, err := NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: 200, Sigma1: 150, Sigma2: 40, Queries: 640, Answers: 300})
	require.NoError(t, err)
	require.Equal(t, accountant.Composed{Events: []accountant.Event{
		accountant.Repeated{Event: accountant.Threshold{Sigma: 150, Discrete: true}, Count: 640},
		accountant.Repeated{Event: accountant.GNMax{Sigma: 40, Discrete: true}, Count: 300},
	}}, m.Event())
}

// Answers are a function of key, parameters, number and votes: not of the order
// of the queries, so a resumed run repeats them.
func TestAnswersRepeat(t *testing.T) {
	h := histogram(t, 5, 5, 5, 5)
	labels := func(m Mechanism, key rng.Key, reverse bool) []int {
		s := begin(t, m, key)
		out := make([]int, 200)
		for i := range out {
			q := i
			if reverse {
				q = len(out) - 1 - i
			}
			a, err := s.Ask(uint64(q), h)
			require.NoError(t, err)
			out[q] = a.Label
		}
		return out
	}
	want := labels(newGNMax(t, 4, 200), rng.SeedKey(1), false)
	require.Equal(t, want, labels(newGNMax(t, 4, 200), rng.SeedKey(1), true))
	require.Equal(t, want, labels(newGNMax(t, 4, 500), rng.SeedKey(1), false), "a cap is no parameter of the noise")
	require.NotEqual(t, want, labels(newGNMax(t, 4, 200), rng.SeedKey(2), false))
	require.NotEqual(t, want, labels(newGNMax(t, 4.001, 200), rng.SeedKey(1), false), "other parameters, independent noise")
}

// Under one key, mechanisms of different kinds draw independent noise, or the
// answers of two sessions would not compose.
func TestNoiseIsNamedByTheMechanism(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []rule{
		gnmax(t, 2), lnmax(t, 2), exponential(t, 2), permuteAndFlip(t, 2), confident(t, 2, 2, 2),
		prediction{mechanism: interactive(t, 2, 2, 2, 2)},
	} {
		name, params := r.noise()
		require.NotEmpty(t, params)
		require.False(t, seen[name], name)
		seen[name] = true
	}
}

// While many goroutines ask the same questions, each question has one answer and
// the caps hold. The race detector watches.
func TestSessionIsConcurrent(t *testing.T) {
	m, err := NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: 10, Sigma1: 5, Sigma2: 5, Queries: 60, Answers: 20})
	require.NoError(t, err)
	s := begin(t, m, rng.SeedKey(1))
	var mu sync.Mutex
	given := map[uint64]Answer{}
	answered := 0
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			h, _ := NewHistogram([]int{10, g, 3})
			for q := range uint64(100) {
				a, err := s.Ask(q, h)
				if err != nil {
					continue
				}
				mu.Lock()
				if before, ok := given[q]; ok && before != a {
					panic("two answers to one query")
				} else if !ok && a.Answered {
					answered++
				}
				given[q] = a
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, len(given), 60)
	require.LessOrEqual(t, answered, 20)
	require.True(t, len(given) == 60 || answered == 20, "%d asked, %d answered", len(given), answered)
}

func TestConfigRefusals(t *testing.T) {
	for name, cfg := range map[string]GNMaxConfig{
		"Sigma":   {Queries: 1},
		"Sigma ":  {Sigma: math.NaN(), Queries: 1},
		"Sigma (": {Sigma: math.Inf(1), Queries: 1},
		"Queries": {Sigma: 1},
	} {
		_, err := NewGNMax(cfg)
		require.ErrorContains(t, err, name)
	}
	good := ConfidentGNMaxConfig{Threshold: 1, Sigma1: 1, Sigma2: 1, Queries: 2, Answers: 2}
	for name, breakIt := range map[string]func(*ConfidentGNMaxConfig){
		"Threshold must":    func(c *ConfidentGNMaxConfig) { c.Threshold = math.NaN() },
		"Threshold must be": func(c *ConfidentGNMaxConfig) { c.Threshold = math.Inf(-1) },
		"Sigma1":            func(c *ConfidentGNMaxConfig) { c.Sigma1 = 0 },
		"Sigma2":            func(c *ConfidentGNMaxConfig) { c.Sigma2 = -1 },
		"Queries":           func(c *ConfidentGNMaxConfig) { c.Queries = 0 },
		"Answers":           func(c *ConfidentGNMaxConfig) { c.Answers = 0 },
		"Answers must be":   func(c *ConfidentGNMaxConfig) { c.Answers = 3 },
	} {
		cfg := good
		breakIt(&cfg)
		_, err := NewConfidentGNMax(cfg)
		require.ErrorContains(t, err, name)
	}
}

func BenchmarkAsk(b *testing.B) {
	key, err := rng.NewKey()
	if err != nil {
		b.Fatal(err)
	}
	votes := make([]int, 250)
	for i := range votes {
		votes[i] = i * i % 10
	}
	confident, err := NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: 200, Sigma1: 150, Sigma2: 40, Queries: 1 << 32, Answers: 1 << 32})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		m    Mechanism
	}{
		{"gnmax", newGNMax(b, 40, 1<<32)}, {"confident", confident}, {"lnmax", newLNMax(b, 20, 1<<32)},
		{"exponential", newExponential(b, 20, 1<<32)}, {"permute-and-flip", newPermuteAndFlip(b, 20, 1<<32)},
	} {
		b.Run(fmt.Sprintf("batch/%s/teachers=250/classes=10", c.name), func(b *testing.B) {
			s, q := begin(b, c.m, key), uint64(0)
			batch := make([]Histogram, 4096)
			for b.Loop() {
				for i := range batch {
					h, err := CountVotes(votes, 10)
					if err != nil {
						b.Fatal(err)
					}
					batch[i] = h
				}
				if _, err := s.AskBatch(q, batch); err != nil {
					b.Fatal(err)
				}
				q += uint64(len(batch))
			}
			b.ReportMetric(float64(q)/b.Elapsed().Seconds(), "queries/s")
			b.ReportMetric(0, "ns/op")
		})
		b.Run(fmt.Sprintf("%s/teachers=250/classes=10", c.name), func(b *testing.B) {
			s, q := begin(b, c.m, key), uint64(0)
			for b.Loop() {
				h, err := CountVotes(votes, 10)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Ask(q, h); err != nil {
					b.Fatal(err)
				}
				q++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}
