package ledger

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pate-go/pate/accountant"
)

// Run is the program of reservations of one resumable run on a ledger that others charge too. What
// Config.Run says of a whole ledger holds of it: the same name means the same private input, the same
// secret key and the same program, and entries that were in the file when it was opened are handed out
// again, in order, at no cost.
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
	f := r.ledger.file
	r.replay = newLineReader(io.NewSectionReader(f.store, 0, f.size))
}

// Reserve reserves an event for this run.
func (r *Run) Reserve(e accountant.Event) (*Reservation, error) {
	reservations, err := r.ReserveBatch([]accountant.Event{e})
	if err != nil {
		return nil, err
	}
	return reservations[0], nil
}

// ReserveBatch reserves events for this run. Of a resumed run the first events may be recorded and the rest
// new.
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
			return nil, fmt.Errorf("ledger: entry %d of this run is %s, but the resumed program reserves %+v", recorded.index, recorded.charge.text, events[0])
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

// Recorded returns how many entries of the run are in the file and have not been asked for again.
func (r *Run) Recorded() int64 {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	return r.left
}

// next returns the next recorded entry. The lines were checked when the file was opened, and nobody else
// has written to it since.
func (r *Run) next() (*Reservation, error) {
	if len(r.back) > 0 {
		first := r.back[0]
		r.back = r.back[1:]
		r.left--
		return first, nil
	}
	for {
		text, err := r.replay.next()
		if err != nil {
			return nil, fmt.Errorf("ledger: reading a recorded entry again: %w", err)
		}
		l, err := decode(text)
		if err != nil {
			return nil, &CorruptError{l.number, err.Error()}
		}
		if l.kind != reserveLine || l.run != r.number {
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

// outcomes finds the outcomes that were in the file when it was opened. A resumed program asks for them
// about in order, so each search goes on where the last one ended, in no memory. The first that was passed
// already makes an index.
type outcomes struct {
	store store
	size  int64
	lines *lineReader
	index []committed // by entry; nil until it is needed
}

// committed is where the outcome of an entry stands.
type committed struct{ entry, at int64 }

func (o *outcomes) of(entry int64) (sum [sha256.Size]byte, err error) {
	if o.index == nil {
		if o.lines == nil {
			o.lines = newLineReader(io.NewSectionReader(o.store, 0, o.size))
		}
		found := false
		err := eachCommit(o.lines, func(l line, _ int64) bool {
			if found = l.entry == entry; found {
				sum = l.outcome
			}
			return !found
		})
		if found || err != nil {
			return sum, err
		}
		if err := o.makeIndex(); err != nil {
			return sum, err
		}
	}
	i, ok := slices.BinarySearchFunc(o.index, entry, func(c committed, entry int64) int { return cmp.Compare(c.entry, entry) })
	if !ok {
		return sum, fmt.Errorf("ledger: the outcome of entry %d is not in the file", entry)
	}
	at := o.index[i].at
	err = eachCommit(newLineReader(io.NewSectionReader(o.store, at, o.size-at)), func(l line, _ int64) bool {
		sum = l.outcome
		return false
	})
	return sum, err
}

func (o *outcomes) makeIndex() error {
	index := []committed{}
	if err := eachCommit(newLineReader(io.NewSectionReader(o.store, 0, o.size)), func(l line, at int64) bool {
		index = append(index, committed{l.entry, at})
		return true
	}); err != nil {
		return err
	}
	slices.SortFunc(index, func(a, b committed) int { return cmp.Compare(a.entry, b.entry) })
	o.index, o.lines = index, nil
	return nil
}

// eachCommit hands out the committed outcomes and where their lines begin, until one is enough.
func eachCommit(lines *lineReader, visit func(l line, at int64) bool) error {
	at := int64(0)
	for {
		text, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		l, err := decode(text)
		if err != nil {
			return &CorruptError{l.number, err.Error()}
		}
		if l.kind == commitLine && !visit(l, at) {
			return nil
		}
		at += int64(len(text)) + 1
	}
}
