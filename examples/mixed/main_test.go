package main

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/stretchr/testify/require"
)

// With the noise of a seed: both are right, the whole costs more than its first half, and no
// more than the budget.
func TestSpend(t *testing.T) {
	var out strings.Builder
	require.NoError(t, spend(context.Background(), &out, rng.SeedKey(1)))
	require.Contains(t, out.String(), "labels [0,1,2,0,1,2,0,1,2,0,1,2,0,1,2,0,1,2,0,1]\n")
	require.Contains(t, out.String(), "predicts [0 1]\n")
	found := regexp.MustCompile(`(?s)labels cost epsilon ([\d.]+)\n.*both together: epsilon ([\d.]+) of 3`).FindStringSubmatch(out.String())
	require.Len(t, found, 3, out.String())
	first := testkit.Must(strconv.ParseFloat(found[1], 64))
	both := testkit.Must(strconv.ParseFloat(found[2], 64))
	require.Less(t, first, both)
	require.LessOrEqual(t, both, 3.0)
	require.Greater(t, both, 2.9, "what is left is used")
}
