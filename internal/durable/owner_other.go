//go:build !unix

package durable

import "io/fs"

// Exposed knows nothing of who may write.
func Exposed(fs.FileInfo) error { return nil }

// Readable knows nothing of who may read.
func Readable(fs.FileInfo) error { return nil }
