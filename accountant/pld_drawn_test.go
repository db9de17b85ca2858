package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDrawnLawSumsToOne: the mirrored halves and what lies between them are a law.
func TestDrawnLawSumsToOne(t *testing.T) {
	for _, m := range []mixture{{0.01, 1}, {0.3, 0.4}, {0.9, 3}} {
		law := drawnMixture{m}.roughLaw(1/m.sigma + 42)
		sum := 0.0
		for _, w := range law.logw {
			sum += math.Exp(w)
		}
		require.InDelta(t, 1, sum, 1e-9, "%+v", m)
	}
}
