package durable

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Lock takes a lock file, however long that takes, but not beyond ctx. Only its owner can read the file,
// because whoever opens it may hold it.
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

// Wait returns the result of open, unless ctx ends first: then the error begins with waiting, and a later
// result is closed.
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
