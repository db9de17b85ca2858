package accountant

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func epsilonOf(t testing.TB, cfg Config, delta float64, events ...Event) Bound {
	t.Helper()
	if cfg.Relation == 0 {
		cfg.Relation = AddRemove
	}
	r, err := NewRDP(cfg)
	require.NoError(t, err)
	for _, e := range events {
		require.NoError(t, r.Compose(e, 1))
	}
	b, err := r.Epsilon(delta)
	require.NoError(t, err)
	return b
}

func dpsgd(q, sigma float64, steps int64) Event {
	return Repeated{PoissonSampled{q, Gaussian{sigma}}, steps}
}

func TestPublishedNumbers(t *testing.T) {
	b := epsilonOf(t, Config{}, 1e-5, dpsgd(0.01, 4, 10000))
	assert.InDelta(t, 1.0355, b.Upper, 1e-3)
	t.Logf("%+v", b)
	var integers []float64
	for a := 2.0; a <= 256; a++ {
		integers = append(integers, a)
	}
	b = epsilonOf(t, Config{Orders: integers, Conversion: Classic}, 1e-5, dpsgd(256./60000, 1.1, 14062))
	assert.InDelta(t, 3.009, b.Upper, 1e-3)
	t.Logf("%+v", b)
}

func BenchmarkEpsilon(b *testing.B) {
	for _, orders := range []int{156, 0} {
		b.Run(map[int]string{156: "orders=156", 0: "default-refined"}[orders], func(b *testing.B) {
			cfg := Config{Relation: AddRemove}
			if orders > 0 {
				cfg.Orders = DefaultOrders()[:orders]
			}
			r, err := NewRDP(cfg)
			require.NoError(b, err)
			require.NoError(b, r.Compose(dpsgd(0.01, 1, 1000), 1))
			for b.Loop() {
				if _, err := r.Epsilon(1e-5); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
