package ledger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
)

// A charge is for one relation and one kind of noise: what is of another kind does not begin, seals nothing
// and leaves the reservation to what fits.
func TestBeginRefusesWhatTheLedgerDoesNotStandFor(t *testing.T) {
	event := accountant.GNMax{Sigma: 40}
	for name, c := range map[string]struct {
		relation accountant.Relation
		noise    ledger.Noise
		use      ledger.Use
		says     string
	}{
		"either, secret":           {accountant.AddRemove, ledger.SecretNoise, ledger.Use{Secret: true}, ""},
		"the same":                 {accountant.ReplaceOne, ledger.SecretNoise, ledger.Use{Relation: accountant.ReplaceOne, Secret: true}, ""},
		"add_remove only":          {accountant.ReplaceOne, ledger.SecretNoise, ledger.Use{Relation: accountant.AddRemove, Secret: true}, "add_remove only, and the ledger's is replace_one"},
		"replace_one only":         {accountant.AddRemove, "", ledger.Use{Relation: accountant.ReplaceOne}, "replace_one only"},
		"seed, secret ledger":      {accountant.AddRemove, ledger.SecretNoise, ledger.Use{}, "from a seed"},
		"seed, seeded ledger":      {accountant.AddRemove, ledger.SeededNoise, ledger.Use{}, ""},
		"secret, seeded ledger":    {accountant.AddRemove, ledger.SeededNoise, ledger.Use{Secret: true}, ""},
		"seed, ledger of no claim": {accountant.AddRemove, "", ledger.Use{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: c.relation, Epsilon: 2, Delta: 1e-5, Noise: c.noise}))
			r := testkit.Must(l.Reserve(event))
			require.Equal(t, c.relation, r.Relation())
			err := r.Begin(event, c.use)
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ledger.ErrUnfit)
			require.ErrorContains(t, err, c.says)
			testkit.Must(l.Reserve(event)) // not sealed
			require.NoError(t, r.Begin(event, ledger.Use{Relation: c.relation, Secret: true}), "not used up")
		})
	}
}
