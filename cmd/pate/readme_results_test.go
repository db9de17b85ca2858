package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/experiments/report"
	"github.com/pate-go/pate/internal/table"

	"github.com/pate-go/pate/internal/testkit"
)

// TestReadmeShowsMeasuredNumbers compares the table of README with what `pate compare` prints of the committed results,
// but for the seconds, and the line on Fashion-MNIST of docs/comparing.md likewise.
func TestReadmeShowsMeasuredNumbers(t *testing.T) {
	root := filepath.Join("..", "..")
	page := testkit.Must(os.ReadFile(filepath.Join(root, "README.md")))
	printed := func(name string) [][]string {
		var b bytes.Buffer
		require.NoError(t, report.Table(readResult(t, filepath.Join(root, "docs", "results", "readme", name))).Write(&b, table.Text))
		return fieldsOfLines(b.String())
	}
	_, shown, found := strings.Cut(string(page), "\nmethod ")
	require.True(t, found)
	shown, _, _ = strings.Cut("method "+shown, "\n```")
	require.True(t, sameButSeconds(printed("mnist.json"), fieldsOfLines(shown)))
	require.False(t, sameButSeconds(printed("mnist.json"), fieldsOfLines(strings.Replace(shown, "97.8", "97.9", 1))), "the check can fail")

	page = testkit.Must(os.ReadFile(filepath.Join(root, "docs", "comparing.md")))
	_, line, found := strings.Cut(string(page), "\nFashion-MNIST, one seed")
	require.True(t, found)
	line, _, _ = strings.Cut(line, "\n")
	percents := map[string]string{}
	for _, row := range printed("fashion.json") {
		percents[row[0]] = row[min(2, len(row)-1)]
	}
	for method, words := range map[string]string{"pknn/reverse": "nearest questions %s %%", "pate/gnmax": "%s %% (GNMax)", "pate/confident-gnmax": "%s %% (Confident)"} {
		require.Contains(t, line, strings.NewReplacer("%s", strings.TrimSuffix(percents[method], "0"), "%%", "%").Replace(words))
	}
}

func fieldsOfLines(text string) (lines [][]string) {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// sameButSeconds reports whether each printed line begins the line that is shown, which may
// have one more field.
func sameButSeconds(printed, shown [][]string) bool {
	return slices.EqualFunc(printed, shown, func(p, s []string) bool {
		return len(s) >= len(p) && len(s) <= len(p)+1 && slices.Equal(p, s[:len(p)])
	})
}
