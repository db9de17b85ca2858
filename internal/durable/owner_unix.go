//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Exposed returns an error if somebody else may have written what info, of the file or folder at path,
// tells of: it belongs to another user, or its mode lets the group or all write.
func Exposed(_ string, info fs.FileInfo) error {
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != uint32(os.Geteuid()) {
		return fmt.Errorf("belongs to user %d", s.Uid)
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("others may write to it, its mode is %v", info.Mode())
	}
	return nil
}

// Readable returns an error if the mode of info lets others than the owner read.
func Readable(_ string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o044 != 0 {
		return fmt.Errorf("others may read it, its mode is %v", info.Mode())
	}
	return nil
}

// KeepPrivate does nothing: the mode that a file or folder is made with says who may read it.
func KeepPrivate(string) error { return nil }

// share does nothing: the mode says it all.
func share(string) error { return nil }
