package durable

import (
	"context"
	"fmt"
	"os"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Lock takes a lock file, however long that takes, but not beyond ctx. Its owner alone can read the file:
// whoever opens it may hold it.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	type taken struct {
		unlock func()
		err    error
	}
	done := make(chan taken, 1)
	go func() {
		f, err := lockedfile.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		done <- taken{func() { _ = f.Close() }, err} // nothing was written
	}()
	select {
	case t := <-done:
		if t.err != nil {
			return nil, fmt.Errorf("durable: %w", t.err)
		}
		return t.unlock, nil
	case <-ctx.Done():
		go func() { // give it back when it comes after all
			if t := <-done; t.err == nil {
				t.unlock()
			}
		}()
		return nil, fmt.Errorf("durable: waiting for another process to leave the folder: %w", ctx.Err())
	}
}
