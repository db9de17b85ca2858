package ledger

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant"
)

// Run is one resumable run on a ledger that others charge too. As for Config.Run, the same name means the
// same private input, the same secret key and the same program of reservations, and entries that were in
// the file when it was opened are handed out again, in order, at no cost.
type Run struct {
	ledger *Ledger
	id     string // "" of the ledger's own
	number int64  // 0 of the ledger's own, and of a run not yet in the file
	left   int64  // recorded entries not yet handed out again
	replay *lineReader
	back   []*Reservation // recorded entries read from the file and not handed out
}

// Run starts or continues the run of that name. A run can be open once.
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

// resume makes the run hand out its recorded entries first. They are read from the file once more, so that
// resuming takes no memory.
func (r *Run) resume(entries int64) {
	r.left = entries
	r.replay = r.ledger.file.lines()
}

// Reserve reserves an event for this run.
func (r *Run) Reserve(e accountant.Event) (*Reservation, error) {
	reservations, err := r.ReserveBatch([]accountant.Event{e})
	if err != nil {
		return nil, err
	}
	return reservations[0], nil
}

// ReserveBatch reserves events for this run. After a resumption the first may be recorded and the rest new.
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

// putBack undoes calls of next.
func (r *Run) putBack(reservations []*Reservation) {
	r.back = append(reservations, r.back...)
	r.left += int64(len(reservations))
}

// Recorded returns the number of entries of the run that are in the file and were not asked for again.
func (r *Run) Recorded() int64 {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	return r.left
}

// next returns the next recorded entry. The lines were checked when the file was opened, and nobody else
// has written to the file since.
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
