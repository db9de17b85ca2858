//go:build !windows

package durable

import (
	"fmt"
	"os"
)

func rename(from, to string) error { return os.Rename(from, to) }

// SyncDir flushes the entries of a directory to disk.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("durable: sync folder %s: %w", dir, err)
	}
	return nil
}

// Unnamed makes a temporary file with mode 0600 and removes its name. If the removal fails, named is true,
// and the caller must remove the file.
func Unnamed(pattern string) (f *os.File, named bool, err error) {
	if f, err = os.CreateTemp("", pattern); err != nil { // mode 0600
		return nil, false, err
	}
	return f, os.Remove(f.Name()) != nil, nil
}
