package durable

import (
	"io/fs"
	"syscall"
)

// statusTime returns when a file or its attributes last changed, which users cannot set; nil if unknown.
func statusTime(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctimespec
	}
	return nil
}
