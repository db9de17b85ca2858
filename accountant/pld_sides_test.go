package accountant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSidesAtTheSameTime: composing both sides at once changes neither, nor the work that
// is counted, wherever both fit.
func TestSidesAtTheSameTime(t *testing.T) {
	for name, compose := range map[string]Event{
		"one mechanism": sgd(0.01, 1, 3000),
		"two":           Composed{Events: []Event{sgd(0.01, 1, 700), sgd(0.02, 1.5, 300)}},
		"atoms":         Repeated{DiscreteGaussian{Sigma: 20, Sensitivity: 1}, 50},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPLD(t, PLDConfig{})
			require.NoError(t, p.Compose(compose, 1))
			s, _ := p.schedules()
			query := func() *query {
				q := &query{parts: componentsOf(t, s, false)}
				q.aimDelta(-11.5, 1e-3)
				return q
			}
			together, apart := p.newConvolver(t.Context()), newPLD(t, PLDConfig{}).newConvolver(t.Context())
			budget, alone := 7e-4, 7e-4
			up, low, err := query().sides(together, &budget)
			require.NoError(t, err)
			q := query()
			wantUp, err := q.fit(apart, &alone, true)
			require.NoError(t, err)
			wantLow, err := q.fit(apart, &alone, false)
			require.NoError(t, err)
			require.NotNil(t, wantUp)
			require.NotNil(t, wantLow)
			require.Equal(t, wantUp, up)
			require.Equal(t, wantLow, low)
			require.Equal(t, alone, budget)
			require.Equal(t, apart.work, together.work)
			require.Equal(t, apart.largest, together.largest)
			require.LessOrEqual(t, q.foreseen(budget), float64(together.maxLength/2), "there was room for both")

			limited := p.newConvolver(t.Context())
			limited.maxWork = together.work - 1
			_, _, err = query().sides(limited, &budget)
			require.ErrorIs(t, err, errTooMuchWork)
		})
	}
}

// TestSidesShareTheMemory: windows that would not fit beside each other are made one after
// the other, each as long as memory allows.
func TestSidesShareTheMemory(t *testing.T) {
	p := newPLD(t, PLDConfig{})
	require.NoError(t, p.Compose(sgd(0.01, 1, 3000), 1))
	s, _ := p.schedules()
	q := &query{parts: componentsOf(t, s, false)}
	q.aimDelta(-11.5, 1e-3)
	c, budget := p.newConvolver(t.Context()), 7e-4
	_, _, err := q.sides(c, &budget)
	require.NoError(t, err)
	short := newPLD(t, PLDConfig{}).newConvolver(t.Context())
	short.maxLength = c.largest // for one
	up, low, err := q.sides(short, &budget)
	require.NoError(t, err)
	require.NotNil(t, up)
	require.NotNil(t, low)
	require.Equal(t, 7e-4, budget, "no coarser grid was needed")
	require.Greater(t, q.foreseen(budget), float64(short.maxLength/2), "there was no room for both")
	require.Equal(t, c.largest, short.largest)
}

// TestALargeEpsilonReachesItsGap: a relative error of delta moves this epsilon by ten times
// as much, which windows must allow for.
func TestALargeEpsilonReachesItsGap(t *testing.T) {
	p := newPLD(t, PLDConfig{})
	require.NoError(t, p.Compose(sgd(0.01, 1, 10_000_000), 1))
	b, err := p.EpsilonContext(t.Context(), 1e-5)
	require.NoError(t, err)
	require.True(t, b.GapReached, "%v", b)
	require.Less(t, b.Upper-b.Lower, 1e-3)
	require.Greater(t, b.Lower, 1014.066290, "inside what is known: [1014.06629, 1014.06804]")
	require.Less(t, b.Upper, 1014.06804)
}

// TestVeryManySteps: rounding of a transform of one step, a thousand million times, is more
// than this gap, so the frequencies that matter come from the definition.
func TestVeryManySteps(t *testing.T) {
	p := newPLD(t, PLDConfig{})
	require.NoError(t, p.Compose(sgd(1e-5, 1, 1_000_000_000), 1))
	b, err := p.EpsilonContext(t.Context(), 1e-5)
	require.NoError(t, err)
	require.True(t, b.GapReached, "%v", b)
	require.Less(t, b.Upper-b.Lower, 1e-3)
	require.Greater(t, b.Lower, 1.617309, "inside what is known by transforms alone: [1.617309, 1.619440]")
	require.Less(t, b.Upper, 1.619440)
}
