package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/durable"
)

// ErrSealed matches an error of Reserve in mode Reserved. In this mode, Reserve fails after a reservation was
// used.
var ErrSealed = errors.New("ledger: sealed: in mode Reserved all reservations come before the first use; " +
	"later reservations need mode Filter")

// Ledger charges events to one budget. Concurrent use is safe.
type Ledger struct {
	mu       sync.Mutex
	chain    *chain
	file     *file // nil in memory
	own      *Run  // reservations without a named run
	open     map[string]bool
	closed   bool
	recorded map[int64][sha256.Size]byte
}

// New returns a ledger in memory.
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

// Open creates or continues the ledger at path. It repairs a last line that was cut off (see the package
// comment), and changes nothing else in a refused file. It calls the functions in opt while the file is
// locked. A different Config gives ErrOtherConfig. Damage, or a contradiction to an earlier head, gives a
// *CorruptError. A wrong opt.Signature gives ErrSignature.
//
// The file stays locked until Close or until the process ends. While another process or Ledger holds the
// file, Open blocks until ctx ends.
func Open(ctx context.Context, path string, cfg Config, opt VerifyOptions) (*Ledger, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return durable.Wait(ctx, "ledger: waiting for another process to close "+path, func() (*Ledger, error) {
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
	})
}

func openStore(s store, cfg Config, opt VerifyOptions) (*Ledger, error) {
	l := newLedger()
	var err error
	if l.file, err = openFile(s, l.chain, cfg, opt); err != nil {
		return nil, err
	}
	if cfg.Run != "" {
		l.own.resume(l.chain.entries - l.chain.named())
	}
	return l, nil
}

// Close releases the file. Reserve and Commit then fail with os.ErrClosed. A second Close has no effect.
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

func (l *Ledger) usable() error {
	switch {
	case l.closed:
		return fmt.Errorf("ledger: %w", os.ErrClosed)
	case l.file != nil:
		return l.file.broken
	}
	return nil
}

// Reserve adds e to all earlier reservations, writes an entry to disk, and returns the reservation. If the
// total exceeds the budget, Reserve returns a *BudgetError. After a *BudgetError or [ErrSealed], nothing is
// spent. After a failed write, this and all later calls return ErrBroken.
//
// If Config.Run is set, the first calls return the entries of the opened file, in order and without a charge.
// The events of these calls must equal the recorded events.
func (l *Ledger) Reserve(e accountant.Event) (*Reservation, error) { return l.own.Reserve(e) }

// ReserveBatch reserves all events in order with one sync. On an error it reserves none.
func (l *Ledger) ReserveBatch(events []accountant.Event) ([]*Reservation, error) {
	return l.own.ReserveBatch(events)
}

func (l *Ledger) reserve(r *Run, events []accountant.Event) ([]*Reservation, error) {
	c := l.chain
	if err := c.mayReserve(); err != nil {
		return nil, err
	}
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
		lines = append(lines, line{
			kind: reserveLine, run: declared, entry: c.entries + int64(i) + 1, text: []byte(charge.text), epsilon: epsilons[i],
		})
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

func (l *Ledger) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seal()
}

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

// NamedRun describes a [Run] of the ledger.
type NamedRun struct {
	Name    string
	Entries int64
	// Committed reports whether the outcome of the run's first entry is committed.
	Committed bool
}

// Runs returns the named runs in the order of their first reservations.
func (l *Ledger) Runs() []NamedRun {
	l.mu.Lock()
	defer l.mu.Unlock()
	runs := make([]NamedRun, len(l.chain.runs))
	for i, r := range l.chain.runs {
		runs[i] = NamedRun{Name: r.id, Entries: r.entries, Committed: r.entries > 0 && l.chain.commits.has(r.first)}
	}
	return runs
}

// Epsilon returns the epsilon of all reservations at the ledger's delta. In mode Reserved this epsilon covers
// all past and future releases. In mode Filter the guarantee is the whole budget, not this epsilon.
func (l *Ledger) Epsilon() (float64, error) {
	claim, err := l.Claim()
	return claim.Epsilon, err
}

// Claim returns the epsilon of [Ledger.Epsilon], with the accountant that proved this epsilon.
func (l *Ledger) Claim() (Claim, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.total()
}

func (l *Ledger) Config() Config { return l.chain.header.config() }

// Schedule returns all reserved events, in order of first reservation. Equal events are merged.
func (l *Ledger) Schedule() accountant.Schedule {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.chain.balance.schedule()
}
