//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Exposed returns an error if a user other than the owner could have written the file or folder. It checks
// the owner and the write permissions of group and others.
func Exposed(_ string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("belongs to user %d", s.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("can be written by other users (mode %v)", info.Mode())
	}
	return nil
}

// Readable returns an error if the permissions in info let group or others read.
func Readable(_ string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o044 != 0 {
		return fmt.Errorf("can be read by other users (mode %v)", info.Mode())
	}
	return nil
}

// KeepPrivate does nothing: the mode of a new file already excludes other users.
func KeepPrivate(string) error { return nil }

func share(string) error { return nil }
