package training

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTeachersForLeavesUnitsToEach(t *testing.T) {
	for _, c := range []struct{ units, teachers int }{
		{2, 2}, {9, 9}, {100, 20}, {400, 40}, {1000, 70}, {3951, 197}, {22857, 310}, {60000, 490},
	} {
		require.Equal(t, c.teachers, TeachersFor(c.units), "%d units", c.units)
	}
}
