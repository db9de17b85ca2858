package experiments

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMajority(t *testing.T) {
	require.Equal(t, 1, majority([]int{2, 1, 1, 0, 2}, 3), "of equals the first")
}
