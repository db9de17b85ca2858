package main

import (
	"context"
	"strings"
	"testing"

	"github.com/pate-go/pate/rng"
	"github.com/stretchr/testify/require"
)

// With the noise of a seed: what teachers agree on is answered as they say, what they do not
// is not, and the cost is within the budget.
func TestServe(t *testing.T) {
	var out strings.Builder
	require.NoError(t, serve(context.Background(), &out, arriving(40), rng.SeedKey(1)))
	require.Contains(t, out.String(), "query 0: class 0\nquery 1: class 1\n")
	require.NotContains(t, out.String(), "query 3:")
	require.Regexp(t, `answered 2\d, declined \d+; epsilon 1\.\d\d; may be released: false\n$`, out.String())

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, serve(ctx, &out, nil, rng.SeedKey(1)), context.Canceled)
}
