//go:build !linux && !darwin

package durable

import "io/fs"

// statusTime is unknown here.
func statusTime(fs.FileInfo) any { return nil }
