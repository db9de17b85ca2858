// Package durable writes files that are either wholly there or not there at all, even after a crash or on a
// full disk.
package durable

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile writes a file at path: all or nothing. It calls write with a buffered writer on a temporary
// file beside path, syncs that file, renames it to path and syncs the folder. On any error before the
// rename, path stays as it was and the temporary file is removed. Only its owner can read the file until
// the rename.
func WriteFile(path string, mode os.FileMode, write func(io.Writer) error) error {
	return writeFile(path, temporary(path, ""), mode, write)
}

func writeFile(path, pattern string, mode os.FileMode, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := KeepPrivate(f.Name()); err != nil { // before anything is in it
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	for _, step := range []func() error{w.Flush, func() error { return f.Chmod(mode) }, f.Sync, f.Close} {
		if err := step(); err != nil {
			return fmt.Errorf("durable: %w", err)
		}
	}
	if mode&0o044 != 0 {
		if err := share(f.Name()); err != nil {
			return err
		}
	}
	if err := rename(f.Name(), path); err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	return SyncDir(dir)
}

// WriteBytes writes data to a file as [WriteFile] does.
func WriteBytes(path string, mode os.FileMode, data []byte) error {
	return WriteFile(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
