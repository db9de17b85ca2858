package account

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPairMisses checks the corners of the region of one pair: its two lines meet where both
// error rates are (1-delta)/(1+e^epsilon), and it is symmetric about the diagonal.
func TestPairMisses(t *testing.T) {
	const epsilon, delta = 2.0, 1e-3
	corner := (1 - delta) / (1 + math.Exp(epsilon))
	assert.InDelta(t, corner, pairMisses(epsilon, delta, corner), 1e-15)
	assert.InDelta(t, 1-delta, pairMisses(epsilon, delta, 0), 1e-15)
	assert.Zero(t, pairMisses(epsilon, delta, 1-delta))
	for _, fpr := range []float64{0.01, 0.05, 0.3, 0.9} {
		assert.InDelta(t, fpr, pairMisses(epsilon, delta, pairMisses(epsilon, delta, fpr)), 1e-12)
	}
}
