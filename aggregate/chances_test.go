package aggregate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/testkit"
)

// TestChancesAreTheLaw compares them with the law of every mechanism that has both, on random votes and noise.
func TestChancesAreTheLaw(t *testing.T) {
	for _, d := range Descriptions() {
		if d.Chances == nil {
			continue
		}
		rapid.Check(t, func(t *rapid.T) {
			votes := rapid.SliceOfN(rapid.IntRange(0, 60), 2, 12).Draw(t, "counts")
			label := rapid.IntRange(0, len(votes)-1).Draw(t, "label")
			s := Setting{Mechanism: d.Name, Queries: 1}
			for _, p := range d.Parameters {
				switch p.Kind {
				case "threshold":
					s = s.With(p.Name, rapid.Float64Range(-10, 60).Draw(t, p.Name))
				case "noise":
					s = s.With(p.Name, math.Exp(rapid.Float64Range(-2, 5).Draw(t, "log "+p.Name)))
				}
			}
			s = d.Complete(s)
			counts := histogram(t, votes...).counts()
			got := testkit.Must(d.Chances(s, len(counts), false))
			law := testkit.Must(testkit.Must(d.New(s)).Law(histogram(t, votes...)))
			right := math.Exp(law.LogLabels[label] - mathx.LogSumExp(law.LogLabels))
			require.InDelta(t, right, got.Right(counts, label), 1e-11)
			require.Equal(t, d.Declines, got.Answered != nil)
			if d.Declines {
				require.InDelta(t, -math.Expm1(min(0, law.LogDeclined)), got.Answered(counts), 1e-11)
			}
		})
	}
}

// TestRoughLaplace holds what ranks numbers of queries to its tolerance.
func TestRoughLaplace(t *testing.T) {
	for _, scale := range []float64{5, 20, 90, 400} {
		rough := testkit.Must(laplaceChance(scale, true))
		fine := testkit.Must(laplaceChance(scale, false))
		for _, counts := range [][]int64{{80, 12, 3, 3, 2}, {50, 48, 2, 0, 0}, {20, 20, 20, 20, 20}, {9, 0, 91, 0, 0}} {
			for label := range counts {
				require.InDelta(t, fine(counts, label), rough(counts, label), 1e-2)
			}
		}
	}
}

// Against a map, on numbers that are near each other, far away and at the end.
func TestAnswerPagesKeepAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Uint64Range(0, 200), rapid.Uint64Range(1<<40, 1<<40+200), rapid.Uint64Min(1<<64-70))
		want := map[uint64]Answer{}
		var g answerPages
		for range rapid.IntRange(1, 300).Draw(t, "asked") {
			q := number.Draw(t, "query")
			before, ok := want[q]
			a, has := g.answer(q)
			require.Equal(t, ok, has)
			if ok {
				require.Equal(t, before, a)
				continue
			}
			a = Answer{Label: rapid.IntRange(NoLabel, 1<<15).Draw(t, "label")}
			a.Answered = a.Label != NoLabel
			a.Reused = a.Answered && rapid.Bool().Draw(t, "reused")
			g.add(q, a)
			want[q] = a
		}
		require.Equal(t, len(want), g.n)
	})
}
