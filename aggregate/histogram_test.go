package aggregate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

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
