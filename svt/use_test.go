package svt

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// TestRunsFitTheirLedger checks that a seed is refused where the ledger says that noise is
// secret. The relation is that of the distances, and the caller provides those. Each of
// several charges under one key meets other noise.
func TestRunsFitTheirLedger(t *testing.T) {
	m := testkit.Must(NewStableSVT(StableSVTConfig{B1: 4, B2: 4, Threshold: 40, Failures: 1}))
	for _, relation := range []accountant.Relation{accountant.AddRemove, accountant.ReplaceOne} {
		l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: relation, Epsilon: 1e9, Delta: 0.5, Noise: ledger.SecretNoise}))
		r := testkit.Must(l.ReserveBatch([]accountant.Event{m.Event(), m.Event(), m.Event()}))
		require.ErrorIs(t, testkit.Err(Start[int](m, r[0], rng.SeedKey(1))), ledger.ErrUnfit)
		key := testkit.Must(rng.NewKey())
		seen := map[uint64]bool{}
		for i := range r {
			word := testkit.Must(Start[int](m, r[i], key)).run.key.Stream().Uint64()
			require.False(t, seen[word], "two charges under one noise")
			seen[word] = true
		}
	}
}
