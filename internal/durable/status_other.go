//go:build !linux && !darwin

package durable

import "io/fs"

// statusTime is unknown on this system.
func statusTime(fs.FileInfo) any { return nil }
