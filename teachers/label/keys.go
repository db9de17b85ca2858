package label

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/durable"
)

// IDFile is the name of the secret under which the ledger at a path identifies
// votes. It stays for good: without it nothing can be recognised, and nothing more
// is released under the ledger.
func IDFile(ledger string) string { return ledger + ".id" }

// keyFile is the name of the key of an unfinished run.
func keyFile(ledger string, id identity) string { return ledger + "." + id.tag() + ".key" }

// destroyed is what a key is overwritten with.
const destroyed = '-'

// readKey reads a key, if its file is there and is not one that somebody was
// killed destroying.
func readKey(path string) (key aggregate.Key, ok bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return key, false, nil
	}
	if err == nil && len(text) > 0 && len(bytes.Trim(text, string(destroyed))) == 0 {
		return key, false, nil
	}
	if err == nil {
		err = key.UnmarshalText(text)
	}
	if err != nil {
		return key, false, fmt.Errorf("label: the secret in %s: %w", path, err)
	}
	return key, true, nil
}

// writeKey returns when the key is on disk, for its owner alone.
func writeKey(path string, key aggregate.Key) error {
	text, err := key.MarshalText()
	if err == nil {
		err = durable.WriteBytes(path, 0o600, text)
	}
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	return nil
}

// destroy overwrites and removes a key.
func destroy(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil {
			_, err = f.Write(bytes.Repeat([]byte{destroyed}, int(info.Size())))
		}
		err = errors.Join(err, f.Sync(), f.Close())
	}
	err = errors.Join(err, os.Remove(path))
	if err == nil {
		err = durable.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return fmt.Errorf("label: the key of the finished run could not be destroyed: %w", err)
	}
	return nil
}

// public is a name for a key, or for what it was derived with, that tells nothing
// about it: keys are derived one way.
func public(key aggregate.Key) (string, error) {
	text, err := key.Derive("label public name").MarshalText()
	if err != nil {
		return "", fmt.Errorf("label: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
