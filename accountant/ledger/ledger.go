package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"sync"

	"github.com/pate-go/pate/accountant"
)

// ErrBudgetExceeded is matched by every *BudgetError.
var ErrBudgetExceeded = errors.New("ledger: budget would be exceeded")

// BudgetError says what an event would have brought the total to. Nothing was
// spent and nothing was written.
type BudgetError struct {
	Epsilon float64 // the total with the event, at Delta
	Spent   float64 // the total without it
	Budget  float64
	Delta   float64
}

// Error implements error.
func (e *BudgetError) Error() string {
	return fmt.Sprintf("ledger: the budget is epsilon %.6g at delta %g; %.6g is spent and this would make it %.6g",
		e.Budget, e.Delta, e.Spent, e.Epsilon)
}

// Is makes errors.Is(err, ErrBudgetExceeded) hold.
func (e *BudgetError) Is(target error) bool { return target == ErrBudgetExceeded }

// Config fixes what a ledger accounts for; it is written into the first line
// of the file and compared when the file is opened again.
type Config struct {
	Unit     string              `json:"unit"`     // whose data one change is: "record", "user", "silo"; required
	Relation accountant.Relation `json:"relation"` // required
	Epsilon  float64             `json:"epsilon"`  // the budget, > 0, +Inf refused
	Delta    float64             `json:"delta"`    // in (0, 1)
	// Run identifies a resumable run: the same private input, the same secret
	// key for all noise, the same program of reservations. When it is set and
	// the file is opened again, a Reserve that repeats the next recorded entry
	// returns that entry instead of charging twice: the answers it leads to
	// are the same bit for bit, so nothing more is revealed. Leave it empty
	// where noise is fresh.
	Run string `json:"run,omitempty"`
}

func (c Config) validate() error {
	switch {
	case c.Unit == "":
		return errors.New("ledger: Config.Unit is empty: say whose data one change is, such as record or user")
	case c.Relation != accountant.AddRemove && c.Relation != accountant.ReplaceOne:
		return errors.New("ledger: Config.Relation must be AddRemove or ReplaceOne")
	case !(c.Epsilon > 0) || math.IsInf(c.Epsilon, 1):
		return fmt.Errorf("ledger: Config.Epsilon %v must be finite and above 0", c.Epsilon)
	case !(c.Delta > 0 && c.Delta < 1):
		return fmt.Errorf("ledger: Config.Delta %v must lie strictly between 0 and 1", c.Delta)
	}
	return nil
}

// Ledger charges events against one budget, before anything is released. Its
// worst-case events are fixed when they are reserved, so the Rényi order is
// chosen at the end over all of them. It is safe for concurrent use.
type Ledger struct {
	mu     sync.Mutex
	cfg    Config
	events []accountant.Event // reserved so far, in order
	replay int                // entries of an earlier session not yet asked for again
	file   *file              // nil in memory
	closed bool
}

// Open makes or continues the ledger at path; an empty path keeps it in memory.
// An existing file must have been made with the same Config and must be whole:
// otherwise ErrOtherConfig or ErrCorrupt, and nothing is written. The file is
// locked until Close, which must be called: Open blocks, without a limit, while
// another process or another Ledger of this one holds it.
func Open(path string, cfg Config) (*Ledger, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l := &Ledger{cfg: cfg}
	if path == "" {
		return l, nil
	}
	f, events, err := openFile(path, cfg)
	if err != nil {
		return nil, err
	}
	l.file, l.events = f, events
	if cfg.Run != "" {
		l.replay = len(events)
	}
	return l, nil
}

// Close releases the file. Reserve and Commit fail from then on, with an error
// that wraps os.ErrClosed. A second Close does nothing.
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
	return l.file.close()
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

// Reserve checks that e fits the budget together with all before it, writes it
// to disk and only then hands out the reservation. Over budget it returns a
// *BudgetError, and nothing is spent. If writing fails it returns ErrBroken, as do
// all calls after it.
func (l *Ledger) Reserve(e accountant.Event) (*Reservation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return nil, err
	}
	if l.replay > 0 {
		i := len(l.events) - l.replay
		if !reflect.DeepEqual(l.events[i], e) {
			return nil, fmt.Errorf("ledger: entry %d of this run is %+v, but the resumed program reserves %+v", i+1, l.events[i], e)
		}
		l.replay--
		return &Reservation{ledger: l, index: i + 1, event: e}, nil
	}
	spent, err := l.total(nil)
	if err != nil {
		return nil, err
	}
	total, err := l.total(e)
	if err != nil {
		return nil, err
	}
	if !(total <= l.cfg.Epsilon) {
		return nil, &BudgetError{Epsilon: total, Spent: spent, Budget: l.cfg.Epsilon, Delta: l.cfg.Delta}
	}
	if l.file != nil {
		if err := l.file.reserve(e, total); err != nil {
			return nil, err
		}
	}
	l.events = append(l.events, e)
	return &Reservation{ledger: l, index: len(l.events), event: e}, nil
}

// Commit records, before the outcome is handed out, that the reservation led
// to an outcome with these bytes; only their hash is written. On an error, such as
// ErrBroken, the outcome must not leave.
func (l *Ledger) Commit(r *Reservation, outcome []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r == nil || r.ledger != l {
		return errors.New("ledger: commit of a reservation of another ledger")
	}
	if err := l.usable(); err != nil {
		return err
	}
	if l.file == nil {
		return nil
	}
	sum := sha256.Sum256(outcome)
	return l.file.commit(r.index, hex.EncodeToString(sum[:]))
}

// Epsilon is the total of everything reserved, at the ledger's delta.
func (l *Ledger) Epsilon() (float64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total(nil)
}

// Events are the reserved events, in order.
func (l *Ledger) Events() []accountant.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]accountant.Event(nil), l.events...)
}

// total composes all reserved events and, if it is not nil, one more.
func (l *Ledger) total(more accountant.Event) (float64, error) {
	events := l.events
	if more != nil {
		events = append(events[:len(events):len(events)], more)
	}
	return epsilonOf(l.cfg, events)
}

func epsilonOf(cfg Config, events []accountant.Event) (float64, error) {
	if len(events) == 0 {
		return 0, nil
	}
	account, err := accountant.NewRDP(accountant.Config{Relation: cfg.Relation})
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	for _, e := range events {
		if err := account.Compose(e, 1); err != nil {
			return 0, fmt.Errorf("ledger: %w", err)
		}
	}
	b, err := account.Epsilon(cfg.Delta)
	if err != nil {
		return 0, fmt.Errorf("ledger: %w", err)
	}
	return b.Upper, nil
}
