package mathx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogOfSubnormals(t *testing.T) {
	for x, want := range map[float64]float64{
		5e-324: -744.4400719213812, 1e-310: -713.8013788281542, 0x1p-1022: -708.3964185322641, 1e-300: -690.7755278982137, 1: 0,
	} {
		require.InEpsilon(t, want+1e3, Log(x)+1e3, 1e-15, "%v", x)
	}
	require.Equal(t, math.Inf(-1), Log(0))
}
