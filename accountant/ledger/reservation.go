package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/pate-go/pate/accountant"
)

// ErrNotReserved is returned by Begin when the mechanism's worst case is not the event that was reserved,
// or when the reservation was used before.
var ErrNotReserved = errors.New("ledger: not reserved")

// Reservation is budget that has been charged and may be used once. Only a Ledger makes one; a mechanism
// asks for it before it reads any vote, so a run that was not charged cannot be written by accident.
type Reservation struct {
	ledger *Ledger
	index  int64
	charge *charge

	mu    sync.Mutex
	begun bool

	// Of a commit in this session; guarded by the ledger's lock.
	committed bool
	outcome   [sha256.Size]byte
}

// Event returns what was charged.
func (r *Reservation) Event() accountant.Event { return r.charge.event }

// Entry returns the number of the reservation in its ledger, from 1.
func (r *Reservation) Entry() int64 { return r.index }

// Relation returns that of the ledger.
func (r *Reservation) Relation() accountant.Relation { return r.ledger.chain.header.Relation }

// Begin marks the reservation as used by a mechanism whose worst case is e and that is as use says. It
// refuses an event that differs from the one charged and a second use with ErrNotReserved, and a mechanism
// that is not what the ledger stands for with ErrUnfit. In mode Reserved the first use seals the ledger, on
// disk: on an error the mechanism must not start.
func (r *Reservation) Begin(e accountant.Event, use Use) error {
	if r == nil || r.ledger == nil {
		return fmt.Errorf("%w: the reservation does not come from a ledger", ErrNotReserved)
	}
	if !r.charge.is(e) {
		return fmt.Errorf("%w: charged %s, but the mechanism's worst case is %+v", ErrNotReserved, r.charge.text, e)
	}
	if err := use.fits(r.ledger.chain.header.config()); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun {
		return fmt.Errorf("%w: entry %d was used before; reserve again", ErrNotReserved, r.index)
	}
	if err := r.ledger.begin(); err != nil {
		return err
	}
	r.begun = true
	return nil
}

// is reports whether e is what is charged.
func (c *charge) is(e accountant.Event) bool {
	if e == nil {
		return false
	}
	text, err := accountant.MarshalEvent(e)
	return err == nil && string(text) == c.text
}
