package accountant

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Closed forms of propose-test-release and of the sparse vector's pure epsilon.
func TestStabilityGolden(t *testing.T) {
	var file struct {
		Classical []struct {
			Eps1, Eps2, Eps3 float64
			C                int64
			Total            float64 `json:"total_eps"`
		} `json:"classical_pure_dp"`
		PTR []struct {
			Kind     string
			EpsTest  float64 `json:"eps_test"`
			Sigma    float64 `json:"sigma_test"`
			Failure  float64 `json:"delta_fail"`
			Exact    float64 `json:"threshold_exact_tail"`
			Textbook float64 `json:"threshold_textbook"`
			Release  float64 `json:"release_eps"`
			Total    float64 `json:"total_eps"`
			Delta    float64 `json:"total_delta"`
			PerOrder float64 `json:"test_rdp_per_order"`
		}
	}
	readGolden(t, "svt_ptr.json", &file)
	require.Len(t, file.Classical, 12)
	for _, r := range file.Classical {
		account, err := NewBasic(AddRemove)
		got := upperOf(t, account, err, 0, AboveThreshold{r.Eps1, r.Eps2, r.C}, PureDP{r.Eps3})
		assert.InEpsilon(t, r.Total, got, 1e-12)
	}
	require.Len(t, file.PTR, 12)
	for _, r := range file.PTR {
		if r.Kind == "gaussian_test" {
			account := newRDP(t, RDPConfig{}, WithFailure{Gaussian{r.Sigma}, r.Failure})
			got, failure, err := account.RDP([]float64{2, 7})
			require.NoError(t, err)
			assert.InEpsilonSlice(t, []float64{2 * r.PerOrder, 7 * r.PerOrder}, got, 1e-9)
			assert.InEpsilon(t, r.Failure, failure, 1e-12)
			continue
		}
		exact := MStab{r.EpsTest, r.Exact}
		assert.InEpsilon(t, r.Failure, exact.failure(), 1e-9)
		assert.InEpsilon(t, r.Failure/2, MStab{r.EpsTest, r.Textbook}.failure(), 1e-9, "the textbook threshold spends half of its delta")
		account, err := NewBasic(AddRemove)
		assert.InEpsilon(t, r.Total, upperOf(t, account, err, r.Delta*(1+1e-9), exact, PureDP{r.Release}), 1e-12)
	}
}
