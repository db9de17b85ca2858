//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/cmd/pate/internal/shell"

	"github.com/pate-go/pate/internal/testkit"
)

// TestPipesAreNotWaitedFor: opening a named pipe waits for a writer, whatever context there is, so
// that one in the place of a file is refused and not opened.
func TestPipesAreNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	votes, salt := filepath.Join(dir, "votes.csv"), filepath.Join(dir, "salt.key")
	require.NoError(t, os.WriteFile(votes, []byte("0,1,1\n1,1,0\n"), 0o600))
	typed(t, shell.ExitDone, "votes", "check", "hash-ids", "--salt", salt, "--new-salt")
	for name, args := range map[string][]string{
		"account":       {"account", pipe},
		"manifest":      {"votes", "check", votes, "--classes", "2", "--manifest", pipe},
		"ids":           {"votes", "check", "hash-ids", pipe, "--salt", salt, "--silo", "a"},
		"salt":          {"votes", "check", "hash-ids", votes, "--salt", pipe, "--silo", "a"},
		"salt of check": {"votes", "check", votes, "--classes", "2", "--manifest", votes, "--salt", pipe},
		"answers":       {"votes", "analyze", votes, "--classes", "2", "--mechanism", "confident", "--threshold", "1", "--sigma1", "1", "--sigma2", "1", "--answers", pipe},
	} {
		t.Run(name, func(t *testing.T) {
			written := make(chan error, 1)
			go func() { // waits for a reader, so that the test fails, and does not hang, where there is one
				w, err := os.OpenFile(pipe, os.O_WRONLY, 0)
				if err == nil {
					_, err = w.WriteString("x\n")
					err = errors.Join(err, w.Close())
				}
				written <- err
			}()
			_, said := typed(t, shell.ExitInvalidInput, args...)
			require.Contains(t, said, "no regular file")
			reader := testkit.Must(os.OpenFile(pipe, os.O_RDWR, 0))
			require.NoError(t, <-written)
			require.NoError(t, reader.Close())
		})
	}
}
