package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nameless makes a file without a name in dir, and closes the file. The result known is false if the file
// system does not support files without names.
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

// statusTime returns the time of the last change of a file's contents or attributes, which users cannot set,
// or nil if the time is unknown.
func statusTime(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim
	}
	return nil
}
