package ledger

import "github.com/pate-go/pate/accountant"

// Config fixes what a ledger accounts for.
type Config struct {
	Unit    string  // what one change of the data is: "record", "user", "silo"
	Epsilon float64 // the budget
	Delta   float64
}

// Ledger charges events against one budget.
type Ledger struct{}

// Open makes a ledger; an empty path keeps it in memory.
func Open(path string, cfg Config) (*Ledger, error) { return &Ledger{}, nil }

// Reserve charges e.
func (l *Ledger) Reserve(e accountant.Event) (*Reservation, error) {
	return &Reservation{ledger: l, event: e}, nil
}
