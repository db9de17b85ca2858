package accountant

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// At most 3 in 100 found at 1 % false alarms: two normal laws that are Phi^-1(0.03) - Phi^-1(0.01)
// deviations apart, the most that Gaussian noise may leave.
func TestCalibrateRiskOfGaussians(t *testing.T) {
	t.Parallel()
	target := RiskTarget{Found: 0.03, FalseAlarms: 0.01}
	mu := math.Sqrt2 * (math.Erfinv(2*0.03-1) - math.Erfinv(2*0.01-1))
	cfg := AutoConfig{Relation: AddRemove}
	for name, c := range map[string]struct {
		event func(noise float64) Event
		least float64
	}{
		"one":   {func(x float64) Event { return Gaussian{x} }, 1 / mu},
		"votes": {func(x float64) Event { return gnmaxVotes(x, 100) }, math.Sqrt(200) / mu},
	} {
		noise, found, err := CalibrateRisk(t.Context(), cfg, target, func(x float64) (Event, error) { return c.event(x), nil })
		require.NoError(t, err, name)
		assert.LessOrEqual(t, found.Upper, target.Found, name)
		assert.GreaterOrEqual(t, noise, c.least*(1-1e-9), name)
		assert.InEpsilon(t, c.least, noise, 3e-3, name)
		again, err := riskOf(t, c.event(noise)).TPR(target.FalseAlarms)
		require.NoError(t, err)
		assert.Equal(t, found, again, "recomputed from the noise that is returned")
	}
	// Where Rényi divergences alone hold, the bound is theirs and holds too.
	noise, found, err := CalibrateRisk(t.Context(), AutoConfig{Relation: AddRemove, Method: ByRDP}, target, func(x float64) (Event, error) { return Gaussian{x}, nil })
	require.NoError(t, err)
	assert.LessOrEqual(t, found.Upper, target.Found)
	assert.Greater(t, noise, 1/mu)
	// The Rényi curve ends at epsilon 16, so the noise that one pair allows is too little here.
	target = RiskTarget{Found: 0.5, FalseAlarms: 1e-12}
	_, found, err = CalibrateRisk(t.Context(), AutoConfig{Relation: AddRemove, Method: ByRDP}, target, func(x float64) (Event, error) { return Gaussian{x}, nil })
	require.NoError(t, err)
	assert.LessOrEqual(t, found.Upper, target.Found)
}

func TestCalibrateRiskRefuses(t *testing.T) {
	t.Parallel()
	event := func(x float64) (Event, error) { return Gaussian{x}, nil }
	for _, target := range []RiskTarget{{0.01, 0.01}, {0.03, 0}, {1, 0.01}, {0.005, 0.01}, {math.NaN(), 0.01}, {0.03, math.NaN()}} {
		_, _, err := CalibrateRisk(t.Context(), AutoConfig{Relation: AddRemove}, target, event)
		require.ErrorContains(t, err, "RiskTarget", "%v", target)
	}
	_, _, err := CalibrateRisk(t.Context(), AutoConfig{Relation: AddRemove}, RiskTarget{0.03, 0.01}, func(float64) (Event, error) { return ZCDP{10}, nil })
	require.ErrorIs(t, err, ErrNoBracket)
}
