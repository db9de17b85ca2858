package statement

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClaimsAreRoundedUp(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 2: "2", 1.2: "1.2", 1.99999999: "2", math.Nextafter(2, 3): "2.0001", 0.70641: "0.7065", 100: "100",
		0.01234561: "0.01235", 3.00001e-9: "0.000000003001", math.Inf(1): "none known",
	} {
		require.Equal(t, want, up(x), "%v", x)
	}
	require.Equal(t, "88.08 %", percent(0.88079708))
	require.Equal(t, "50 %", percent(0.5))
	require.Equal(t, "50.01 %", percent(0.500000001))
	require.Equal(t, "100 %", percent(1))
}
