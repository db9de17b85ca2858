// Package fault has the one type of error that is meant for a person: what is wrong, why it matters and what
// to do. Callers find it in a chain of errors by [In] and print its text line by line.
package fault

import (
	"errors"
	"fmt"
)

// Error is a failure described for a person. It never quotes private data.
type Error struct {
	File string // path or name of what is wrong; may be empty
	Row  int    // 1-based line of the file on which a row begins; 0 if no row is to blame
	What string // begins after the file and the row: "has 14 cells, ..."
	Why  string // what was expected; may be empty
	Fix  string // what to do; may be empty
	// Check is set if something has changed since it was made. Otherwise a request cannot be met.
	Check bool
	Err   error // cause; may be nil
}

// Error returns the whole text on one line.
func (e *Error) Error() string {
	text := e.what()
	if e.Why != "" {
		text += "; " + e.Why
	}
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) what() string {
	text := ""
	if e.File != "" {
		text = e.File + ": "
	}
	if e.Row > 0 {
		text += fmt.Sprintf("row %d ", e.Row)
	}
	return text + e.What
}

// Words is the text of an error, line by line. Why is the cause if the error has no Why of its own.
type Words struct {
	What, Why, Fix string
	Check          bool
}

// In returns the text of the first [Error] in the chain of err.
func In(err error) (w Words, found bool) {
	var e *Error
	if !errors.As(err, &e) {
		return Words{}, false
	}
	w = Words{What: e.what(), Why: e.Why, Fix: e.Fix, Check: e.Check}
	if w.Why == "" && e.Err != nil {
		w.Why = e.Err.Error()
	}
	return w, true
}
