package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

type (
	here  struct{}
	there struct{}
)

func (here) Package() string  { return "here" }
func (there) Package() string { return "there" }

func TestErrorsAreToldOnOneLineAndOnSeveral(t *testing.T) {
	err := fmt.Errorf("reading: %w", &Error[here]{File: "a.csv", Row: 3, What: "has 2 cells", Fix: "fix the row", Check: true, Err: fs.ErrNotExist})
	require.EqualError(t, err, "reading: here: a.csv: row 3 has 2 cells; fix the row: file does not exist")
	require.ErrorIs(t, err, fs.ErrNotExist)
	words, found := In(err)
	require.True(t, found)
	require.Equal(t, Words{What: "a.csv: row 3 has 2 cells", Why: "file does not exist", Fix: "fix the row", Check: true}, words)
	words, _ = In(&Error[there]{What: "it is full", Why: "it is small", Err: fs.ErrExist})
	require.Equal(t, Words{What: "it is full", Why: "it is small"}, words)
	_, found = In(fs.ErrNotExist)
	require.False(t, found)
}

func TestErrorsOfPackagesAreToldApart(t *testing.T) {
	var err error = &Error[here]{What: "is wrong"}
	var own *Error[here]
	var other *Error[there]
	require.True(t, errors.As(err, &own))
	require.False(t, errors.As(err, &other))
}
