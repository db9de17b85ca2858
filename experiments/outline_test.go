package experiments

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/testkit"
)

// Every method that is asked for has a step, every target and seed costs, and no more than the shape of the
// task is looked at.
func TestOutline(t *testing.T) {
	outline := func(change func(*Config)) Outline {
		cfg := config(t, "")
		cfg.Task.Encoder = &dataset.Encoder{}
		change(&cfg)
		o := testkit.Must(cfg.Outline(t.Context()))
		sum := 0.0
		for _, s := range o.Steps {
			require.Positive(t, s.Seconds, s.What)
			require.LessOrEqual(t, s.Bytes, o.Bytes, s.What)
			sum += s.Seconds
		}
		require.InDelta(t, sum, o.Seconds, 1e-12)
		return o
	}
	once := outline(func(*Config) {})
	require.Len(t, once.Steps, 7)
	require.Equal(t, 3, once.Steps[6].Times, "students of two mechanisms, and of true labels")
	sweep := outline(func(c *Config) { c.Epsilons = []float64{1, 2, 4} })
	require.Len(t, sweep.Steps, 13)
	require.Equal(t, 9, sweep.Steps[12].Times)
	require.Greater(t, sweep.Seconds, 1.5*once.Seconds)
	require.Less(t, sweep.Seconds, 3*once.Seconds, "teachers are trained once")
	ensemble := func(change func(*Config)) Outline { // what is calibrated for neighbours takes most of an outline's time
		return outline(func(c *Config) {
			c.Methods = []string{GNMax, TrueLabels}
			change(c)
		})
	}
	voted := ensemble(func(*Config) {})
	require.InEpsilon(t, 3*voted.Seconds, ensemble(func(c *Config) { c.Seeds = 3 }).Seconds, 1e-9)
	require.InEpsilon(t, voted.Seconds/4, ensemble(func(c *Config) { c.Workers = 8 }).Seconds, 1e-9)
	require.Len(t, outline(func(c *Config) { c.Methods = []string{DPSGD} }).Steps, 1)
	other := outline(func(c *Config) {
		for i := range c.Task.Private.X.Data {
			c.Task.Private.X.Data[i] = float32(i)
		}
	})
	require.Equal(t, once, other)
	require.ErrorIs(t, testkit.Err(Config{}.Outline(t.Context())), ErrConfig)
}
