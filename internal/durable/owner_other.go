//go:build !unix && !windows

package durable

import (
	"errors"
	"io/fs"
)

// errUnknown refuses secrets on systems whose permissions this package does not support.
var errUnknown = errors.New("may be open to others: on this system nothing tells who may read and write it")

// Exposed refuses: the permissions are unknown.
func Exposed(string, fs.FileInfo) error { return errUnknown }

// Readable refuses: the permissions are unknown.
func Readable(string, fs.FileInfo) error { return errUnknown }

// KeepPrivate does nothing.
func KeepPrivate(string) error { return nil }

func share(string) error { return nil }
