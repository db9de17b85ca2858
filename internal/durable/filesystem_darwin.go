package durable

import (
	"io/fs"
	"syscall"
)

// statusTime returns the time of the last change of a file's contents or attributes, which users cannot set,
// or nil.
func statusTime(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctimespec
	}
	return nil
}
