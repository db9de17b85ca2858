package quota

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/neighbours"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
)

const classes = 3

// world returns units with one to three rows each, and questions.
func world(units, cols, questions int, seed uint64) (neighbours.Rows, []Question) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	point := func() []float32 {
		x := make([]float32, cols)
		for i := range x {
			x[i] = float32(rnd.IntN(9)) / 4 // with ties
		}
		return x
	}
	rows := neighbours.Rows{Classes: classes}
	for u := range units {
		for range 1 + u%3 {
			rows.X.Data = append(rows.X.Data, point()...)
			rows.Y, rows.Units = append(rows.Y, rnd.IntN(classes)), append(rows.Units, fmt.Sprint(u))
		}
	}
	rows.X.Rows, rows.X.Cols, rows.X.Stride = len(rows.Y), cols, cols
	var asked []Question
	for q := range questions {
		asked = append(asked, Question{uint64(q), point(), float64(rnd.IntN(5)) / 4})
	}
	return rows, asked
}

// plainVotes is the definition: one question, one unit, one row after the other.
func plainVotes(rows neighbours.Rows, most int, asked []Question) (counts []int64) {
	cast := map[string]int{}
	for _, q := range asked {
		at, nearest, label := make([]int64, classes), map[string]float64{}, map[string]int{}
		for i, u := range rows.Units {
			d := distance(dense.Row(rows.X, i), q.Row)
			if best, there := nearest[u]; d <= q.Radius*q.Radius && (!there || d < best) {
				nearest[u], label[u] = d, rows.Y[i]
			}
		}
		for u, class := range label {
			if cast[u] < most {
				cast[u]++
				at[class]++
			}
		}
		counts = append(counts, at...)
	}
	return counts
}

func TestVotesByDefinition(t *testing.T) {
	for seed, c := range []struct{ units, cols, questions, most int }{
		{1, 1, 3, 1}, {40, 1, 30, 2}, {300, 3, 200, 5}, {2100, 5, 70, 1}, {150, 40, 65, 3}, {90, 300, 64, 40},
	} {
		rows, asked := world(c.units, c.cols, c.questions, uint64(seed))
		for i := range asked {
			asked[i].Radius *= float64(c.cols) / 4
		}
		v := testkit.Must(newVoters(rows, Config{Votes: c.most, Classes: classes}))
		var counts []int64
		for from := 0; from < len(asked); { // batches of several lengths
			to := min(len(asked), from+1+from%7)
			counts = append(counts, testkit.Must(v.vote(t.Context(), asked[from:to]))...)
			from = to
		}
		want := plainVotes(rows, c.most, asked)
		require.Equal(t, want, counts)
		total := int64(0)
		for _, n := range counts {
			total += n
		}
		require.True(t, total > 0 || c.units == 1)
		all := testkit.Must(newVoters(rows, Config{Votes: c.most, Classes: classes}))
		require.Equal(t, want, testkit.Must(all.vote(t.Context(), asked)), "in one batch")
		require.Equal(t, v.cast, all.cast)
	}
}

func TestLabel(t *testing.T) {
	for _, c := range []struct {
		lead  float64
		noisy []int64
		want  int
	}{{0, []int64{3, 3, 1}, 0}, {1, []int64{3, 3, 1}, aggregate.NoLabel}, {2, []int64{-3, 1, -1}, 1}, {3, []int64{-3, 1, -1}, aggregate.NoLabel}} {
		m := testkit.Must(New(Config{Votes: 1, Sigma: 1, Classes: 3, Lead: c.lead}))
		require.Equal(t, c.want, m.label(c.noisy), c)
	}
}

// A plan depends only on public numbers, fits the budget, and has a radius that a question of the public
// rows reaches as many of as is meant.
func TestPlan(t *testing.T) {
	least := func(event func(float64) (accountant.Event, error)) (float64, error) {
		sigma, _, err := accountant.CalibrateNoise(t.Context(), func() (accountant.Accountant, error) {
			return accountant.AutoConfig{Relation: accountant.AddRemove}.NewAccount()
		}, accountant.Target{Epsilon: 2, Delta: 1e-5}, event)
		return sigma, err
	}
	for _, c := range []struct{ units, questions, classes, votes int }{
		{16000, 2000, 26, 10}, {60000, 2000, 10, 8}, {16000, 100, 26, 2}, {3840, 2000, 8, 125}, {1_000_000, 1, 2, 1},
	} {
		p, err := Terms{Units: c.units, Questions: c.questions, Config: Config{Classes: c.classes}}.Choose(least)
		require.NoError(t, err)
		require.Equal(t, c.votes, p.Votes, "%v %v", c, p)
		require.InDelta(t, 1.9935*math.Sqrt(float64(c.votes)), p.Sigma, 0.01*p.Sigma)
		again, err := p.Choose(nil) // nothing is left to choose
		require.NoError(t, err)
		require.Equal(t, p, again)
	}
	require.ErrorIs(t, testkit.Err(Terms{Units: 100, Questions: 2000, Config: Config{Classes: 9}}.Choose(least)), ErrFutile)
	require.Error(t, testkit.Err(Terms{}.Choose(least)))
	spent := func(func(float64) (accountant.Event, error)) (float64, error) { return 0, accountant.ErrNoBracket }
	require.ErrorIs(t, testkit.Err(Terms{Units: 100, Questions: 2, Config: Config{Classes: 2}}.Choose(spent)), ErrFutile)

	s := Sample{X: dense.New(1000, 1), Terms: Terms{Questions: 100, Config: Config{Votes: 10}}}
	for i := range s.X.Data {
		s.X.Data[i] = float32(i)
	}
	for before, rank := range map[uint64]float64{0: 49, 50: 70, 100: 91, 1e6: 91} { // 0.7 * 0.1 of 1000 rows, less and more
		require.InDelta(t, rank, s.rank(before), 1e-9)
		require.InDelta(t, rank-1, s.Radius([]float32{0}, before), 1e-9)
	}
	require.NoError(t, s.Check())
	s.Terms.Questions = 100_000
	require.ErrorContains(t, s.Check(), "at least 20409 are needed")
	s.Terms.Radius = 3
	require.NoError(t, s.Check())
	require.EqualValues(t, 3, s.Radius([]float32{0}, 5))
}

// A question costs a share of the time of its batch, because distances are products of matrices.
func BenchmarkAsk(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("1e6 rows x 20, %d questions", size), func(b *testing.B) {
			rows := neighbours.Rows{X: dense.New(1_000_000, 20), Y: make([]int, 1_000_000), Classes: classes}
			rnd := rand.New(rand.NewPCG(1, 1))
			for i := range rows.X.Data {
				rows.X.Data[i] = float32(rnd.NormFloat64())
			}
			for i := range rows.Y {
				rows.Units = append(rows.Units, fmt.Sprint(i))
			}
			v := testkit.Must(newVoters(rows, Config{Votes: 8, Classes: classes}))
			asked := make([]Question, size)
			for i := range asked {
				asked[i] = Question{uint64(i), dense.Row(rows.X, i), 3}
			}
			for b.Loop() {
				testkit.Must(v.vote(b.Context(), asked))
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*size), "ms/question")
		})
	}
}
