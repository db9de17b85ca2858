package durable_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/testkit"
)

// TestSameSeesThroughLinks compares one file with another spelling, a link, a link to its folder and a hard
// link, and also names of a file that does not exist yet.
func TestSameSeesThroughLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(name ...string) string { return filepath.Join(append([]string{dir}, name...)...) }
	require.NoError(t, os.Mkdir(at("sub"), 0o700))
	require.NoError(t, os.WriteFile(at("votes"), nil, 0o600))
	require.NoError(t, os.WriteFile(at("other"), nil, 0o600))
	require.NoError(t, os.Symlink("votes", at("link")))
	require.NoError(t, os.Symlink(dir, at("sub", "up")))
	require.NoError(t, os.Symlink("new", at("dangling")))
	require.NoError(t, os.Symlink("loop", at("loop")))
	require.NoError(t, os.Link(at("votes"), at("hard")))
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{at("votes"), dir + "/sub/../votes", true},
		{at("votes"), at("link"), true},
		{at("votes"), at("sub", "up", "votes"), true},
		{at("votes"), at("hard"), true},
		{at("votes"), at("other"), false},
		{at("new"), at("sub", "up", "new"), true},
		{at("new"), at("dangling"), true},
		{at("new"), at("votes"), false},
		{at("none", "x"), at("none", "x"), true},
		{at("none", "x"), at("votes"), false},
	} {
		for range 2 {
			same := testkit.Must(durable.Same(tc.a, tc.b))
			require.Equal(t, tc.same, same, "%s %s", tc.a, tc.b)
			tc.a, tc.b = tc.b, tc.a
		}
	}
	require.Error(t, testkit.Err(durable.Same(at("loop"), at("votes"))))
	there := testkit.Must(durable.Exists(at("dangling")))
	require.True(t, there)
	require.NoError(t, durable.Writable(at("sub", "x")))
	require.NoFileExists(t, at("sub", "x"))
	require.Error(t, durable.Writable(at("none", "x")))
}

func TestHoldsIsExact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := bytes.Repeat([]byte("0123456789"), 1000)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	pieces := func(text []byte) func(io.Writer) error {
		return func(w io.Writer) error {
			for len(text) > 0 {
				n := min(7, len(text))
				if _, err := w.Write(text[:n]); err != nil {
					return err
				}
				text = text[n:]
			}
			return nil
		}
	}
	changed := bytes.Clone(text)
	changed[len(text)-1]++
	for _, tc := range []struct {
		text []byte
		want bool
	}{{text, true}, {text[1:], false}, {text[:len(text)-1], false}, {append(bytes.Clone(text), 'x'), false}, {changed, false}, {nil, false}} {
		holds := testkit.Must(durable.Holds(path, pieces(tc.text)))
		require.Equal(t, tc.want, holds)
	}
	failed := errors.New("no votes")
	require.ErrorIs(t, testkit.Err(durable.Holds(path, func(io.Writer) error { return failed })), failed)
	holds := testkit.Must(durable.Holds(path+"2", pieces(text)))
	require.False(t, holds)
}
