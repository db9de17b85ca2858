package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/pate-go/pate/fault"
)

// ownerNotice ends every error about a private file.
const ownerNotice = "this message may tell of private rows and is for their owner alone"

// forOwner marks an error of reading a private file as not for others: every one may quote a cell, or count
// rows. Of a file that cannot be opened nothing was read.
func forOwner(err error) error {
	var path *fs.PathError
	if err == nil || errors.As(err, &path) || strings.Contains(err.Error(), "owner alone") {
		return err
	}
	var e *fault.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%w; %s", err, ownerNotice)
	}
	marked := *e
	if marked.Why == "" && marked.Err != nil { // the cause is printed in its place
		marked.Why = marked.Err.Error()
	}
	if marked.Why != "" {
		marked.Why += "; "
	}
	marked.Why += ownerNotice
	return &marked
}

// columnsAre describes the columns of a file in an error. A first line that has a number, or has no column
// of the public rows where there are such, may be a row, whose cells are not repeated.
func columnsAre(names, public []string) string {
	has := func(name string) bool { return slices.Contains(names, name) }
	if slices.ContainsFunc(names, isNumber) || len(public) > 0 && !slices.ContainsFunc(public, has) {
		return fmt.Sprintf("it has %d columns, whose names look like a row without a header and are not repeated", len(names))
	}
	return fmt.Sprintf("its %d columns are %s", len(names), shown(names))
}

func wrong(file, what, why, fix string) error {
	return &fault.Error{File: file, What: what, Why: why, Fix: fix}
}

func failed(file, what string, err error) error {
	return &fault.Error{File: file, What: what, Err: err}
}
