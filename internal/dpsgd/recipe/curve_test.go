package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A run that is cut off between checkpoint and observation loses no point.
func TestNoPointOfACurveEndsWithACheckpoint(t *testing.T) {
	for total := 1; total < 3000; total++ {
		points := 0
		for step := 1; step < total; step++ {
			if onCurve(step, total) {
				points++
				if step > 1 {
					require.NotZero(t, step%checkpointEvery(total), "step %d of %d", step, total)
				}
			}
		}
		if total >= 2*curvePoints {
			require.Equal(t, curvePoints-1, points, "%d steps", total)
		}
	}
}
