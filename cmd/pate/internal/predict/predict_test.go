package predict

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryPredictionSaysWhetherItMayLeave(t *testing.T) {
	for releasable, word := range map[bool]string{true: "true", false: "false"} {
		got := written([]answer{{Row: "0", Label: "b"}, {Row: "1", Label: "a"}}, nil, releasable)
		require.Equal(t, []string{"row", "label", "releasable"}, got.Header)
		require.Equal(t, [][]string{{"0", "b", word}, {"1", "a", word}}, got.Rows)
	}
}
