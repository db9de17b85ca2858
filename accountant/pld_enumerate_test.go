package accountant

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Small mixtures of responses, whose epsilon lies at the edge of the losses for a small delta, where no
// grid is fine enough.
func TestSmallMixturesAreExact(t *testing.T) {
	for _, events := range [][]Event{
		{Repeated{DiscreteLaplace{1.7, 3}, 2}, PoissonSampled{.000184, PureDP{2.3658}}},
		{Repeated{PureDP{1}, 2}, PoissonSampled{.001, PureDP{1}}},
		{Repeated{RandomizedResponse{.3}, 20}, PureDP{2}, DiscreteLaplace{5, 2}},
	} {
		for _, delta := range []float64{1e-3, 1e-9, 1e-30, 1e-200} {
			b := pldEpsilon(t, PLDConfig{}, delta, events...)
			assert.True(t, b.GapReached)
			assert.LessOrEqual(t, b.Upper-b.Lower, 1e-9*(1+b.Upper), "%+v at %v", events, delta)
			p := newPLD(t, PLDConfig{}, events...)
			d := deltaAt(t, p, b.Upper)
			assert.LessOrEqual(t, d.Lower, delta*(1+1e-9))
		}
	}
}
