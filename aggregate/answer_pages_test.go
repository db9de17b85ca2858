package aggregate

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/stretchr/testify/require"
)

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
