package durable

import (
	"context"
	"fmt"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Lock takes a lock file, however long that takes, but not beyond ctx.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	type taken struct {
		unlock func()
		err    error
	}
	done := make(chan taken, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(path).Lock()
		done <- taken{unlock, err}
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
