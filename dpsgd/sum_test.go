package dpsgd

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

func reserveEvent(t testing.TB, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.AddRemove, e)
}

func TestSumIsTheClippedSum(t *testing.T) {
	m := toy{make([]float32, 1)}
	data := column(0.25, -9, 0.5, float32(math.Inf(1)))
	cfg := SumConfig{ClipNorm: 1, NoiseMultiplier: 0x1p-10}
	result, err := Sum(context.Background(), m, data, cfg, reserveEvent(t, cfg.Event()), rng.SeedKey(1))
	require.NoError(t, err)
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
	m, err := NewSoftmax(cols, 2)
	require.NoError(t, err)
	data := clouds(1, cols)
	data.Y[0] = 0
	dense.Row(data.X, 0)[0] = float32(math.NaN())
	cfg := SumConfig{ClipNorm: 0.3, NoiseMultiplier: 1.7}
	draw := func(key rng.Key) []float64 {
		result, err := Sum(context.Background(), m, data, cfg, reserveEvent(t, cfg.Event()), key)
		require.NoError(t, err)
		return result.Sum
	}
	sum, square := draw(rng.SeedKey(1)), 0.0
	for _, v := range sum {
		square += v * v
	}
	n := float64(len(sum))
	require.InEpsilon(t, 1.7*0.3*1.0005, math.Sqrt(square/n), 4.9/math.Sqrt(2*n))

	require.Equal(t, sum, draw(rng.SeedKey(1)))
	require.NotEqual(t, sum, draw(rng.SeedKey(2)))
	data.X.Data[1]++
	require.NotEqual(t, sum, draw(rng.SeedKey(1)), "other data meets other noise")
}

func TestSumWorkersDoNotMatter(t *testing.T) {
	m, err := NewSoftmax(37, 3)
	require.NoError(t, err)
	data := clouds(3000, 37)
	var want []float64
	for _, workers := range []int{1, 2, 7, 0} {
		cfg := SumConfig{ClipNorm: 0.3, NoiseMultiplier: 1, Workers: workers}
		result, err := Sum(context.Background(), m, data, cfg, reserveEvent(t, cfg.Event()), rng.SeedKey(1))
		require.NoError(t, err)
		if want == nil {
			want = result.Sum
		}
		require.Equal(t, want, result.Sum, "%d workers", workers)
	}
}

func TestSumChargesFirst(t *testing.T) {
	m := toy{make([]float32, 1)}
	cfg := SumConfig{ClipNorm: 1, NoiseMultiplier: 1}
	sum := func(cfg SumConfig, r *ledger.Reservation, key rng.Key) error {
		_, err := Sum(context.Background(), m, column(1), cfg, r, key)
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
