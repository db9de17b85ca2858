package aggregate

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

func reserve(t require.TestingT, e accountant.Event) *ledger.Reservation {
	l, err := ledger.Open("", ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 1e-5})
	require.NoError(t, err)
	r, err := l.Reserve(e)
	require.NoError(t, err)
	return r
}

func begin(t require.TestingT, m Mechanism, key Key) *Session {
	s, err := m.Start(reserve(t, m.Event()), key)
	require.NoError(t, err)
	return s
}

func newGNMax(t require.TestingT, sigma float64, queries int) *GNMax {
	m, err := NewGNMax(GNMaxConfig{Sigma: sigma, Queries: queries})
	require.NoError(t, err)
	return m
}

// falseAlarm is the probability that a correct mechanism fails a chi-square
// test. Seeds are fixed, so a test fails always or never.
const falseAlarm = 1e-9

var asked = func() int {
	if raceDetector {
		return 100_000
	}
	return 1_000_000
}()

// answersOf counts labels, and declined queries last, over a whole session on
// one histogram.
func answersOf(t *testing.T, m Mechanism, h Histogram) []float64 {
	s := begin(t, m, SeedKey(1))
	observed := make([]float64, h.Classes()+1)
	for q := range uint64(asked) {
		a, err := s.Ask(q, h)
		switch {
		case err != nil:
			t.Fatal(err)
		case a.Answered:
			observed[a.Label]++
		case a.Label == NoLabel:
			observed[h.Classes()]++
		default:
			t.Fatal("declined with a label")
		}
	}
	return observed
}

func pValue(observed []float64, law Law) float64 {
	var chi2, rest, restExpected float64
	cells := 0
	add := func(o, e float64) {
		chi2 += (o - e) * (o - e) / e
		cells++
	}
	for i, o := range observed {
		expected := float64(asked) * math.Exp(law.LogDeclined)
		if i < len(law.LogLabels) {
			expected = float64(asked) * math.Exp(law.LogLabels[i])
		}
		if expected >= 20 {
			add(o, expected)
		} else {
			rest, restExpected = rest+o, restExpected+expected
		}
	}
	if restExpected >= 5 {
		add(rest, restExpected)
	} else if rest > restExpected+45 { // Poisson(5): probability below 1e-22
		return 0
	}
	return distuv.ChiSquared{K: float64(cells - 1)}.Survival(chi2)
}

func TestGNMaxFollowsItsLaw(t *testing.T) {
	m, h := newGNMax(t, 3, asked), histogram(t, 5, 9, 8, 8, 1)
	observed := answersOf(t, m, h)
	law, err := m.Law(h)
	require.NoError(t, err)
	require.Greater(t, pValue(observed, law), falseAlarm)

	t.Run("controls", func(t *testing.T) {
		if raceDetector {
			t.Skip("too few draws")
		}
		for name, wrong := range map[string]func() (Law, error){
			"continuous noise":    func() (Law, error) { return m.ContinuousLaw(h) },
			"ties at random":      func() (Law, error) { return m.LawWithTies(h, UniformTies) },
			"sigma 2 percent off": func() (Law, error) { return newGNMax(t, 3.06, 1).Law(h) },
			"one vote moved":      func() (Law, error) { return m.Law(histogram(t, 5, 10, 7, 8, 1)) },
		} {
			law, err := wrong()
			require.NoError(t, err)
			require.Less(t, pValue(observed, law), falseAlarm, name)
		}
	})
}

