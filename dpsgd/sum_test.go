package dpsgd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// released returns a sum under a seed.
func released(t *testing.T, m Model, d Data, cfg SumConfig, seed uint64) SumResult {
	result := testkit.Must(Sum(t.Context(), m, d, cfg, reserveEvent(t, cfg.Event()), rng.SeedKey(seed)))
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
	require.Zero(t, m.parameters[0], "nothing is trained")
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

// TestTrainFitsItsLedger checks the relation. The event of DP-SGD is for a record added or removed.
// Replacing one costs more, so a ledger of that relation does not take the charge.
func TestTrainFitsItsLedger(t *testing.T) {
	secret := testkit.Must(rng.NewKey())
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 50, ClipNorm: 1, Steps: 1, LearningRate: 1}
	for name, c := range map[string]struct {
		relation accountant.Relation
		noise    ledger.Noise
		key      rng.Key
		fits     bool
	}{
		"add_remove":  {accountant.AddRemove, ledger.SecretNoise, secret, true},
		"replace_one": {accountant.ReplaceOne, ledger.SecretNoise, secret, false},
		"seed":        {accountant.AddRemove, ledger.SecretNoise, rng.SeedKey(1), false},
		"experiment":  {accountant.AddRemove, ledger.SeededNoise, rng.SeedKey(1), true},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ledger.New(ledger.Config{Unit: "record", Relation: c.relation, Epsilon: 1e9, Delta: 1e-5, Noise: c.noise})
			require.NoError(t, err)
			r, err := l.Reserve(cfg.Event())
			if c.relation == accountant.ReplaceOne {
				require.ErrorIs(t, err, accountant.ErrUnsupportedEvent)
				return // nothing to train on
			}
			require.NoError(t, err)
			m := newToy()
			_, err = Train(t.Context(), m, column(0.25, 0.25), cfg, r, c.key)
			if c.fits {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ledger.ErrUnfit)
			require.Zero(t, m.parameters[0])
		})
	}
}

// TestReleasesRefuseReplacedRecords checks sums and Laplace noise, which are for records added or removed
// as well. A ledger of the other relation can hold their events, at half of what a replaced record costs.
// So it is the release that refuses, before it reads a record.
func TestReleasesRefuseReplacedRecords(t *testing.T) {
	key := testkit.Must(rng.NewKey())
	sum := SumConfig{ClipNorm: 1, NoiseMultiplier: 2}
	laplace := Config{SamplingProbability: 1, NoiseMultiplier: 2, ClipNorm: 1, Steps: 1, LearningRate: 1, Laplace: true}
	for name, c := range map[string]struct {
		event accountant.Event
		run   func(Model, *ledger.Reservation) error
	}{
		"sum": {sum.Event(), func(m Model, r *ledger.Reservation) error {
			_, err := Sum(t.Context(), m, column(0.25), sum, r, key)
			return err
		}},
		"laplace": {laplace.Event(), func(m Model, r *ledger.Reservation) error {
			_, err := Train(t.Context(), m, column(0.25), laplace, r, key)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			on := func(relation accountant.Relation, m Model, method accountant.Method) error {
				l, err := ledger.New(ledger.Config{Unit: "record", Relation: relation, Epsilon: 1e9, Delta: 1e-5, Noise: ledger.SecretNoise, Accountant: method})
				require.NoError(t, err)
				r := testkit.Must(l.Reserve(c.event))
				return c.run(m, r)
			}
			m := newToy()
			require.ErrorIs(t, on(accountant.ReplaceOne, m, accountant.ByRDP), ledger.ErrUnfit)
			require.ErrorIs(t, on(accountant.AddRemove, m, accountant.ByAuto), ledger.ErrUnfit, "integer noise has a privacy loss distribution of its own")
			require.Zero(t, m.parameters[0])
			require.NoError(t, on(accountant.AddRemove, m, accountant.ByRDP))
		})
	}
}
