package label

// Error says why nothing is released, for a person. It never tells a vote.
type Error struct {
	What string
	Why  string // may be empty
	Fix  string // may be empty
	// Check: what is there is not what it should be. Otherwise the run cannot be
	// had as it was asked for.
	Check bool
	Err   error // cause; may be nil
}

// Error implements error.
func (e *Error) Error() string {
	msg := "label: " + e.What
	if e.Why != "" {
		msg += "; " + e.Why
	}
	if e.Fix != "" {
		msg += "; " + e.Fix
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
