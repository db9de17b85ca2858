package accountant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestALargeEpsilonReachesItsGap: a relative error of delta moves this epsilon by ten times as much, which
// windows must allow for.
func TestALargeEpsilonReachesItsGap(t *testing.T) {
	p := newPLD(t, PLDConfig{}, sgd(0.01, 1, 10_000_000))
	b := epsAt(t, p, 1e-5)
	require.True(t, b.GapReached, "%v", b)
	require.Less(t, b.Upper-b.Lower, 1e-3)
	require.Greater(t, b.Lower, 1014.066290, "inside what is known: [1014.06629, 1014.06804]")
	require.Less(t, b.Upper, 1014.06804)
}

// TestVeryManySteps: rounding of a transform of one step, a thousand million times, is more than this gap,
// so the frequencies that matter come from the definition.
func TestVeryManySteps(t *testing.T) {
	p := newPLD(t, PLDConfig{}, sgd(1e-5, 1, 1_000_000_000))
	b := epsAt(t, p, 1e-5)
	require.True(t, b.GapReached, "%v", b)
	require.Less(t, b.Upper-b.Lower, 1e-3)
	require.Greater(t, b.Lower, 1.617309, "inside what is known by transforms alone: [1.617309, 1.619440]")
	require.Less(t, b.Upper, 1.619440)
}
