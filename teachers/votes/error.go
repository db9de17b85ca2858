package votes

// Error says that votes or a manifest are missing or not as they should be.
// What stands in it is meant for a person and never quotes a vote.
type Error struct {
	File string // path
	What string // begins after the file: "row 17 has 249 labels, ..."
	Why  string // what was expected; may be empty
	Fix  string // what to do; may be empty
	Err  error  // cause; may be nil
}

func (e *Error) Error() string {
	msg := "votes: " + e.File + ": " + e.What
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

func (e *Error) Unwrap() error { return e.Err }
