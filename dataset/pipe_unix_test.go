//go:build unix

package dataset

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Opening a pipe waits for a writer, without end.
func TestPipesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := ReadTable(path, CSVOptions{Header: HeaderNo})
	assert.ErrorContains(t, err, "no regular file")
	_, err = Open(path, Options{})
	assert.ErrorContains(t, err, "no regular file")
}
