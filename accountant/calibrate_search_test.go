package accountant

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

// Costs of every shape have their least noise found, in few trials where they are smooth.
func TestLeastNoiseOfAnyCost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		cost func(noise float64) float64
		most int // trials
	}{
		{"power", func(x float64) float64 { return 7 / x }, 6},
		{"steep", func(x float64) float64 { return 1e9 / (x * x * x) }, 12},
		{"two powers", func(x float64) float64 { return 3/x + 40/(x*x) }, 9},
		{"on top of what is there", func(x float64) float64 { return 0.9 + 1/x }, 14},
		{"free beyond some noise", func(x float64) float64 { return math.Max(0, 5-math.Log(x)) }, 14},
		{"infinite below some noise", func(x float64) float64 { return 1 / math.Max(0, x-3) }, 16},
		{"jump", func(x float64) float64 { return 2/x + math.Copysign(1e-4, 2-x) }, 60},
		{"steps", func(x float64) float64 { return 20.5 / math.Ceil(x) }, 60},
	} {
		for _, from := range []start{{parameter: 1}, {10, -1}, {minNoise, 0}, {maxNoise, 0}, {2.0001, -0.5}} {
			tries := 0
			found, b, err := leastNoise(Target{Epsilon: 1}, from, 1e-8, func(x float64) (Bound, error) {
				tries++
				return Bound{Upper: c.cost(x)}, nil
			})
			require.NoError(t, err, c.name)
			require.LessOrEqual(t, b.Upper, 1.0, c.name)
			require.Equal(t, c.cost(found.parameter), b.Upper, "%s: what is achieved is that of the noise returned", c.name)
			require.Greater(t, c.cost(found.parameter*(1-1.1*jumpTolerance)), 1.0, "%s: no noise is left over", c.name)
			if from.parameter != minNoise && from.parameter != maxNoise {
				require.LessOrEqual(t, tries, c.most, "%s from %v", c.name, from)
			}
		}
	}
	for cost, last := range map[float64]float64{2: maxNoise, 0.5: minNoise, 0: minNoise, math.Inf(1): maxNoise} {
		_, _, err := leastNoise(Target{Epsilon: 1}, start{parameter: 1}, 1e-8, func(float64) (Bound, error) { return Bound{Upper: cost}, nil })
		var none *NoBracketError
		require.ErrorAs(t, err, &none)
		require.Equal(t, last, none.Last)
	}
}

// A count is the largest that meets the target, and the next does not, wherever the search begins.
func TestMostCountOfAnyCost(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{1, 2, 3, 10, 999, 123456, 1 << 40, maxCount - 1} {
		for name, cost := range map[string]func(x float64) float64{
			"line":   func(x float64) float64 { return x },
			"root":   math.Sqrt,
			"square": func(x float64) float64 { return x * x },
			"more":   func(x float64) float64 { return math.Sqrt(x) + x/1e4 },
			"rough":  func(x float64) float64 { return x + math.Mod(x, 7)/8 },
		} {
			for _, from := range []int64{1, most, most/2 + 1, min(maxCount, 3*most)} {
				tries := 0
				target := Target{Epsilon: cost(float64(most))}
				found, b, err := mostCount(target, start{parameter: float64(from)}, func(n int64) (Bound, error) {
					tries++
					return Bound{Upper: cost(float64(n))}, nil
				})
				require.NoError(t, err, "%s %d from %d", name, most, from)
				require.Equal(t, float64(most), found.parameter, "%s %d from %d", name, most, from)
				require.Equal(t, target.Epsilon, b.Upper)
				require.LessOrEqual(t, tries, 70, "%s %d from %d", name, most, from)
			}
		}
	}
	for cost, last := range map[float64]float64{2: 1, 0.5: float64(maxCount), 0: float64(maxCount)} {
		_, _, err := mostCount(Target{Epsilon: 1}, start{parameter: 1}, func(int64) (Bound, error) { return Bound{Upper: cost}, nil })
		var none *NoBracketError
		require.ErrorAs(t, err, &none)
		require.Equal(t, last, none.Last)
	}
}

// What a calibration returns is what the account it was asked for says of that noise, whatever was tried on
// the way; and that account is asked few times.
func TestCalibrationsAreCertified(t *testing.T) {
	t.Parallel()
	event := func(noise float64) (Event, error) {
		return Composed{[]Event{sgd(0.01, noise, 300), sgd(0.003, 2*noise, 50)}}, nil
	}
	for i, account := range []NewAccount{PLDConfig{Relation: AddRemove}.NewAccount,
		AutoConfig{Relation: AddRemove}.NewAccount, PLDConfig{Relation: AddRemove, Gap: 0.05}.NewAccount} {
		for j, epsilon := range []float64{0.3, 4} {
			if skipped(i+j, 2) {
				continue
			}
			t.Run(fmt.Sprint(epsilon), func(t *testing.T) {
				asked := 0
				target := Target{epsilon, 1e-6}
				noise, b, err := CalibrateNoise(context.Background(), func() (Accountant, error) {
					asked++
					return account()
				}, target, event)
				require.NoError(t, err)
				e := testkit.Must(event(noise))
				says := testkit.Must(epsilonOfEvent(context.Background(), account, e, target.Delta))
				require.Equal(t, says, b)
				require.LessOrEqual(t, says.Upper, epsilon)
				require.Greater(t, says.Upper, epsilon*(1-1e-3))
				require.Less(t, asked, 30)
			})
		}
	}
}
