package analysis

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// eachGolden runs f on the sample in testdata, and on the whole reference file
// where a folder with all of them lies beside the module.
func eachGolden(t *testing.T, name string, f func(t *testing.T, data []byte)) {
	t.Run("sample", func(t *testing.T) {
		data, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
		require.NoError(t, err)
		f(t, data)
	})
	t.Run("whole", func(t *testing.T) {
		if !*long {
			t.Skip("without -long")
		}
		data, err := os.ReadFile(reference(name))
		if err != nil {
			t.Skipf("the whole reference file is not here: %v", err)
		}
		f(t, data)
	})
}

// reference is where the whole reference file lies, if it does.
func reference(name string) string {
	return filepath.Join("..", "..", "..", "..", "shared", "golden", filepath.FromSlash(name))
}

func decode[T any](t *testing.T, data []byte) T {
	var out T
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

func relative(t *testing.T, want, got, tolerance float64, msg string, args ...any) {
	t.Helper()
	if want == got || math.Abs(want-got) <= tolerance*math.Abs(want) {
		return
	}
	require.Failf(t, "not equal", "want %v, got %v (relative %.2g): "+msg, append([]any{want, got, math.Abs(want-got) / math.Abs(want)}, args...)...)
}
