package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/pate-go/pate/accountant"
)

// ErrSealed is returned by Reserve in mode Reserved when a reservation was used before: from then on a new
// cost might have been chosen for an answer, and the order may no longer be chosen at the end. Reserve
// everything first, or use mode Filter.
var ErrSealed = errors.New("ledger: sealed: in mode Reserved everything is reserved before anything is used; costs chosen later need mode Filter")

// Ledger charges events against one budget, before anything is released. It is safe for concurrent use.
type Ledger struct {
	mu     sync.Mutex
	chain  *chain
	file   *file // nil in memory
	own    *Run  // the reservations of no named run
	open   map[string]bool
	find   *outcomes
	closed bool
}

// New makes a ledger in memory.
func New(cfg Config) (*Ledger, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	h, err := newHeader(cfg)
	if err != nil {
		return nil, err
	}
	l := newLedger()
	return l, l.chain.start(h)
}

func newLedger() *Ledger {
	l := &Ledger{chain: newChain(), open: map[string]bool{}}
	l.own = &Run{ledger: l}
	return l
}

// Open makes or continues the ledger at path. An existing file must have been made with the same Config,
// must be whole and as the options say it is known: otherwise ErrOtherConfig or a *CorruptError, and
// nothing is written. Only a last line that was cut off is mended; the package comment says how. The
// functions of the options are called while the file is locked, and before anything is written to it.
//
// The file is locked until Close, which must be called, or the end of the process: Open blocks, until ctx
// ends, while another process or another Ledger of this one holds it.
func Open(ctx context.Context, path string, cfg Config, opt VerifyOptions) (*Ledger, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	type opened struct {
		ledger *Ledger
		err    error
	}
	done := make(chan opened, 1)
	go func() {
		l, err := openPath(path, cfg, opt)
		done <- opened{l, err}
	}()
	select {
	case o := <-done:
		return o.ledger, o.err
	case <-ctx.Done():
		go func() { // give it back when it comes after all
			if o := <-done; o.err == nil {
				o.ledger.Close()
			}
		}()
		return nil, fmt.Errorf("ledger: waiting for another holder of %s: %w", path, ctx.Err())
	}
}

func openPath(path string, cfg Config, opt VerifyOptions) (*Ledger, error) {
	s, err := openDisk(path)
	if err != nil {
		return nil, err
	}
	l, err := openStore(s, cfg, opt)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return l, nil
}

// openStore opens a ledger on s.
func openStore(s store, cfg Config, opt VerifyOptions) (*Ledger, error) {
	l := newLedger()
	var err error
	if l.file, err = openFile(s, l.chain, cfg, opt); err != nil {
		return nil, err
	}
	l.find = &outcomes{store: s, size: l.file.size}
	if cfg.Run != "" {
		l.own.resume(l.chain.entries - l.chain.named())
	}
	return l, nil
}

// Close releases the file. Reserve and Commit fail from then on, with an error that wraps os.ErrClosed. A
// second Close does nothing.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.file == nil {
		return nil
	}
	return l.file.store.Close()
}

// usable reports why nothing can be reserved or committed any more.
func (l *Ledger) usable() error {
	switch {
	case l.closed:
		return fmt.Errorf("ledger: %w", os.ErrClosed)
	case l.file != nil:
		return l.file.broken
	}
	return nil
}

// Reserve checks that e fits the budget together with all before it, writes it to disk and only then hands
// out the reservation. Over budget it returns a *BudgetError, and in mode Reserved, once something was
// used, ErrSealed; nothing is spent then. If writing fails it returns ErrBroken, as do all calls after it.
//
// When Config.Run is set, entries that were in the file when it was opened are handed out again, in order,
// for the same events and at no cost; another event is an error.
func (l *Ledger) Reserve(e accountant.Event) (*Reservation, error) {
	return l.own.Reserve(e)
}

// ReserveBatch reserves several events at the cost of one sync: all of them, in order, or none and an
// error.
func (l *Ledger) ReserveBatch(events []accountant.Event) ([]*Reservation, error) {
	return l.own.ReserveBatch(events)
}

// reserve charges new entries of a run.
func (l *Ledger) reserve(r *Run, events []accountant.Event) ([]*Reservation, error) {
	if err := l.chain.mayReserve(); err != nil {
		return nil, err
	}
	c := l.chain
	declared := r.number
	var lines []line
	if r.id != "" && r.number == 0 {
		id, err := json.Marshal(r.id)
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		declared = int64(len(c.runs)) + 1
		lines = append(lines, line{kind: runLine, run: declared, text: id})
	}
	charges, epsilons, err := l.count(events)
	if err != nil {
		return nil, err
	}
	for i, charge := range charges {
		lines = append(lines, line{kind: reserveLine, run: declared, entry: c.entries + int64(i) + 1, text: []byte(charge.text), epsilon: epsilons[i]})
	}
	if l.file != nil {
		if err := l.file.append(c, lines...); err != nil {
			return nil, err
		}
	}
	if declared != r.number {
		if err := c.declare(declared, r.id); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		r.number = declared
	}
	reservations := make([]*Reservation, len(events))
	for i := range events {
		c.entries++
		reservations[i] = &Reservation{ledger: l, index: c.entries, charge: charges[i]}
	}
	if r.number > 0 {
		c.runs[r.number-1].take(reservations[0].index, int64(len(events)))
	}
	return reservations, nil
}

// begin notes the first use of a reservation, which seals mode Reserved.
func (l *Ledger) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seal()
}

// seal writes, once, that the charges of mode Reserved are complete.
func (l *Ledger) seal() error {
	if err := l.usable(); err != nil {
		return err
	}
	c := l.chain
	if c.header.Mode != Reserved || c.sealed {
		return nil
	}
	if l.file != nil {
		total, err := c.total()
		if err != nil {
			return err
		}
		seal := line{kind: sealLine, entry: c.entries}
		seal.claim(total, c.header)
		if err := l.file.append(c, seal); err != nil {
			return err
		}
		c.claimed = &total
	}
	c.sealed = true
	return nil
}

// NamedRun is a [Run] as the ledger records it.
type NamedRun struct {
	Name    string
	Entries int64
	// Committed says that the outcome of its first entry was committed.
	Committed bool
}

// Runs returns the named runs, in order of their first reservation.
func (l *Ledger) Runs() []NamedRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	runs := make([]NamedRun, len(l.chain.runs))
	for i, r := range l.chain.runs {
		runs[i] = NamedRun{Name: r.id, Entries: r.entries, Committed: r.entries > 0 && l.chain.commits.has(r.first)}
	}
	return runs
}

// Epsilon returns the total of everything reserved, at the ledger's delta. In mode Reserved it bounds what
// was and will be released. In mode Filter it says how far the filter has let the total go, and is no bound
// of anything: what has been released is covered by the budget as a whole.
func (l *Ledger) Epsilon() (float64, error) {
	claim, err := l.Claim()
	return claim.Epsilon, err
}

// Claim returns Epsilon with the accountant that proved it.
func (l *Ledger) Claim() (Claim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.total()
}

// Config returns the configuration the ledger was made with.
func (l *Ledger) Config() Config { return l.chain.header.config() }

// Schedule returns everything reserved, equal events together, in order of their first appearance.
func (l *Ledger) Schedule() accountant.Schedule {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.balance.schedule()
}
