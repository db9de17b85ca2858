package shell

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"syscall"
)

// general are remedies that say less than the operating system's own reason does.
var general = []string{"", "check its name", "name another file", "make its folder, or name another file", "check its name, or give - and pipe them in"}

// advise adds to an error that comes from the operating system what a person can do.
func (e *CommandError) advise() {
	cause := e.Cause
	if cause == nil {
		cause = e.What
	}
	why, fix := adviceOn(cause)
	if fix == "" {
		return
	}
	for _, words := range general {
		if e.Fix == words {
			e.Fix = fix
		}
	}
	if e.Why == "" {
		e.Why = why
	}
}

// adviceOn says why the operating system refuses, and what to do; nothing of errors that
// are not its own.
func adviceOn(err error) (why, fix string) {
	var link *os.LinkError
	switch {
	case isHeld(err):
		return "another process has that file open, as a run has its ledger", "wait until it ends, and run the same command again"
	case errors.Is(err, fs.ErrPermission):
		return "this user may not do that there", "see with ls -l whose file or folder it is and what its mode allows, or name another place"
	case errors.Is(err, syscall.ENOSPC), isQuota(err):
		return "the disk is full; nothing half-written is left behind", "make room, or name a place on another disk, and run the same command again"
	case errors.Is(err, syscall.EROFS):
		return "that file system cannot be written to", "name another place"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open at once", "raise the limit (ulimit -n 4096), or give fewer files"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "the name is too long", "name another file"
	case errors.Is(err, syscall.ENOTDIR):
		return "a part of the path is a file, not a folder", "check the path"
	case errors.As(err, &link):
		return "the finished file could not get its name; what was there is unchanged", "see that nothing else uses the file, and run the same command again"
	case errors.Is(err, syscall.EIO):
		return "the disk or the network failed", "see that it works, and run the same command again"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file or folder", "check its name, and that its folder is there"
	}
	return "", ""
}

// unnamed is a file that was being written and had not its name yet.
var unnamed = regexp.MustCompile(`\.([^/\\\s]+?)(\.[0-9a-f]{8,}|\.released)?\.[0-9]+\.tmp\b`)

// packages are names of packages where they stand before what a package says.
var packages = regexp.MustCompile(`(^|: )(?:(?:durable|experiments|recipe|accountant|aggregate|learn|release|manifest|svt|stable|dataset|rng|statement|plan): (?:bad Config: |invalid input: )?)+`)

// plain takes out of a text what means nothing to those who typed the command: names of
// packages, and names that files had while they were written.
func plain(text string) string {
	return unnamed.ReplaceAllString(packages.ReplaceAllString(text, "$1"), "$1")
}
