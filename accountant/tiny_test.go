package accountant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A cost that is too small for a float64 is never nothing: repeated often enough it would be free.
func TestNoCostIsTooSmallToCount(t *testing.T) {
	for _, e := range []Event{
		Gaussian{NoiseMultiplier: 1e200}, Laplace{NoiseMultiplier: 1e200}, DiscreteGaussian{Sigma: 1e200, Sensitivity: 1},
		DiscreteLaplace{Scale: 1e200, Sensitivity: 2}, PureDP{Epsilon: 1e-200}, RandomizedResponse{Epsilon: 1e-200},
		ExponentialMechanism{Epsilon: 1e-200}, GNMax{Sigma: 1e200}, LNMax{Scale: 1e200},
		PoissonSampled{Probability: 0.5, Event: PureDP{Epsilon: 1e-200}}, PoissonSampled{Probability: 0.5, Event: Gaussian{NoiseMultiplier: 1e200}},
	} {
		account := newRDP(t, RDPConfig{Relation: AddRemove}, e)
		divergence, _, err := account.RDP([]float64{1.5, 2, 100})
		require.NoError(t, err)
		for _, d := range divergence {
			require.Positive(t, d, "%+v", e)
		}
	}
}
