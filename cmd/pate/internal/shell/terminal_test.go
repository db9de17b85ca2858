package shell

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestInputReadsWhatIsThere(t *testing.T) {
	want := bytes.Repeat([]byte("votes\n"), 20_000)
	for name, in := range map[string]io.Reader{
		"whole": bytes.NewReader(want), "halves": iotest.HalfReader(bytes.NewReader(want)), "end with data": iotest.DataErrReader(bytes.NewReader(want)),
	} {
		i := NewInput(t.Context(), in)
		got, err := io.ReadAll(i)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
		require.False(t, i.Cut(), name)
		require.False(t, i.Terminal(), name)
	}
}

// A silent input holds no command that is to end, and is not read again.
func TestASilentInputEndsWithTheContext(t *testing.T) {
	silent, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	i := NewInput(ctx, silent)
	time.AfterFunc(10*time.Millisecond, cancel)
	for range 2 {
		n, err := i.Read(make([]byte, 8))
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, n)
		require.True(t, i.Cut())
	}
}
