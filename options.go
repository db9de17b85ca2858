package pate

import (
	"errors"
	"fmt"
	"os"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/run"
)

// Budget is the budget of a call and its ledger. Epsilon, Delta and Ledger are required.
type Budget struct {
	Epsilon float64 // of the ledger, finite and above 0
	Delta   float64 // far below one over the number of units
	Ledger  string  // path of the ledger that is charged; made if it is not there
	Unit    string  // of a new ledger: whose data one change is; default "record"
	// Shared makes a new ledger that other runs may charge later, all within its budget. By default the
	// ledger takes this call alone.
	Shared bool
	// Seed, if set, makes a repeatable experiment, which is not releasable.
	Seed *uint64
	// Warn, if set, receives warnings that do not stop the call.
	Warn func(string)
}

// file returns the ledger of a call that writes out.
func (b Budget) file(out string) (run.File, error) {
	switch {
	case b.Ledger == "":
		return run.File{}, errors.New("pate: Budget.Ledger is empty: a release is charged to a file")
	case out == "":
		return run.File{}, errors.New("pate: Out is empty: what is released is written there")
	}
	if b.Unit == "" {
		b.Unit = "record"
	}
	made := ledger.Config{Unit: b.Unit, Relation: accountant.AddRemove, Epsilon: b.Epsilon, Delta: b.Delta}
	if b.Shared {
		made.Mode = ledger.Filter
	}
	expect := run.Expect{Relation: made.Relation, Unit: b.Unit, Epsilon: b.Epsilon, Delta: b.Delta}
	return run.File{Path: b.Ledger, New: made, Expect: expect, Warn: b.Warn}, nil
}

// Verify checks that a ledger is whole, and no older copy as far as the heads beside it and in the user's
// state folder show, and returns its summary.
func Verify(path string) (ledger.Summary, error) {
	known, err := run.ReadHeads(path)
	if err != nil {
		return ledger.Summary{}, err
	}
	file, err := os.Open(path)
	if err != nil {
		return ledger.Summary{}, fmt.Errorf("pate: %w", err)
	}
	defer file.Close()
	return ledger.Verify(file, ledger.VerifyOptions{Heads: known.Of})
}
