package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrExposed matches the error for a secret file that another user could have read or written.
var ErrExposed = errors.New("durable: not this user's alone")

const mostSecret = 1 << 16

// ReadSecret reads a regular file that only the owner can read and write. If the file is not regular, or if
// other users can open or own the file, the error matches [ErrExposed]. A file above 64 KiB is an error.
func ReadSecret(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no regular file", ErrExposed, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	opened, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, opened) {
		return nil, fmt.Errorf("%w: %s was replaced while it was opened", ErrExposed, path)
	}
	if err := errors.Join(Exposed(path, opened), Readable(path, opened)); err != nil {
		return nil, fmt.Errorf("%w: %s %w", ErrExposed, path, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, mostSecret+1))
	if err == nil && len(text) > mostSecret {
		err = fmt.Errorf("durable: %s has more than %d bytes", path, mostSecret)
	}
	return text, err
}

// PrivateFolder makes a folder for secrets, and missing parent folders. If the folder exists, it must
// belong to this user, must not be writable for other users, and must not be a link.
func PrivateFolder(path string) error {
	if err := MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%w: %s is no folder", ErrExposed, path)
	}
	if err := Exposed(path, info); err != nil {
		return fmt.Errorf("%w: %s %w", ErrExposed, path, err)
	}
	return nil
}

// StateFolder returns the path of this user's folder for the last states of ledgers and journals.
func StateFolder() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(base) { // the XDG specification ignores relative paths
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("durable: %w", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "pate", "ledgers"), nil
}

// MkdirAll is [os.MkdirAll], but returns only when the names of the new folders are on disk.
func MkdirAll(path string, mode os.FileMode) error {
	var made []string // innermost first
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		_, err := os.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		made = append(made, dir)
	}
	if err := os.MkdirAll(path, mode); err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	for _, dir := range made {
		if mode&0o077 == 0 {
			if err := KeepPrivate(dir); err != nil {
				return err
			}
		}
		if err := SyncDir(filepath.Dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// OpenRegular opens a regular file for reading. It refuses other kinds, because opening a pipe can block.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder", path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return os.Open(path)
}

// Unchanged reports whether two Stat results describe one file that was not written between the calls.
// Unchanged compares sizes, modification times and, if known, attribute change times.
func Unchanged(was, is fs.FileInfo) bool {
	return os.SameFile(was, is) && is.Size() == was.Size() && is.ModTime().Equal(was.ModTime()) &&
		statusTime(was) == statusTime(is)
}
