package main

import (
	"context"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// With the noise of a seed the model learns, within its budget, and a second run finds what
// is there and costs nothing.
func TestTrain(t *testing.T) {
	dir, seed := t.TempDir(), uint64(1)
	var out strings.Builder
	require.NoError(t, train(context.Background(), &out, dir, &seed))
	found := regexp.MustCompile(`^right (\d+) %; noise ([\d.]+); epsilon ([\d.]+); may be released: false\n$`).FindStringSubmatch(out.String())
	require.Len(t, found, 4, out.String())
	require.Greater(t, testkit.Must(strconv.Atoi(found[1])), 85)
	require.LessOrEqual(t, testkit.Must(strconv.ParseFloat(found[3], 64)), 2.0)
	require.FileExists(t, filepath.Join(dir, "strokes.model"))

	first := out.String()
	out.Reset()
	require.NoError(t, train(context.Background(), &out, dir, &seed))
	require.Equal(t, first, out.String())
}
