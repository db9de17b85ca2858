package analysis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func TestASeedIsRefusedWhereNoiseIsSecret(t *testing.T) {
	s := smallSanitizer(t)
	l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 100, Delta: 1e-5, Noise: ledger.SecretNoise}))
	r := testkit.Must(l.Reserve(s.Event()))
	released, err := s.Release(context.Background(), r, rng.SeedKey(1), histograms(smallVotes))
	require.ErrorIs(t, err, ledger.ErrUnfit)
	require.Zero(t, released)
}
