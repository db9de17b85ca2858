package durable

import (
	"io/fs"
	"syscall"
)

// statusTime returns the time of the last change of a file or its attributes, or nil. Users cannot set it.
func statusTime(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctimespec
	}
	return nil
}
