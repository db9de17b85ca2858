package fault

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsAreToldOnOneLineAndOnSeveral(t *testing.T) {
	err := fmt.Errorf("reading: %w", &Error{File: "a.csv", Row: 3, What: "has 2 cells", Fix: "fix the row", Check: true, Err: fs.ErrNotExist})
	require.EqualError(t, err, "reading: a.csv: row 3 has 2 cells; fix the row: file does not exist")
	require.ErrorIs(t, err, fs.ErrNotExist)
	words, found := In(err)
	require.True(t, found)
	require.Equal(t, Words{What: "a.csv: row 3 has 2 cells", Why: "file does not exist", Fix: "fix the row", Check: true}, words)
	words, _ = In(&Error{What: "it is full", Why: "it is small", Err: fs.ErrExist})
	require.Equal(t, Words{What: "it is full", Why: "it is small"}, words)
	_, found = In(fs.ErrNotExist)
	require.False(t, found)
}
