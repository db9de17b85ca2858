package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/testkit"
)

// TestRegimeOfTheDocs: docs/regime.svg is what the committed results give. UPDATE_GOLDEN=1 draws it again.
func TestRegimeOfTheDocs(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	files := testkit.Must(filepath.Glob(filepath.Join(docs, "results", "*.json")))
	var results []*experiments.Result
	for _, file := range files {
		text := testkit.Must(os.ReadFile(file))
		var r experiments.Result
		require.NoError(t, json.Unmarshal(text, &r))
		results = append(results, &r)
	}
	svg := Regime(results)
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
	}
	for _, r := range results {
		require.Positive(t, len(r.EpsilonTargets))
	}
	name := filepath.Join(docs, "regime.svg")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(name, svg, 0o644))
	}
	drawn := testkit.Must(os.ReadFile(name))
	require.Equal(t, string(drawn), string(svg), "UPDATE_GOLDEN=1 go test ./experiments/report -run Regime")
	require.NotEqual(t, string(drawn), string(Regime(results[1:])))
}
