package dpsgd

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

// The event of DP-SGD is for a record added or removed. Replacing one costs more: a
// ledger of that relation does not take the charge.
func TestTrainFitsItsLedger(t *testing.T) {
	secret, err := NewKey()
	require.NoError(t, err)
	cfg := Config{SamplingProbability: 1, NoiseMultiplier: 50, ClipNorm: 1, Steps: 1, LearningRate: 1}
	for name, c := range map[string]struct {
		relation accountant.Relation
		noise    ledger.Noise
		key      Key
		fits     bool
	}{
		"add_remove":  {accountant.AddRemove, ledger.SecretNoise, secret, true},
		"replace_one": {accountant.ReplaceOne, ledger.SecretNoise, secret, false},
		"seed":        {accountant.AddRemove, ledger.SecretNoise, SeedKey(1), false},
		"experiment":  {accountant.AddRemove, ledger.SeededNoise, SeedKey(1), true},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ledger.Open("", ledger.Config{Unit: "record", Relation: c.relation, Epsilon: 1e9, Delta: 1e-5, Noise: c.noise})
			require.NoError(t, err)
			r, err := l.Reserve(cfg.Event())
			if c.relation == accountant.ReplaceOne {
				require.ErrorIs(t, err, accountant.ErrUnsupportedEvent)
				return // nothing to train on
			}
			require.NoError(t, err)
			m := toy{make([]float32, 1)}
			_, err = Train(context.Background(), m, column(0.25, 0.25), cfg, r, c.key)
			if c.fits {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ledger.ErrUnfit)
			require.Zero(t, m.parameter[0])
		})
	}
}
