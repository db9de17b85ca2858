package ledger

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant"
)

// ErrUnfit is returned by Begin when the event is charged, but what the mechanism says of itself is not
// what the ledger stands for. Nothing ran; the reservation can still be used.
var ErrUnfit = errors.New("ledger: the mechanism does not fit this ledger")

// Use is what a mechanism says of itself when it begins: what its event alone does not tell. The same event
// may bound one mechanism under either relation and another under one of them only.
type Use struct {
	// Relation is the only one for which the event bounds the mechanism; 0 if it does for both.
	Relation accountant.Relation
	// Renyi says that the event bounds the Rényi divergences of the mechanism, and nothing finer: its loss
	// distribution may not be that of the event. A ledger on which loss distributions may claim is refused.
	Renyi bool
	// Secret says that all noise comes from a key that nobody else knows. Without it a ledger of
	// SecretNoise, whose statement allows release, is refused.
	Secret bool
}

// fits says why a mechanism may not be used on a ledger.
func (u Use) fits(c Config) error {
	switch {
	case u.Relation != 0 && u.Relation != c.Relation:
		return fmt.Errorf("%w: its cost holds for relation %v only, and the ledger's is %v", ErrUnfit, u.Relation, c.Relation)
	case u.Renyi && c.Method() != accountant.ByRDP:
		return fmt.Errorf("%w: its event bounds Rényi divergences only, and the ledger's accountant is %s: make the ledger with accountant rdp", ErrUnfit, c.Accountant)
	case !u.Secret && c.Noise == SecretNoise:
		return fmt.Errorf("%w: its noise comes from a seed, and the ledger says that noise is secret and outcomes may be released", ErrUnfit)
	}
	return nil
}
