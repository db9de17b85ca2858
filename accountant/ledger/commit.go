package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
)

// Outcome is what a reservation led to.
type Outcome struct {
	Of    *Reservation
	Bytes []byte // only their SHA-256 is written
	// Hash is that SHA-256, instead of Bytes, where the outcome is too long to be held; nil with Bytes.
	Hash *[sha256.Size]byte
}

func (o Outcome) hash() [sha256.Size]byte {
	if o.Hash != nil {
		return *o.Hash
	}
	return sha256.Sum256(o.Bytes)
}

// Commit records, before the outcome is handed out, that the reservation led to an outcome with these
// bytes; only their hash is written. On an error, such as ErrBroken, the outcome must not leave. The same
// outcome may be committed again, which writes nothing; another one is refused.
func (l *Ledger) Commit(r *Reservation, outcome []byte) error {
	return l.CommitBatch([]Outcome{{Of: r, Bytes: outcome}})
}

// CommitBatch commits several outcomes at the cost of one sync. On an error none of them may leave.
func (l *Ledger) CommitBatch(outcomes []Outcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	lines, fresh := make([]line, 0, len(outcomes)), make([]*Reservation, 0, len(outcomes))
	inBatch := make(map[int64]bool, len(outcomes))
	for _, o := range outcomes {
		if o.Of == nil || o.Of.ledger != l {
			return errors.New("ledger: commit of a reservation of another ledger")
		}
		sum := o.hash()
		entry := o.Of.index
		if inBatch[entry] {
			return fmt.Errorf("ledger: entry %d is twice in one batch", entry)
		}
		inBatch[entry] = true
		if l.chain.commits.has(entry) {
			before, err := l.outcome(o.Of)
			if err != nil {
				return err
			}
			if before != sum {
				return fmt.Errorf("ledger: entry %d was committed with another outcome; releasing this one would be a second answer", entry)
			}
			continue
		}
		lines, fresh = append(lines, line{kind: commitLine, entry: entry, outcome: sum}), append(fresh, o.Of)
	}
	if len(lines) == 0 {
		return nil
	}
	if err := l.seal(); err != nil {
		return err
	}
	if l.file != nil {
		if err := l.file.append(l.chain, lines...); err != nil {
			return err
		}
	}
	for i, of := range fresh {
		l.chain.commits.add(lines[i].entry)
		of.outcome, of.committed = lines[i].outcome, true
	}
	return nil
}

// outcome returns the committed outcome of a reservation.
func (l *Ledger) outcome(r *Reservation) ([sha256.Size]byte, error) {
	if r.committed || l.find == nil {
		return r.outcome, nil
	}
	return l.find.of(r.index)
}

// Committed reports whether the outcomes of all these reservations were committed.
func (l *Ledger) Committed(reservations ...*Reservation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range reservations {
		if r.ledger != l || !l.chain.commits.has(r.index) {
			return false
		}
	}
	return true
}
