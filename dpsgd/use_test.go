package dpsgd

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
)

// TestTrainFitsItsLedger checks the relation. The event of DP-SGD is for a record added or removed.
// Replacing one costs more, so a ledger of that relation does not take the charge.
func TestTrainFitsItsLedger(t *testing.T) {
	secret, err := rng.NewKey()
	require.NoError(t, err)
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
			require.Zero(t, m.parameter[0])
		})
	}
}

// TestReleasesRefuseReplacedRecords checks sums and Laplace noise, which are for records added or removed
// as well. A ledger of the other relation can hold their events, at half of what a replaced record costs.
// So it is the release that refuses, before it reads a record.
func TestReleasesRefuseReplacedRecords(t *testing.T) {
	key, err := rng.NewKey()
	require.NoError(t, err)
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
				r, err := l.Reserve(c.event)
				require.NoError(t, err)
				return c.run(m, r)
			}
			m := newToy()
			require.ErrorIs(t, on(accountant.ReplaceOne, m, accountant.ByRDP), ledger.ErrUnfit)
			require.ErrorIs(t, on(accountant.AddRemove, m, accountant.ByAuto), ledger.ErrUnfit, "integer noise has a privacy loss distribution of its own")
			require.Zero(t, m.parameter[0])
			require.NoError(t, on(accountant.AddRemove, m, accountant.ByRDP))
		})
	}
}
