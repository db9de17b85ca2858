package aggregate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

func reserve(t require.TestingT, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.AddRemove, e)
}

func begin(t require.TestingT, m Mechanism, key rng.Key) Session {
	return testkit.Must(m.Start(reserve(t, m.Event()), key))
}

func TestSessionCaps(t *testing.T) {
	h := histogram(t, 90, 10)
	t.Run("questions", func(t *testing.T) {
		s := begin(t, gnmax(t, 1, 2), rng.SeedKey(1))
		first := testkit.Must(s.Ask(7, h))
		for range 5 {
			again := testkit.Must(s.Ask(7, histogram(t, 0, 100)))
			require.Equal(t, first, again, "a number asked before has its answer")
		}
		testkit.Must(s.Ask(8, h))
		a, err := s.Ask(9, h)
		require.ErrorIs(t, err, ErrExhausted)
		require.Equal(t, Answer{Label: NoLabel}, a)
		require.Equal(t, first, testkit.Must(s.Ask(7, h)))
	})
	t.Run("declined questions", func(t *testing.T) {
		s := begin(t, confident(t, 50, 1, 1, 3, 3), rng.SeedKey(1))
		for q := range uint64(3) {
			require.False(t, testkit.Must(s.Ask(q, histogram(t, 20, 20))).Answered)
		}
		require.ErrorIs(t, testkit.Err(s.Ask(3, h)), ErrExhausted, "no answer was given, but all tests are used up")
	})
	t.Run("answers", func(t *testing.T) {
		s := begin(t, confident(t, 50, 1, 1, 10, 2), rng.SeedKey(1))
		unsure := histogram(t, 20, 20)
		for q, h := range []Histogram{unsure, h, unsure, h} {
			require.Equal(t, q%2 == 1, testkit.Must(s.Ask(uint64(q), h)).Answered)
		}
		for _, h := range []Histogram{unsure, h} {
			require.ErrorIs(t, testkit.Err(s.Ask(9, h)), ErrExhausted)
		}
	})
	t.Run("classes", func(t *testing.T) {
		s := begin(t, gnmax(t, 1, 9), rng.SeedKey(1))
		testkit.Must(s.Ask(1, h))
		require.ErrorContains(t, testkit.Err(s.Ask(2, histogram(t, 1, 2, 3))), "3 classes")
		require.Error(t, testkit.Err(s.Ask(3, Histogram{})))
	})
}

// The charge comes first: another event, a used reservation or none at all start nothing.
func TestStartNeedsItsCharge(t *testing.T) {
	m, c := gnmax(t, 40, 10), confident(t, 10, 20, 40)
	r := reserve(t, m.Event())
	require.Error(t, testkit.Err(m.Start(r, rng.Key{})), "zero key")
	require.ErrorIs(t, testkit.Err(gnmax(t, 39, 10).Start(r, rng.SeedKey(1))), ledger.ErrNotReserved, "less noise than charged for")
	require.ErrorIs(t, testkit.Err(gnmax(t, 40, 11).Start(r, rng.SeedKey(1))), ledger.ErrNotReserved, "more queries than charged for")
	require.ErrorIs(t, testkit.Err(c.Start(r, rng.SeedKey(1))), ledger.ErrNotReserved)
	require.ErrorIs(t, testkit.Err(m.Start(nil, rng.SeedKey(1))), ledger.ErrNotReserved)
	require.False(t, testkit.Must(m.Start(r, rng.SeedKey(1))).Releasable())
	require.ErrorIs(t, testkit.Err(m.Start(r, rng.SeedKey(1))), ledger.ErrNotReserved, "a charge is used once")

	require.True(t, begin(t, c, testkit.Must(rng.NewKey())).Releasable())
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
			out[q] = testkit.Must(s.Ask(uint64(q), h)).Label
		}
		return out
	}
	want := labels(gnmax(t, 4, 200), rng.SeedKey(1), false)
	require.Equal(t, want, labels(gnmax(t, 4, 200), rng.SeedKey(1), true))
	require.Equal(t, want, labels(gnmax(t, 4, 500), rng.SeedKey(1), false), "a cap is no parameter of the noise")
	require.NotEqual(t, want, labels(gnmax(t, 4, 200), rng.SeedKey(2), false))
	require.NotEqual(t, want, labels(gnmax(t, 4.001, 200), rng.SeedKey(1), false), "other parameters, independent noise")
}

