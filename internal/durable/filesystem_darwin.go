package durable

import (
	"io/fs"
	"syscall"
)

// statusTime returns the time at which a file's contents or attributes last changed, or nil if the time is
// unknown. Users cannot set this time.
func statusTime(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctimespec
	}
	return nil
}
