package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nameless tests whether files can be made in dir, with a file that never has a name. If the system does not
// support O_TMPFILE, the result `known` is false.
func nameless(dir string) (known bool, err error) {
	f, err := os.OpenFile(dir, unix.O_TMPFILE|os.O_WRONLY, 0o600)
	for _, unknown := range []error{unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL} {
		if errors.Is(err, unknown) {
			return false, nil
		}
	}
	if err == nil {
		err = f.Close()
	}
	return true, err
}

// statusTime returns the time of the last change to a file's contents or attributes, or nil if unknown. Users
// cannot set this time.
func statusTime(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim
	}
	return nil
}
