//go:build unix

package dataset

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/testkit"
)

func TestPipesAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	assert.ErrorContains(t, testkit.Err(ReadTable(path, CSVOptions{Header: HeaderNo})), "no regular file")
	assert.ErrorContains(t, testkit.Err(Open(path, Options{})), "no regular file")
}