func TestConfidentGNMaxFollowsItsLaw(t *testing.T) {
	make := func(threshold, sigma1, sigma2 float64) *ConfidentGNMax {
		m, err := NewConfidentGNMax(ConfidentGNMaxConfig{
			Threshold: threshold, Sigma1: sigma1, Sigma2: sigma2, Queries: asked, Answers: asked,
		})
		require.NoError(t, err)
		return m
	}
	m, h := make(11.5, 6, 2.5), histogram(t, 3, 9, 8)
	observed := answersOf(t, m, h)
	law, err := m.Law(h)
	require.NoError(t, err)
	require.Greater(t, pValue(observed, law), falseAlarm)

	t.Run("controls", func(t *testing.T) {
		if raceDetector {
			t.Skip("too few draws")
		}
		for name, wrong := range map[string]*ConfidentGNMax{
			"threshold rounded down": make(11, 6, 2.5),
			"sigma 2 percent off":    make(11.5, 6.12, 2.5),
			"sigmas exchanged":       make(11.5, 2.5, 6),
		} {
			law, err := wrong.Law(h)
			require.NoError(t, err)
			require.Less(t, pValue(observed, law), falseAlarm, name)
		}
	})
}

func TestSessionCaps(t *testing.T) {
	h := histogram(t, 90, 10)
	t.Run("questions", func(t *testing.T) {
		s := begin(t, newGNMax(t, 1, 2), SeedKey(1))
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
	t.Run("answers", func(t *testing.T) {
		m, err := NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: 50, Sigma1: 1, Sigma2: 1, Queries: 10, Answers: 2})
		require.NoError(t, err)
		s := begin(t, m, SeedKey(1))
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
		s := begin(t, newGNMax(t, 1, 9), SeedKey(1))
		_, err := s.Ask(1, h)
		require.NoError(t, err)
		_, err = s.Ask(2, histogram(t, 1, 2, 3))
		require.ErrorContains(t, err, "3 classes")
		_, err = s.Ask(3, Histogram{})
		require.Error(t, err)
	})
}

// The charge comes first: another event, a used reservation or none at all
// start nothing.
func TestStartNeedsItsCharge(t *testing.T) {
	m, c := newGNMax(t, 40, 10), confident(t, 10, 20, 40)
	r := reserve(t, m.Event())
	_, err := m.Start(r, Key{})
	require.Error(t, err, "zero key")
	_, err = newGNMax(t, 39, 10).Start(r, SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved, "less noise than charged for")
	_, err = newGNMax(t, 40, 11).Start(r, SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved, "more queries than charged for")
	_, err = c.Start(r, SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved)
	_, err = m.Start(nil, SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved)
	s, err := m.Start(r, SeedKey(1))
	require.NoError(t, err)
	require.False(t, s.Releasable())
	_, err = m.Start(r, SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrNotReserved, "a charge is used once")

	key, err := NewKey()
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
	labels := func(m Mechanism, key Key, reverse bool) []int {
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
	want := labels(newGNMax(t, 4, 200), SeedKey(1), false)
	require.Equal(t, want, labels(newGNMax(t, 4, 200), SeedKey(1), true))
	require.Equal(t, want, labels(newGNMax(t, 4, 500), SeedKey(1), false), "a cap is no parameter of the noise")
	require.NotEqual(t, want, labels(newGNMax(t, 4, 200), SeedKey(2), false))
	require.NotEqual(t, want, labels(newGNMax(t, 4.001, 200), SeedKey(1), false), "other parameters, independent noise")
}

// While many goroutines ask the same questions, each question has one answer and
// the caps hold. The race detector watches.
func TestSessionIsConcurrent(t *testing.T) {
	m, err := NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: 10, Sigma1: 5, Sigma2: 5, Queries: 60, Answers: 20})
	require.NoError(t, err)
	s := begin(t, m, SeedKey(1))
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
	key, err := NewKey()
	if err != nil {
		b.Fatal(err)
	}
	votes := make([]int, 250)
	for i := range votes {
		votes[i] = i * i % 10
	}
	confident, err := NewConfidentGNMax(ConfidentGNMaxConfig{Threshold: 200, Sigma1: 150, Sigma2: 40, Queries: 1 << 40, Answers: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		m    Mechanism
	}{{"gnmax", newGNMax(b, 40, 1<<40)}, {"confident", confident}} {
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
