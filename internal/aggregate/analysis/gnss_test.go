package analysis

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
)

// TestThePublishedCostOfAReleaseIsTooSmall: where the published procedure takes
// beta from, the printed cost is a fifth of what the accountant charges, which the
// accountant's tests compare with quadrature. For a small beta it is larger.
func TestThePublishedCostOfAReleaseIsTooSmall(t *testing.T) {
	const a, beta, sigma = 17, 0.48 / 17, 7.703
	cost, err := releaseCost(accountant.GNSS{Beta: beta, Sigma: sigma}, a)
	require.NoError(t, err)
	t.Logf("printed %.4f, charged %.4f", printedGNSS(beta, sigma, a), cost)
	require.Greater(t, cost, 4*printedGNSS(beta, sigma, a))
	cost, err = releaseCost(accountant.GNSS{Beta: beta / 2, Sigma: sigma}, a)
	require.NoError(t, err)
	require.Less(t, cost, printedGNSS(beta/2, sigma, a))
	cost, err = releaseCost(accountant.GNSS{Beta: 0.05, Sigma: 1}, 11)
	require.NoError(t, err)
	require.True(t, math.IsInf(cost, 1))
	_, err = releaseCost(accountant.GNSS{}, 2)
	require.Error(t, err)
}
