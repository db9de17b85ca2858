package tokens

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

func some(n int) int {
	switch {
	case testkit.Race:
		return n / 50
	case *long:
		return n
	}
	return n / 10
}

func dense(c Counts) aggregate.Histogram {
	all := make([]int, c.Size)
	for i, token := range c.Tokens {
		all[token] = int(c.Votes[i])
	}
	return testkit.Must(aggregate.NewHistogram(all))
}

func exps(logs []float64) (p []float64) {
	for _, l := range logs {
		p = append(p, math.Exp(l))
	}
	return p
}

// lawOf returns the log probabilities of all tokens, then of declining.
func lawOf(m interface {
	Law(aggregate.Histogram) (aggregate.Law, error)
}, c Counts) []float64 {
	law := testkit.Must(m.Law(dense(c)))
	return append(law.LogLabels, law.LogDeclined)
}

// sparseLaw returns the law of a token that wins by listed noise and one pair (x, i) of
// rng.DiscreteGaussian.Largest. The pair has probability B(x, i) - B(x, i+1), B(x, i) = F(x)^(n-i) F(x-1)^i.
func sparseLaw(c Counts, sigma float64) []float64 {
	noise := testkit.Must(rng.NewDiscreteGaussian(sigma))
	masses := rng.NewMasses(noise.LogProb, int64(12*sigma)+2)
	law, others := make([]float64, c.Size), float64(c.Size-len(c.Tokens))
	for x := -masses.Reach; x <= masses.Reach+c.largest(); x++ {
		before, after := masses.AtMost(x-1), masses.AtMost(x)
		// beaten returns the probability that listed tokens, but for one, have less than (x, token).
		beaten := func(token int) float64 {
			p := 1.0
			for i, t := range c.Tokens {
				switch {
				case t < token:
					p *= masses.AtMost(x - 1 - c.Votes[i])
				case t > token:
					p *= masses.AtMost(x - c.Votes[i])
				}
			}
			return p
		}
		span := 0.0 // of listed tokens, for all tokens between two of them
		listed := 0
		for token := range c.Size {
			if listed < len(c.Tokens) && c.Tokens[listed] == token {
				rank := float64(token - listed)
				if at := x - c.Votes[listed]; at >= -masses.Reach && at <= masses.Reach {
					law[token] += masses.At(at) * beaten(token) * math.Pow(after, others-rank) * math.Pow(before, rank)
				}
				listed++
				continue
			}
			if rank := token - listed; x <= masses.Reach {
				if token == 0 || listed > 0 && c.Tokens[listed-1] == token-1 {
					span = beaten(token)
				}
				law[token] += masses.At(x) * math.Pow(before, float64(rank)) * math.Pow(after, others-1-float64(rank)) * span
			}
		}
	}
	return law
}

var laws = []struct {
	counts Counts
	sigma  float64
}{
	{Counts{5, []int{1, 4}, []int64{3, 2}}, 1.5},
	{Counts{5, []int{0, 2, 3}, []int64{4, 0, 4}}, 0.7},
	{Counts{100, []int{3, 50, 51, 99}, []int64{12, 9, 10, 1}}, 4},
	{Counts{10_000, []int{0, 77, 5000, 9998}, []int64{20, 18, 25, 1}}, 6},
	{Counts{3, []int{0, 1, 2}, []int64{2, 2, 1}}, 2},
	{Counts{5, nil, nil}, 1},
}

// TestSparseLaw: the law of a sparse answer is that of the dense mechanism.
func TestSparseLaw(t *testing.T) {
	for _, c := range laws {
		want := exps(lawOf(testkit.Must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: c.sigma, Queries: 1})), c.counts))
		got := sparseLaw(c.counts, c.sigma)
		for token, p := range got {
			require.InDelta(t, want[token], p, 1e-12, "%v %d", c.counts, token)
		}
	}
}

func observe(t *testing.T, m Mechanism, in Input, n, outcomes int) []float64 {
	session, seen := m.Start(rng.SeedKey(2)), make([]float64, outcomes+1)
	for q := range n {
		a, err := session.Answer(State{}, uint64(q), in)
		require.NoError(t, err)
		if a.Token == None {
			a.Token = outcomes
		}
		seen[a.Token]++
	}
	return seen
}

func requireLaw(t *testing.T, seen, law []float64) {
	n, expected := 0.0, make([]float64, len(seen))
	for _, s := range seen {
		n += s
	}
	for i, p := range law {
		expected[i] = n * p
	}
	require.Greater(t, testkit.ChiSquare(seen, expected), testkit.FalseAlarm)
}

// TestDraws runs chi-square tests of drawn answers against the law of the dense mechanism, and
// against closed forms. Each has a false-alarm rate of 1e-9.
func TestDraws(t *testing.T) {
	n := some(1_000_000)
	for i, c := range laws {
		t.Run(fmt.Sprint("gnmax ", i), func(t *testing.T) {
			cfg := aggregate.GNMaxConfig{Sigma: c.sigma, Queries: 1}
			law := exps(lawOf(testkit.Must(aggregate.NewGNMax(cfg)), c.counts))
			requireLaw(t, observe(t, testkit.Must(NewGNMax(cfg)), Input{Counts: c.counts}, n, c.counts.Size), law)
		})
		t.Run(fmt.Sprint("confident ", i), func(t *testing.T) {
			cfg := aggregate.ConfidentGNMaxConfig{Threshold: 4.5, Sigma1: 3, Sigma2: c.sigma, Queries: 1, Answers: 1}
			law := exps(lawOf(testkit.Must(aggregate.NewConfidentGNMax(cfg)), c.counts))
			requireLaw(t, observe(t, testkit.Must(NewConfident(cfg)), Input{Counts: c.counts}, n/4, c.counts.Size), law)
		})
		if c.counts.Size > 3 && c.counts.Size < 1000 {
			t.Run(fmt.Sprint("limited ", i), func(t *testing.T) {
				m := testkit.Must(NewLimited(LimitedConfig{Scale: 1.7, Domain: 3, Margin: 3, Queries: 1}))
				requireLaw(t, observe(t, m, Input{Counts: c.counts}, n/4, c.counts.Size), exps(limitedLaw(m.cfg, c.counts)))
			})
		}
	}
	t.Run("clipped", func(t *testing.T) {
		m := testkit.Must(NewClipped(ClippedConfig{Clip: 2, Steps: 5, Teachers: 3, Temperature: 0.6, Queries: 1}))
		in := Input{List: []int{0, 1, 2, 3, 4}, Base: []int64{0, -3, -12, 4, -40}, Scores: []int64{3, 15, -2, -15, 0}}
		law := append(exps(clippedLaw(0.6*3*5/2, in.Base, [][]int64{in.Scores})), 0)
		requireLaw(t, observe(t, m, in, n/4, 5), law)
	})
}

