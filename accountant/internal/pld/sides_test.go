package pld

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// TestSidesAtTheSameTime: composing both sides at once changes neither, nor the work that is counted,
// wherever both fit.
func TestSidesAtTheSameTime(t *testing.T) {
	for name, s := range map[string]*Sum{
		"one mechanism": sumOf(3000, sgd(0.01, 1)),
		"two":           sumOf(500, sgd(0.01, 1), sgd(0.02, 1.5)),
		"atoms":         sumOf(50, DiscreteGaussian(20, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			query := func() *query {
				q := &query{parts: componentsOf(t, s, false)}
				q.aimDelta(-11.5, 1e-3)
				return q
			}
			together, apart := composer().newConvolver(t.Context()), composer().newConvolver(t.Context())
			budget, alone := 7e-4, 7e-4
			up, low, err := query().sides(together, &budget)
			require.NoError(t, err)
			q := query()
			wantUp := testkit.Must(q.fit(apart, &alone, true))
			wantLow := testkit.Must(q.fit(apart, &alone, false))
			require.NotNil(t, wantUp)
			require.NotNil(t, wantLow)
			require.Equal(t, wantUp, up)
			require.Equal(t, wantLow, low)
			require.Equal(t, alone, budget)
			require.Equal(t, apart.work, together.work)
			require.Equal(t, apart.largest, together.largest)
			require.LessOrEqual(t, q.foreseen(budget), float64(together.maxLength/2), "there was room for both")

			limited := composer().newConvolver(t.Context())
			limited.maxWork = together.work - 1
			_, _, err = query().sides(limited, &budget)
			require.ErrorIs(t, err, ErrTooMuchWork)
		})
	}
}

// TestSidesShareTheMemory: windows that would not fit beside each other are made one after the other, each
// as long as memory allows.
func TestSidesShareTheMemory(t *testing.T) {
	s := sumOf(3000, sgd(0.01, 1))
	q := &query{parts: componentsOf(t, s, false)}
	q.aimDelta(-11.5, 1e-3)
	c, budget := composer().newConvolver(t.Context()), 7e-4
	_, _, err := q.sides(c, &budget)
	require.NoError(t, err)
	short := composer().newConvolver(t.Context())
	short.maxLength = c.largest // for one
	up, low, err := q.sides(short, &budget)
	require.NoError(t, err)
	require.NotNil(t, up)
	require.NotNil(t, low)
	require.Equal(t, 7e-4, budget, "no coarser grid was needed")
	require.Greater(t, q.foreseen(budget), float64(short.maxLength/2), "there was no room for both")
	require.Equal(t, c.largest, short.largest)
}

// sgd is a step of Gaussian noise on a Poisson sample.
func sgd(q, sigma float64) Pair { return Gaussian(sigma, 1).OnPoissonSample(q) }

// composer returns one with the limits of an account.
func composer() *Composer { return &Composer{Gap: 1e-3, MaxMemory: 100 << 20} }

// sumOf returns n of each pair.
func sumOf(n int64, pairs ...Pair) *Sum {
	s := &Sum{}
	for _, p := range pairs {
		s.Add(p, n)
	}
	return s
}

// componentsOf returns the pairs of a sum in one order.
func componentsOf(t testing.TB, s *Sum, reverse bool) []component {
	t.Helper()
	parts := testkit.Must(composer().components(t.Context(), s, reverse))
	return parts
}
