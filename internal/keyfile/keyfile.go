// Package keyfile stores the key of a run in a file that only its owner can read. The file exists until the
// run is complete, because an interrupted run needs the key to resume.
package keyfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/rng"
)

const destroyed = '-'

// Read returns the key in a file. ok is false if the file does not exist or the key in it was destroyed. A
// file that other users can read or write is an error (see [durable.ReadSecret]).
func Read(path string) (key rng.Key, ok bool, err error) {
	text, err := durable.ReadSecret(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return key, false, nil
	case err == nil && len(text) > 0 && len(bytes.Trim(text, string(destroyed))) == 0:
		return key, false, nil
	case err == nil:
		err = key.UnmarshalText(text)
	}
	if err != nil {
		return key, false, fmt.Errorf("keyfile: %s: %w", path, err)
	}
	return key, true, nil
}

// Write writes the key to a file with mode 0600, and returns after the file is on disk.
func Write(path string, key rng.Key) error {
	text, err := key.MarshalText()
	if err == nil {
		err = durable.WriteBytes(path, 0o600, text)
	}
	if err != nil {
		return fmt.Errorf("keyfile: %w", err)
	}
	return nil
}

// Destroy overwrites and removes a secret file, if it exists. Copies in snapshots and backups remain.
func Destroy(path string) error {
	is, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && is.Mode().IsRegular() { // do not overwrite the target of a link
		err = overwrite(path)
	}
	err = errors.Join(err, os.Remove(path))
	if err == nil {
		err = durable.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("keyfile: the key of a finished run could not be destroyed: %w", err)
	}
	return nil
}

func overwrite(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.Write(bytes.Repeat([]byte{destroyed}, int(info.Size())))
	}
	return errors.Join(err, f.Sync(), f.Close())
}
