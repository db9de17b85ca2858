package durable

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nameless returns the error of making a nameless file in dir. If O_TMPFILE is not supported, nameless
// returns false, nil.
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

// statusTime returns the time at which a file's contents or attributes last changed, or nil if the time is
// unknown. Users cannot set this time.
func statusTime(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctim
	}
	return nil
}
