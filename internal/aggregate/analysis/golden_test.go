package analysis

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func gnmax(sigma float64) Mechanism { return Mechanism{Noise: sigma} }
func lnmax(scale float64) Mechanism { return Mechanism{Laplace: true, Noise: scale} }
func confident(threshold, sigma1, sigma2 float64) Mechanism {
	return Mechanism{Tested: true, Threshold: threshold, Sigma1: sigma1, Noise: sigma2}
}

// number is a float that may be written as "-Inf", "+Inf" or null.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"-Inf"`:
		*n = number(math.Inf(-1))
	case `"+Inf"`:
		*n = number(math.Inf(1))
	case "null":
		*n = number(math.NaN())
	default:
		return json.Unmarshal(text, (*float64)(n))
	}
	return nil
}

// golden reads a sample of a reference file.
func golden[T any](t *testing.T, name string) T {
	var out T
	testkit.ReadJSON(t, filepath.Join("testdata", filepath.FromSlash(name)), &out)
	return out
}

func relative(t *testing.T, want, got, tolerance float64, msg string, args ...any) {
	t.Helper()
	if want == got || math.Abs(want-got) <= tolerance*math.Abs(want) {
		return
	}
	require.Failf(t, "not equal", "want %v, got %v (relative %.2g): "+msg, append([]any{want, got, math.Abs(want-got) / math.Abs(want)}, args...)...)
}
