package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
)

// ownerNotice ends what is said of a private file.
const ownerNotice = "this message may tell of private rows and is for their owner alone"

// forOwner adds to an error of reading a private file that it is not for others: every one may
// quote a cell, or count rows. Of a file that cannot be opened nothing was read.
func forOwner(err error) error {
	var path *fs.PathError
	if err == nil || errors.As(err, &path) || strings.Contains(err.Error(), "owner alone") {
		return err
	}
	var e *fault.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%w; %s", err, ownerNotice)
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

// columnsAre says what the columns of a file are, for errors. A first line that has a number,
// or has no column of the public rows where there are such, may be a row, whose cells are not
// repeated.
func columnsAre(names, public []string) string {
	has := func(name string) bool { return slices.Contains(names, name) }
	if slices.ContainsFunc(names, isNumber) || len(public) > 0 && !slices.ContainsFunc(public, has) {
		return fmt.Sprintf("it has %d columns, whose names look like a row without a header and are not repeated", len(names))
	}
	return fmt.Sprintf("its %d columns are %s", len(names), shown(names))
}
