package ledger

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/pate-go/pate/accountant"
)

var (
	// ErrNotReserved matches the error of [Reservation.Begin] if the reservation has another event or was
	// used before.
	ErrNotReserved = errors.New("ledger: not reserved")
	// ErrUnfit matches the error of Begin if the ledger refuses the [Use]. The reservation stays unused.
	ErrUnfit = errors.New("ledger: the mechanism does not fit this ledger")
)

// Use describes properties of a mechanism that its event does not contain.
type Use struct {
	// Relation is the neighbouring relation that the event's bound requires. 0 means any relation.
	Relation accountant.Relation
	// Renyi is set if the event bounds the mechanism's Rényi divergences, but perhaps not its privacy loss
	// distribution. A ledger that may use such distributions refuses the mechanism.
	Renyi bool
	// Secret is set if all noise comes from a secret key. A ledger with SecretNoise requires Secret.
	Secret bool
}

func (u Use) fits(c Config) error {
	switch {
	case u.Relation != 0 && u.Relation != c.Relation:
		return fmt.Errorf("%w: the cost of the mechanism holds only for relation %v, not for %v", ErrUnfit, u.Relation, c.Relation)
	case u.Renyi && c.Method() != accountant.ByRDP:
		return fmt.Errorf("%w: the event bounds only Rényi divergences, but the ledger has accountant %s: "+
			"create the ledger with accountant rdp", ErrUnfit, c.Accountant)
	case !u.Secret && c.Noise == SecretNoise:
		return fmt.Errorf("%w: the noise comes from a seed, but the ledger requires secret noise "+
			"so that outcomes may be released", ErrUnfit)
	}
	return nil
}

// Reservation is a charge that may be used once. Only a Ledger creates reservations. A mechanism needs a
// Reservation before it reads private data.
type Reservation struct {
	ledger *Ledger
	index  int64
	charge *charge

	mu    sync.Mutex
	begun bool

	// committed and outcome are set by Commit, under Ledger.mu, and not restored by Open.
	committed bool
	outcome   [sha256.Size]byte
}

// Event returns the event that was charged.
func (r *Reservation) Event() accountant.Event {
	if r == nil || r.charge == nil {
		return nil
	}
	return r.charge.event
}

// Entry returns the index of the reservation in its ledger, from 1.
func (r *Reservation) Entry() int64 { return r.index }

func (r *Reservation) Relation() accountant.Relation { return r.ledger.chain.header.Relation }

// Begin marks the reservation as used by a mechanism whose worst case is e. In mode Reserved the first Begin
// seals the ledger on disk. After an error the mechanism must not start. If e differs from the charged event,
// or the reservation was used before, the error is ErrNotReserved. If the ledger refuses the [Use], the error
// is ErrUnfit.
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

func (c *charge) is(e accountant.Event) bool {
	if e == nil {
		return false
	}
	text, err := accountant.MarshalEvent(e)
	return err == nil && string(text) == c.text
}

// Outcome is the result of a mechanism that used a reservation.
type Outcome struct {
	Of    *Reservation
	Bytes []byte // outcome; only its SHA-256 is written
	// Hash, if not nil, is the SHA-256 of a long outcome and replaces Bytes.
	Hash *[sha256.Size]byte
}

// Commit records the SHA-256 of an outcome. The outcome may be released only after Commit returns without
// an error. A second Commit of the same outcome writes nothing. A second Commit of another outcome is an
// error.
func (l *Ledger) Commit(r *Reservation, outcome []byte) error {
	return l.CommitBatch([]Outcome{{Of: r, Bytes: outcome}})
}