// Under one key, mechanisms of different kinds draw independent noise, or the
// answers of two sessions would not compose.
func TestNoiseIsNamedByTheMechanism(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range []rule{
		gnmax(t, 2), lnmax(t, 2), exponential(t, 2), permuteAndFlip(t, 2), confident(t, 2, 2, 2),
		prediction{mechanism: interactive(t, 2, 2, 2, 2, nil)},
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
	s := begin(t, confident(t, 10, 5, 5, 60, 20), rng.SeedKey(1))
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

// Every mechanism is charged for its noise and caps, stops at them, and refuses noise and caps that are none.
func TestEventsAndRefusals(t *testing.T) {
	one := func(e accountant.Event) accountant.Event { return accountant.Repeated{Event: e, Count: 3} }
	tested := func(threshold, answer float64) accountant.Event {
		return accountant.Composed{Events: []accountant.Event{
			accountant.Repeated{Event: accountant.Threshold{Sigma: threshold, Discrete: true}, Count: 3},
			accountant.Repeated{Event: accountant.GNMax{Sigma: answer, Discrete: true}, Count: 2},
		}}
	}
	events := map[string]accountant.Event{
		"gnmax": one(accountant.GNMax{Sigma: 2, Discrete: true}), "lnmax": one(accountant.LNMax{Scale: 2, Discrete: true}),
		"exponential": one(accountant.ExponentialMechanism{Epsilon: 1}), "permute-and-flip": one(accountant.PureDP{Epsilon: 1}),
		"confident": tested(3, 2), "interactive": tested(3, 2),
	}
	bad := map[string][]float64{
		"noise":     {0, -1, math.NaN(), math.Inf(1), 0x1p-11, 0x1p41},
		"threshold": {math.NaN(), math.Inf(-1), 0x1p41},
		"share":     {math.NaN(), -0.1, 1.1},
		"cap":       {0, -1, 4},
	}
	for _, d := range Descriptions() {
		s := d.Audit
		s.Queries = 3
		if _, capped := d.Parameter("answers"); capped {
			s = s.With("answers", 2)
		}
		m := testkit.Must(d.New(s))
		require.Equal(t, events[d.Name], m.Event())
		m = testkit.Must(d.New(s.With("answers", 3)))
		session := begin(t, m, rng.SeedKey(1))
		for q := range uint64(3) {
			testkit.Must(session.Ask(q, histogram(t, 5, 5, 0)))
		}
		require.ErrorIs(t, testkit.Err(session.Ask(3, histogram(t, 5, 5, 0))), ErrExhausted, d.Name)
		refused := func(s Setting, field string) {
			require.ErrorContains(t, testkit.Err(d.New(s)), field, d.Name)
		}
		for _, p := range d.Parameters {
			for _, v := range bad[p.Kind] {
				refused(s.With(p.Name, v), strings.ToUpper(p.Name[:1])+p.Name[1:])
			}
		}
		for _, s.Queries = range []int{0, -1} {
			refused(s, "Queries")
		}
		if s.Queries = 3; d.Predicts {
			s.Teachers = 0
			refused(s, "Teachers")
			s.Teachers, s.Predict = 10, nil
			refused(s, "predictions")
		}
	}
}

func BenchmarkAsk(b *testing.B) {
	key := testkit.Must(rng.NewKey())
	votes := testkit.Series(250, func(i int) int { return i * i % 10 })
	for _, c := range []struct {
		name string
		m    Mechanism
	}{
		{"gnmax", gnmax(b, 40, 1<<32)}, {"confident", confident(b, 200, 150, 40, 1<<32, 1<<32)}, {"lnmax", lnmax(b, 20, 1<<32)},
		{"exponential", exponential(b, 20, 1<<32)}, {"permute-and-flip", permuteAndFlip(b, 20, 1<<32)},
	} {
		for name, size := range map[string]int{"batch/": 4096, "": 1} {
			b.Run(fmt.Sprintf("%s%s/teachers=250/classes=10", name, c.name), func(b *testing.B) {
				s, q, batch := begin(b, c.m, key), uint64(0), make([]Histogram, size)
				for b.Loop() {
					for i := range batch {
						batch[i] = testkit.Must(CountVotes(votes, 10))
					}
					_, err := s.AskBatch(q, batch)
					require.NoError(b, err)
					q += uint64(size)
				}
				b.ReportMetric(float64(q)/b.Elapsed().Seconds(), "queries/s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// reserveOn charges n times on one ledger, whose statement says that outcomes may be released.
func reserveOn(t *testing.T, e accountant.Event, n int) []*ledger.Reservation {
	l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.ReplaceOne, Epsilon: 1e9, Delta: 1e-5, Noise: ledger.SecretNoise}))
	events := slices.Repeat([]accountant.Event{e}, n)
	return testkit.Must(l.ReserveBatch(events))
}

func TestSeedsAreRefusedWhereNoiseIsSecret(t *testing.T) {
	m := gnmax(t, 40, 10)
	r := reserveOn(t, m.Event(), 1)[0]
	s, err := m.Start(r, rng.SeedKey(1))
	require.ErrorIs(t, err, ledger.ErrUnfit)
	require.Nil(t, s)
	require.NoError(t, testkit.Err(m.Start(r, testkit.Must(rng.NewKey()))), "either relation")
}

// Charges under one key meet independent noise each: with the same noise, answers
// to other votes would agree far more often than one time in five.
func TestChargesUnderOneKey(t *testing.T) {
	const queries, charges = 1000, 3
	m := gnmax(t, 400, queries)
	key := testkit.Must(rng.NewKey())
	var answers [charges][queries]int
	for i, r := range reserveOn(t, m.Event(), charges) {
		s := testkit.Must(m.Start(r, key))
		for q := range answers[i] {
			answers[i][q] = testkit.Must(s.Ask(uint64(q), histogram(t, 50+2*(i%2), 50+i%2, 50, 50, 50-3*(i%2)))).Label
		}
		for j := range i {
			same := 0
			for q, label := range answers[i] {
				if label == answers[j][q] {
					same++
				}
			}
			require.Less(t, same, 300, "200 on average, 13 the standard deviation: false alarm below 1e-12")
		}
	}
}

// A batch is what asking one by one gives, up to the query that meets a cap, in
// whatever pieces it comes and whatever was asked before.
func TestBatchIsOneByOne(t *testing.T) {
	const queries = 1000
	votes := testkit.Series(queries, func(q int) Histogram { return histogram(t, 40+q%30, 40, q%50) })
	predicting := interactive(t, 100, 20, 4, 4, nil, queries, 200)
	predicting.cfg.Predict = func(q uint64) ([]float64, error) { return [][]float64{{0.05, 0.9, 0.05}, {0.4, 0.3, 0.3}}[q%2], nil }
	for name, m := range map[string]Mechanism{
		"gnmax": gnmax(t, 8, 700), "lnmax": lnmax(t, 8, queries), "exponential": exponential(t, 8, queries),
		"permute-and-flip": permuteAndFlip(t, 8, queries), "confident": confident(t, 70, 10, 8, queries, 200), "interactive": predicting,
	} {
		t.Run(name, func(t *testing.T) {
			one := begin(t, m, rng.SeedKey(1))
			var want []Answer
			var end error
			for q, h := range votes {
				a, err := one.Ask(uint64(q), h)
				if err != nil {
					end = err
					break
				}
				want = append(want, a)
			}
			for _, size := range []int{1, 100, queries} {
				s := begin(t, m, rng.SeedKey(1))
				testkit.Must(s.Ask(3, votes[3]))
				testkit.Must(s.Ask(150, votes[150]))
				var got []Answer
				for start := 0; start < queries; start += size {
					answers, err := s.AskBatch(uint64(start), votes[start:start+size])
					got = append(got, answers...)
					if err != nil {
						require.ErrorIs(t, err, ErrExhausted)
						require.Error(t, end)
						break
					}
				}
				require.Equal(t, want, got, "in batches of %d", size)
			}
		})
	}
}

// Batches that overlap, from many goroutines: each query has the answer it has
// alone. The race detector watches.
func TestBatchesAreConcurrent(t *testing.T) {
	const queries, size = 2000, 500
	votes := testkit.Series(queries, func(q int) Histogram { return histogram(t, 40+q%30, 40, q%50) })
	m := gnmax(t, 8, queries)
	want := testkit.Must(begin(t, m, rng.SeedKey(1)).AskBatch(0, votes))
	s := begin(t, m, rng.SeedKey(1))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for start := g * 20; start+size <= queries; start += 300 {
				got, err := s.AskBatch(uint64(start), votes[start:start+size])
				if err != nil || !slices.Equal(got, want[start:start+size]) {
					panic("a batch differs")
				}
			}
		})
	}
	wg.Wait()
}

func TestBatchRefusals(t *testing.T) {
	s := begin(t, gnmax(t, 1, 9), rng.SeedKey(1))
	h := histogram(t, 1, 2)
	for name, votes := range map[string][]Histogram{
		"zero":    {h, {}},
		"classes": {h, histogram(t, 1, 2, 3)},
	} {
		answers, err := s.AskBatch(4, votes)
		require.ErrorContains(t, err, "query 5", name)
		require.Empty(t, answers, name)
	}
	m := interactive(t, 100, 20, 4, 4, []float64{1, 1}, 9, 9)
	require.ErrorContains(t, testkit.Err(begin(t, m, rng.SeedKey(1)).AskBatch(9, []Histogram{h})), "query 9")
	require.ErrorContains(t, testkit.Err(s.AskBatch(math.MaxUint64, []Histogram{h, h})), "largest query number")
	require.Empty(t, testkit.Must(s.AskBatch(4, nil)))
}

// TestNoiseIsThatOfDerivedKeys checks every answer of Ask and AskBatch against the noise of
// the query's own key. A run that is resumed must find it, so it never changes.
func TestNoiseIsThatOfDerivedKeys(t *testing.T) {
	const queries = 300
	m, key, h := gnmax(t, 40, 2*queries), rng.SeedKey(7), histogram(t, 20, 15, 10)
	name, params := m.noise()
	own := key.Derive(name, params...)
	expect := func(query uint64) Answer {
		return m.decide(h.counts(), m.draw(nil, own.Derive("query", query).Stream(), 3))
	}
	s := begin(t, m, key)
	votes := slices.Repeat([]Histogram{h}, queries)
	for q := range votes {
		require.Equal(t, expect(uint64(q)), testkit.Must(s.Ask(uint64(q), h)))
	}
	for i, a := range testkit.Must(s.AskBatch(queries, votes)) {
		require.Equal(t, expect(queries+uint64(i)), a)
	}
}

func TestCountVotes(t *testing.T) {
	h := testkit.Must(CountVotes([]int{2, 0, Abstain, 2, 2}, 4))
	require.Equal(t, []int{1, 0, 3, 0}, h.Reveal())
	require.Equal(t, 4, h.Classes())
	require.Equal(t, 0, Histogram{}.Classes())
	counts := []int{1, 0, 3, 0}
	same := histogram(t, counts...)
	require.Equal(t, same, h)
	counts[0], same.Reveal()[1] = 9, 9
	require.Equal(t, h, same, "no reference is kept or given")

	for name, c := range map[string]struct {
		votes   []int
		classes int
	}{
		"beyond the classes": {[]int{0, 4}, 4},
		"below abstention":   {[]int{0, -2}, 4},
		"one class":          {nil, 1},
		"negative classes":   {nil, -1},
	} {
		require.Error(t, testkit.Err(CountVotes(c.votes, c.classes)), name)
	}
	for name, counts := range map[string][]int{
		"none": nil, "one class": {5}, "negative": {1, -1}, "too many": {1, maxCount + 1},
	} {
		require.Error(t, testkit.Err(NewHistogram(counts)), name)
	}
}

func TestNothingPrintsTheCounts(t *testing.T) {
	h := histogram(t, 987654, 0)
	type holder struct {
		Exported Histogram
		hidden   Histogram
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%T"} {
		for _, v := range []any{h, &h, holder{h, h}, &holder{h, h}, []Histogram{h}} {
			out := fmt.Sprintf(verb, v)
			require.NotContains(t, out, "987654", verb)
			require.NotContains(t, out, "f1206", verb)
			require.NotContains(t, out, "F1206", verb)
		}
	}
	var buf bytes.Buffer
	slog.New(slog.NewTextHandler(&buf, nil)).Info("m", "votes", h, "holder", holder{h, h})
	slog.New(slog.NewJSONHandler(&buf, nil)).Info("m", "votes", h, "holder", holder{h, h})
	require.NotContains(t, buf.String(), "987654")
	require.Error(t, testkit.Err(json.Marshal(holder{h, h})))
}
