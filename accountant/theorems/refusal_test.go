package theorems

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pate-go/pate/accountant"
)

// What rdp accounts and the theorems do not says so, and where to go.
func TestARefusalNamesWhatAccountsIt(t *testing.T) {
	e := accountant.SampledWithoutReplacement{Size: 1, Population: 9, Event: accountant.Gaussian{NoiseMultiplier: 2}}
	g := new(guarantees)
	assert.NoError(t, g.flatten(e, 1, accountant.ReplaceOne))
	err := g.flatten(e, 1, accountant.AddRemove)
	var refused *accountant.UnsupportedEventError
	assert.ErrorAs(t, err, &refused)
	assert.ErrorContains(t, err, "under add_remove is not known to the composition theorems; rdp accounts it")
}
