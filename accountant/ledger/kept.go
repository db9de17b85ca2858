package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Kept is what is known of a ledger from outside of its file. The chain of hashes
// cannot show that lines were cut off at the end, nor that the file is an older copy of
// itself; a head that was kept can.
type Kept struct {
	// Heads returns the heads that the ledger is known to have had. It is called at the
	// first line, with the id of the ledger. The zero Head says nothing.
	Heads func(id string) ([]Head, error)
	// Accept refuses a ledger when all of it was read and nothing was written. It may
	// be nil.
	Accept func(State) error
	// Outcome is handed every committed outcome that [VerifyKept] meets, by its hash and
	// the entry that it was committed for. It may be nil.
	Outcome func(entry int64, hash [sha256.Size]byte)
}

// State is what a file says of itself as a whole.
type State struct {
	ID      string // names the ledger; "" of one in memory
	Lines   int64  // whole ones; 0 of a file that never became a ledger
	Entries int64
	Commits int64
}

func (c *chain) state() State {
	return State{ID: c.id, Lines: c.lines, Entries: c.entries, Commits: c.commits.n}
}

// watch compares the lines of a chain with the heads that were kept.
type watch struct {
	kept  Kept
	heads []Head
}

// line compares the last line of the chain.
func (w *watch) line(c *chain) error {
	if w.kept.Heads != nil && c.lines == 1 {
		heads, err := w.kept.Heads(c.id)
		if err != nil {
			return err
		}
		w.heads = heads
	}
	for _, h := range w.heads {
		if h.Lines == c.lines && h.Lines > 0 && h.Hash != hex.EncodeToString(c.prev[:]) {
			return &CorruptError{h.Lines, "its hash is not that of the head that was kept"}
		}
	}
	return nil
}

// end checks that all lines of which a head was kept are there.
func (w *watch) end(c *chain) error {
	for _, h := range w.heads {
		if h.Lines > c.lines {
			return &CorruptError{c.lines + 1, fmt.Sprintf("it is missing: the file once had %d lines", h.Lines)}
		}
	}
	return nil
}
