package aggregate

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/stretchr/testify/require"
)

// A batch is what asking one by one gives, up to the query that meets a cap, in
// whatever pieces it comes and whatever was asked before.
func TestBatchIsOneByOne(t *testing.T) {
	const queries = 1000
	votes := make([]Histogram, queries)
	for q := range votes {
		votes[q] = histogram(t, 40+q%30, 40, q%50)
	}
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
	votes := make([]Histogram, queries)
	for q := range votes {
		votes[q] = histogram(t, 40+q%30, 40, q%50)
	}
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
	require.ErrorContains(t, testkit.Err(s.AskBatch(math.MaxUint64, []Histogram{h, h})), "last number")
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
	votes := make([]Histogram, queries)
	for q := range votes {
		votes[q] = h
		require.Equal(t, expect(uint64(q)), testkit.Must(s.Ask(uint64(q), h)))
	}
	for i, a := range testkit.Must(s.AskBatch(queries, votes)) {
		require.Equal(t, expect(queries+uint64(i)), a)
	}
}
