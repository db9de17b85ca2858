//go:build !linux && !darwin

package durable

import "io/fs"

func statusTime(fs.FileInfo) any { return nil }
