// Package fault defines an error type for messages to people: what is wrong, why it matters, and what to do.
package fault

import (
	"errors"
	"fmt"
)

// Error describes a fault, its reason and its remedy. The text contains no private data.
type Error struct {
	File string // path or name of the input; may be empty
	Row  int    // 1-based line at which the wrong row begins; 0 if no row is wrong
	What string // text after the file and the row, such as "has 14 cells, ..."
	Why  string // reason or expected value; may be empty
	Fix  string // advice; may be empty
	// Check is true if the operation failed because a file was changed after its creation.
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

// Words holds the text of an error. If [Error.Why] is empty, the field Why holds the text of the cause.
type Words struct {
	What, Why, Fix string
	Check          bool
}

// In returns the text of the first [Error] in the chain of err. If no such error exists, found is false.
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