// TestScreenDraws: the transcripts of a screen have the law of a sparse vector with one-sided noise.
func TestScreenDraws(t *testing.T) {
	questions := []Counts{
		{9, []int{2, 5}, []int64{9, 1}}, {9, []int{2}, []int64{4}}, {9, []int{1, 2}, []int64{5, 3}}, {9, []int{2, 3}, []int64{12, 2}},
	}
	for name, epochs := range map[string]int64{"one epoch of two": 1, "two epochs of one": 2} {
		t.Run(name, func(t *testing.T) {
			cfg := ScreenConfig{B1: 2, B2: 3, Threshold: 2, Failures: 2 / epochs, Epochs: epochs}
			m := testkit.Must(NewScreen(cfg, testkit.Must(NewGNMax(aggregate.GNMaxConfig{Sigma: 1, Queries: 2}))))
			law := svt.Law{Threshold: -float64(cfg.Threshold), ThresholdNoise: svt.Noise{Kind: svt.Geometric, Scale: cfg.B1},
				QueryNoise: svt.Noise{Kind: svt.Geometric, Scale: cfg.B2}, Stop: 2, Refresh: epochs == 2}
			var values []float64
			for _, c := range questions {
				values = append(values, -float64(c.distance(2)))
			}
			number, want := map[string]int{}, []float64{}
			for _, o := range testkit.Must(law.Outcomes(values)) {
				number[fmt.Sprint(o.Above)] = len(want)
				want = append(want, o.Prob)
			}
			seen := make([]float64, len(want))
			for run := range some(300_000) {
				session, state, above := m.Start(rng.SeedKey(uint64(run))), State{}, []bool{}
				for q, c := range questions {
					a, err := session.Answer(state, uint64(q), Input{Counts: c, Public: 2})
					if err != nil {
						require.ErrorIs(t, err, ErrExhausted)
						break
					}
					state.Count(a)
					above = append(above, a.Source != Public)
				}
				seen[number[fmt.Sprint(above)]]++
			}
			requireLaw(t, seen, want)
		})
	}
}

// TestAnswersRepeat: sessions with one key give equal answers in any order, other keys, queries and
// parameters give other noise.
func TestAnswersRepeat(t *testing.T) {
	counts := Input{Counts: Counts{1000, []int{5, 700}, []int64{9, 7}}, Public: 5, List: []int{3, 4, 5}, Scores: []int64{0, 1, 2}}
	tokensOf := func(m Mechanism, key rng.Key, queries ...uint64) (answers []Answer) {
		session := m.Start(key)
		for _, q := range queries {
			answers = append(answers, testkit.Must(session.Answer(State{}, q, counts)))
		}
		return answers
	}
	for _, both := range [][2]Mechanism{
		{testkit.Must(NewGNMax(aggregate.GNMaxConfig{Sigma: 9, Queries: 9})), testkit.Must(NewGNMax(aggregate.GNMaxConfig{Sigma: 9 + 1e-9, Queries: 9}))},
		{testkit.Must(NewConfident(aggregate.ConfidentGNMaxConfig{Threshold: -9, Sigma1: 1, Sigma2: 9, Queries: 9, Answers: 9})),
			testkit.Must(NewConfident(aggregate.ConfidentGNMaxConfig{Threshold: -8, Sigma1: 1, Sigma2: 9, Queries: 9, Answers: 9}))},
		{testkit.Must(NewLimited(LimitedConfig{Scale: 99, Domain: 500, Margin: 5, Queries: 9})), testkit.Must(NewLimited(LimitedConfig{Scale: 99, Domain: 500, Margin: 6, Queries: 9}))},
		{testkit.Must(NewClipped(ClippedConfig{Clip: 1, Steps: 2, Teachers: 9, Temperature: 9, Queries: 9})),
			testkit.Must(NewClipped(ClippedConfig{Clip: 1, Steps: 3, Teachers: 9, Temperature: 9, Queries: 9}))},
	} {
		m, key := both[0], rng.SeedKey(4)
		first := tokensOf(m, key, 0, 1, 2, 3, 4, 5, 6, 7)
		again := tokensOf(m, key, 7, 6, 5, 4, 3, 2, 1, 0)
		slices.Reverse(again)
		require.Equal(t, first, again)
		require.NotEqual(t, first, tokensOf(m, rng.SeedKey(5), 0, 1, 2, 3, 4, 5, 6, 7))
		require.NotEqual(t, first, tokensOf(m, key, 10, 11, 12, 13, 14, 15, 16, 17))
		require.NotEqual(t, first, tokensOf(both[1], key, 0, 1, 2, 3, 4, 5, 6, 7))
	}
}
