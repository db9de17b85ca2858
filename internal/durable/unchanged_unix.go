//go:build linux || darwin

package durable

import (
	"io/fs"
	"syscall"
)

// Unchanged reports whether two looks at a name saw one file that nobody wrote to meanwhile.
func Unchanged(was, is fs.FileInfo) bool {
	before, known := was.Sys().(*syscall.Stat_t)
	after, also := is.Sys().(*syscall.Stat_t)
	return sameContents(was, is) && (!known || also && statusTime(before) == statusTime(after))
}
