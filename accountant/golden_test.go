package accountant

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readGolden decodes one file of testdata; see testdata/README.md.
func readGolden(t testing.TB, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}

func relErr(got, want float64) float64 {
	if got == want {
		return 0
	}
	return math.Abs(got-want) / math.Abs(want)
}

type sampledRecord struct {
	Q, Sigma, Order float64
	Ref             float64 `json:"rdp_ref"`
	Reverse         float64 `json:"rdp_reverse"`
}

func TestSampledGaussianGolden(t *testing.T) {
	var file struct{ Records, Reverse []sampledRecord }
	readGolden(t, "rdp_gaussian_subsampled.json", &file)
	require.NotEmpty(t, file.Records)
	require.NotEmpty(t, file.Reverse)
	worst, worstInt := 0.0, 0.0
	for _, r := range file.Records {
		got := sampledGaussianCurve(r.Q, r.Sigma)(r.Order)
		if r.Q == 1 {
			got = linearCurve(0.5 / (r.Sigma * r.Sigma))(r.Order)
		}
		e := relErr(got, r.Ref)
		tol := 1e-12
		assert.LessOrEqual(t, e, tol, "%+v: got %v", r, got)
		if r.Order == math.Trunc(r.Order) {
			worstInt = math.Max(worstInt, e)
		}
		worst = math.Max(worst, e)
	}
	t.Logf("worst relative error %.2g, integer orders %.2g, %d records", worst, worstInt, len(file.Records))
	for _, r := range file.Reverse {
		assert.LessOrEqual(t, r.Reverse, sampledGaussianCurve(r.Q, r.Sigma)(r.Order)*(1+slack), "%+v", r)
	}
}
