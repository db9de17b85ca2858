package theorems

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
)

// Advanced composition is Theorem 3.20 of Dwork and Roth, to the letter.
func TestDworkRothIsItsFormula(t *testing.T) {
	for _, c := range []struct {
		epsilon, delta float64
		count          int64
	}{{0.1, 1e-5, 10}, {0.01, 1e-9, 5000}, {0.5, 1e-3, 3}} {
		account, err := NewAdvanced(accountant.AddRemove, DworkRoth)
		require.NoError(t, err)
		require.NoError(t, account.Compose(accountant.PureDP{Epsilon: c.epsilon}, c.count))
		b, err := account.Epsilon(context.Background(), c.delta)
		require.NoError(t, err)
		n := float64(c.count)
		want := math.Sqrt(2*n*math.Log(1/c.delta))*c.epsilon + n*c.epsilon*math.Expm1(c.epsilon)
		require.GreaterOrEqual(t, b.Upper, want*(1-1e-15))
		require.InEpsilon(t, want, b.Upper, 1e-12)
	}
}