// CommitBatch commits several outcomes with one sync. If it returns an error, no outcome may be released.
func (l *Ledger) CommitBatch(outcomes []Outcome) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	var lines []line
	var fresh []*Reservation
	inBatch := make(map[int64]bool, len(outcomes))
	for _, o := range outcomes {
		if o.Of == nil || o.Of.ledger != l {
			return errors.New("ledger: commit of a reservation of another ledger")
		}
		var sum [sha256.Size]byte
		if o.Hash != nil {
			sum = *o.Hash
		} else {
			sum = sha256.Sum256(o.Bytes)
		}
		entry := o.Of.index
		if inBatch[entry] {
			return fmt.Errorf("ledger: entry %d occurs twice in one batch", entry)
		}
		inBatch[entry] = true
		if !l.chain.commits.has(entry) {
			lines = append(lines, line{kind: commitLine, entry: entry, outcome: sum})
			fresh = append(fresh, o.Of)
			continue
		}
		before, err := l.outcome(o.Of)
		if err != nil {
			return err
		}
		if before != sum {
			return fmt.Errorf("ledger: entry %d was committed with another outcome; a release of this outcome would be a second answer", entry)
		}
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

func (l *Ledger) outcome(r *Reservation) ([sha256.Size]byte, error) {
	if r.committed || l.file == nil {
		return r.outcome, nil
	}
	if l.recorded == nil {
		recorded := map[int64][sha256.Size]byte{}
		for lines := l.file.lines(); ; {
			c, err := lines.nextOf(commitLine)
			if err == io.EOF {
				break
			}
			if err != nil {
				return r.outcome, wrapped(err)
			}
			recorded[c.entry] = c.outcome
		}
		l.recorded = recorded
	}
	sum, ok := l.recorded[r.index]
	if !ok {
		return sum, fmt.Errorf("ledger: the outcome of entry %d is not in the file", r.index)
	}
	return sum, nil
}

// Committed reports whether the outcomes of all reservations are committed.
func (l *Ledger) Committed(reservations ...*Reservation) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(reservations, func(r *Reservation) bool {
		return r.ledger != l || !l.chain.commits.has(r.index)
	})
}

// Run is a resumable run on a shared ledger. Two runs with the same id must have the same private input,
// secret key and reservations. If a run resumes, Reserve first returns the recorded entries, in order and
// without a charge.
type Run struct {
	ledger *Ledger
	id     string // "" for reservations without a named run
	number int64  // 0 if id is "" or the run is not in the file
	left   int64  // number of recorded entries that were not returned again
	replay *lineReader
	back   []*Reservation // entries that were read from the file and not returned
}

// Run starts or continues the run with the given id. A run can be open only once.
func (l *Ledger) Run(id string) (*Run, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, errors.New("ledger: the name of a run is empty")
	}
	if err := checkText(id); err != nil {
		return nil, fmt.Errorf("ledger: the name of a run: %w", err)
	}
	if l.open[id] {
		return nil, fmt.Errorf("ledger: run %q is open already", id)
	}
	l.open[id] = true
	r := &Run{ledger: l, id: id, number: l.chain.byID[id]}
	if r.number > 0 && l.file != nil {
		r.resume(l.chain.runs[r.number-1].entries)
	}
	return r, nil
}

// resume makes Reserve return the recorded entries first.
func (r *Run) resume(entries int64) {
	r.left = entries
	r.replay = r.ledger.file.lines()
}

func (r *Run) Reserve(e accountant.Event) (*Reservation, error) {
	reservations, err := r.ReserveBatch([]accountant.Event{e})
	if err != nil {
		return nil, err
	}
	return reservations[0], nil
}

// ReserveBatch reserves events for this run. In a resumed run the first events may be recorded already.
func (r *Run) ReserveBatch(events []accountant.Event) ([]*Reservation, error) {
	l := r.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	var reservations []*Reservation
	for len(events) > 0 && r.left > 0 {
		recorded, err := r.next()
		if err != nil {
			return nil, err
		}
		if !recorded.charge.is(events[0]) {
			r.putBack(append(reservations, recorded))
			return nil, fmt.Errorf("ledger: entry %d of this run is %s, but the resumed program reserves %+v",
				recorded.index, recorded.charge.text, events[0])
		}
		reservations, events = append(reservations, recorded), events[1:]
	}
	if len(events) == 0 {
		return reservations, nil
	}
	fresh, err := l.reserve(r, events)
	if err != nil {
		r.putBack(reservations)
		return nil, err
	}
	return append(reservations, fresh...), nil
}

func (r *Run) putBack(reservations []*Reservation) {
	r.back = append(reservations, r.back...)
	r.left += int64(len(reservations))
}

// Recorded returns the number of remaining entries from before an interruption. Reserve first returns these
// entries again.
func (r *Run) Recorded() int64 {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	return r.left
}

func (r *Run) next() (*Reservation, error) {
	if len(r.back) > 0 {
		first := r.back[0]
		r.back = r.back[1:]
		r.left--
		return first, nil
	}
	for {
		l, err := r.replay.nextOf(reserveLine)
		if err != nil {
			return nil, fmt.Errorf("ledger: reading a recorded entry again: %w", err)
		}
		if l.run != r.number {
			continue
		}
		r.left--
		more, err := r.ledger.chain.balance.chargeOf(l.text)
		if err != nil {
			return nil, &CorruptError{l.number, err.Error()}
		}
		return &Reservation{ledger: r.ledger, index: l.entry, charge: more}, nil
	}
}
