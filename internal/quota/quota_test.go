package quota

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

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
		lead  int64
		noisy []int64
		want  int
	}{{0, []int64{3, 3, 1}, 0}, {1, []int64{3, 3, 1}, aggregate.NoLabel}, {2, []int64{-3, 1, -1}, 1}, {3, []int64{-3, 1, -1}, aggregate.NoLabel}} {
		m := testkit.Must(New(Config{Votes: 1, Sigma: 1, Classes: 3, Lead: c.lead}))
		require.Equal(t, c.want, m.label(c.noisy))
	}
}
