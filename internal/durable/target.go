package durable

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Same reports whether the paths a and b lead to the same file after links are followed. The files need not
// exist.
func Same(a, b string) (bool, error) {
	first, err := resolve(a)
	if err != nil {
		return false, err
	}
	second, err := resolve(b)
	if err != nil || first == second {
		return err == nil, err
	}
	one, err := os.Stat(first)
	if err == nil {
		var other fs.FileInfo
		if other, err = os.Stat(second); err == nil {
			return os.SameFile(one, other), nil // also for hard links
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return false, fmt.Errorf("durable: %w", err)
}

// Within reports whether path is dir or lies below dir after links are followed. It recognises hard links
// and other names of the same file. The paths need not exist.
func Within(path, dir string) (bool, error) {
	at, err := resolve(path)
	if err != nil {
		return false, err
	}
	in, err := resolve(dir)
	if err != nil {
		return false, err
	}
	folder, err := os.Stat(in)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("durable: %w", err)
	}
	for up := at; ; up = filepath.Dir(up) {
		if up == in {
			return true, nil
		}
		if is, err := os.Stat(up); err == nil && folder != nil && os.SameFile(is, folder) {
			return true, nil
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	file, err := os.Stat(at)
	if folder == nil || err != nil || !file.Mode().IsRegular() {
		return false, nil // reading an unreadable file fails later
	}
	linked := false
	err = filepath.WalkDir(in, func(there string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		is, err := os.Stat(there)
		linked = linked || err == nil && os.SameFile(is, file)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("durable: %w", err)
	}
	return linked, nil
}

const maxLinks = 40 // largest number of links that resolve follows, as in operating systems

func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("durable: %w", err)
	}
	for range maxLinks {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil // the folder does not exist
		}
		if err != nil {
			return "", fmt.Errorf("durable: %w", err)
		}
		path = filepath.Join(dir, filepath.Base(path))
		to, err := os.Readlink(path)
		if err != nil { // not a link, or does not exist
			return path, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", fmt.Errorf("durable: %s: too many links", path)
}

// Exists reports whether path exists, without following links.
func Exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("durable: %w", err)
	}
	return true, nil
}

// Writable returns an error if [WriteFile] cannot create a file in the folder of path.
func Writable(path string) error {
	if known, err := nameless(filepath.Dir(path)); err != nil {
		return fmt.Errorf("durable: %w", err)
	} else if known {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), temporary(path, ""))
	if err == nil {
		err = f.Close()
		if gone := os.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) { // another process may have swept the file
			err = errors.Join(err, gone)
		}
	}
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	return nil
}

// Holds reports whether the file at path contains exactly the bytes that the function write produces.
func Holds(path string, write func(io.Writer) error) (bool, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("durable: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("durable: %w", err)
	}
	defer f.Close()
	is, want := sha256.New(), sha256.New()
	if err := write(want); err != nil {
		return false, err
	}
	if _, err := io.Copy(is, f); err != nil {
		return false, nil
	}
	return bytes.Equal(is.Sum(nil), want.Sum(nil)), nil
}
