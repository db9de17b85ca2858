package durable

import (
	"io/fs"
	"syscall"
)

// statusTime returns the time of the last change to a file's contents or attributes, or nil if unknown. Users
// cannot set this time.
func statusTime(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctimespec
	}
	return nil
}
