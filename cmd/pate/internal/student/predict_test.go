package student

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/student/published"
)

// TestEveryPredictionSaysWhetherItMayLeave: as answers of pate dpsgd predict do.
func TestEveryPredictionSaysWhetherItMayLeave(t *testing.T) {
	m := &published.Model{}
	m.Classes = []string{"a", "b"}
	for releasable, word := range map[bool]string{true: "true", false: "false"} {
		got := (&predictFlags{}).table(m, dataset.Pool{IDs: []string{"0", "1"}}, []published.Prediction{{Class: 1}, {Class: 0}}, releasable)
		require.Equal(t, []string{"row", "label", "releasable"}, got.Header)
		require.Equal(t, [][]string{{"0", "b", word}, {"1", "a", word}}, got.Rows)
	}
}
