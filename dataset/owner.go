package dataset

import (
	"errors"
	"strings"
)

// ownerNotice ends what is said of a private row.
const ownerNotice = "this message tells of private rows and is for their owner alone"

// forOwner adds to an error about a private file that it is not for others, where it names a
// row or counts rows. Of a file that is missing or has other columns it says nothing.
func forOwner(err error) error {
	var e *InputError
	if !errors.As(err, &e) || e.Row == 0 && !countsRows(e.What) || strings.Contains(e.Why, "owner alone") {
		return err
	}
	told := *e
	if told.Why == "" && told.Err != nil { // which is said in its place
		told.Why = told.Err.Error()
	}
	if told.Why != "" {
		told.Why += "; "
	}
	told.Why += ownerNotice
	return &told
}

// countsRows reports whether a text has a number of rows.
func countsRows(text string) bool {
	at := strings.Index(text, " rows")
	return at > 0 && '0' <= text[at-1] && text[at-1] <= '9'
}
