package pld

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
	parts, err := composer().components(t.Context(), s, reverse)
	require.NoError(t, err)
	return parts
}
