package analysis

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// TestThePublishedCostOfAReleaseIsTooSmall: where the published procedure takes
// beta from, the printed cost is a fifth of what the accountant charges, which the
// accountant's tests compare with quadrature. For a small beta it is larger.
func TestThePublishedCostOfAReleaseIsTooSmall(t *testing.T) {
	const a, beta, sigma = 17, 0.48 / 17, 7.703
	cost := testkit.Must(releaseCost(accountant.GNSS{Beta: beta, Sigma: sigma}, a))
	t.Logf("printed %.4f, charged %.4f", printedGNSS(beta, sigma, a), cost)
	require.Greater(t, cost, 4*printedGNSS(beta, sigma, a))
	cost = testkit.Must(releaseCost(accountant.GNSS{Beta: beta / 2, Sigma: sigma}, a))
	require.Less(t, cost, printedGNSS(beta/2, sigma, a))
	cost = testkit.Must(releaseCost(accountant.GNSS{Beta: 0.05, Sigma: 1}, 11))
	require.True(t, math.IsInf(cost, 1))
	require.Error(t, testkit.Err(releaseCost(accountant.GNSS{}, 2)))
}
