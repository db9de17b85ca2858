// Package durable writes files atomically: a file is complete or absent, even after a crash or a full disk.
package durable

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// WriteFile writes a file atomically. The function `write` fills a temporary file next to path, readable only
// for the owner. WriteFile then sets the mode, syncs the file, renames it to path and syncs the folder. On an
// error before the rename, path is unchanged and the temporary file is removed.
func WriteFile(path string, mode os.FileMode, write func(io.Writer) error) error {
	return WriteTagged(path, "", mode, write)
}

// WriteTagged is [WriteFile] with the argument `tag` in the name of the temporary file. [Sweep] removes
// temporary files by their tag.
func WriteTagged(path, tag string, mode os.FileMode, write func(io.Writer) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, temporary(path, tag))
	if err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := KeepPrivate(f.Name()); err != nil { // while the file is empty
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

func WriteBytes(path string, mode os.FileMode, data []byte) error {
	return WriteFile(path, mode, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Lock locks the file at path until unlock is called. Lock waits until no other process holds the lock, or
// until ctx is done. A new file has mode 0600, because any process that can open the file can hold the lock.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := Wait(ctx, "durable: waiting for another process to leave the folder", func() (*lockedfile.File, error) {
		f, err := lockedfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("durable: %w", err)
		}
		return f, nil
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil // nothing was written
}

// Wait calls open and returns the result of open. If ctx is done first, Wait returns ctx.Err() with the
// prefix `waiting`. If open succeeds later, the result of open is closed.
func Wait[T io.Closer](ctx context.Context, waiting string, open func() (T, error)) (T, error) {
	var opened, none T
	done := make(chan error, 1)
	go func() {
		var err error
		opened, err = open()
		done <- err
	}()
	select {
	case err := <-done:
		return opened, err
	case <-ctx.Done():
		go func() {
			if <-done == nil {
				opened.Close()
			}
		}()
		return none, fmt.Errorf("%s: %w", waiting, ctx.Err())
	}
}

// Sweep removes the temporary files for path that [WriteTagged] made with the argument tag. No other process
// may write files with this tag at the same time. Errors are ignored.
func Sweep(path, tag string) {
	before, after, _ := strings.Cut(temporary(path, tag), "*")
	sweep(filepath.Dir(path), func(name string) (random string) {
		random, ours := strings.CutPrefix(name, before)
		random, ends := strings.CutSuffix(random, after)
		if !ours || !ends {
			return ""
		}
		return random
	})
}

// SweepFolder removes all temporary files of this package in the folder dir. No process may write to the
// folder at the same time. Errors are ignored.
func SweepFolder(dir string) {
	sweep(dir, func(name string) (random string) {
		name, ours := strings.CutSuffix(name, ".tmp")
		dot := strings.LastIndexByte(name, '.')
		if !ours || dot <= 0 || name[0] != '.' {
			return ""
		}
		return name[dot+1:]
	})
}

func sweep(dir string, random func(name string) string) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return // a later write will fail
	}
	for _, f := range found {
		if r := random(f.Name()); r != "" && strings.Trim(r, "0123456789") == "" {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

func temporary(path, tag string) string {
	if tag != "" {
		tag = "." + tag
	}
	return "." + strings.ReplaceAll(filepath.Base(path), "*", "_") + strings.ReplaceAll(tag, "*", "_") + ".*.tmp"
}
