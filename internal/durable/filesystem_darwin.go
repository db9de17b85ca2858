package durable

import (
	"io/fs"
	"syscall"
)

func statusTime(info fs.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ctimespec
	}
	return nil
}
