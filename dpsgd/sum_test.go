package dpsgd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/rng"
)

// released returns a sum under a seed.
func released(t *testing.T, m Model, d Data, cfg SumConfig, seed uint64) SumResult {
	result, err := Sum(t.Context(), m, d, cfg, reserveEvent(t, cfg.Event()), rng.SeedKey(seed))
	require.NoError(t, err)
	return result
}

func TestSumIsTheClippedSum(t *testing.T) {
	m := newToy()
	data := column(0.25, -9, 0.5, float32(math.Inf(1)))
	cfg := SumConfig{ClipNorm: 1, NoiseMultiplier: 0x1p-10}
	result := released(t, m, data, cfg, 1)
	require.InDelta(t, -0.25, result.Sum[0], 6*0x1p-10)
	require.NotEqual(t, -0.25, result.Sum[0], "there is noise")
	require.Equal(t, accountant.Gaussian{NoiseMultiplier: 0x1p-10}, result.Event)
	require.False(t, result.Releasable)
	require.Equal(t, Diagnostics{Sampled: 4, Clipped: 1, NonFinite: 1}, result.Diagnostics)
	require.Zero(t, m.parameter[0], "nothing is trained")
}

// TestSumNoise checks that the noise of a sum has the claimed size. The relative standard
// error of the estimate is 1/sqrt(2 P), the false-alarm rate 1e-6.
func TestSumNoise(t *testing.T) {
	const cols = 10000
	m := newSoftmax(cols, 2)
	data := clouds(1, cols)
	data.Y[0] = 0
	dense.Row(data.X, 0)[0] = float32(math.NaN())
	cfg := SumConfig{ClipNorm: 0.3, NoiseMultiplier: 1.7}
	sum := released(t, m, data, cfg, 1).Sum
	n := float64(len(sum))
	require.InEpsilon(t, 1.7*0.3*1.0005, normOf(sum)/math.Sqrt(n), 4.9/math.Sqrt(2*n))
	require.Equal(t, sum, released(t, m, data, cfg, 1).Sum)
	require.NotEqual(t, sum, released(t, m, data, cfg, 2).Sum)
	data.X.Data[1]++
	require.NotEqual(t, sum, released(t, m, data, cfg, 1).Sum, "other data meets other noise")
}

func TestSumChargesFirst(t *testing.T) {
	m := newToy()
	cfg := SumConfig{ClipNorm: 1, NoiseMultiplier: 1}
	sum := func(cfg SumConfig, r *ledger.Reservation, key rng.Key) error {
		_, err := Sum(t.Context(), m, column(1), cfg, r, key)
		return err
	}
	require.ErrorIs(t, sum(cfg, nil, rng.SeedKey(1)), ledger.ErrNotReserved)
	require.ErrorIs(t, sum(cfg, reserveEvent(t, accountant.Gaussian{NoiseMultiplier: 2}), rng.SeedKey(1)), ledger.ErrNotReserved)
	r := reserveEvent(t, cfg.Event())
	require.ErrorContains(t, sum(cfg, r, rng.Key{}), "key")
	require.NoError(t, sum(cfg, r, rng.SeedKey(1)), "a refused run uses no reservation")
	require.ErrorIs(t, sum(cfg, r, rng.SeedKey(1)), ledger.ErrNotReserved)
	for field, bad := range map[string]SumConfig{
		"ClipNorm":        {ClipNorm: math.NaN(), NoiseMultiplier: 1},
		"NoiseMultiplier": {ClipNorm: 1},
		"Workers":         {ClipNorm: 1, NoiseMultiplier: 1, Workers: -1},
	} {
		require.ErrorContains(t, sum(bad, reserveEvent(t, cfg.Event()), rng.SeedKey(1)), "SumConfig."+field+" ")
	}
}
