package ledger

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

func knowing(heads ...Head) VerifyOptions {
	return VerifyOptions{Heads: func(string) ([]Head, error) { return heads, nil }}
}

// A ledger is compared with the heads that were kept of it before anything is written.
func TestHeadsThatWereKept(t *testing.T) {
	m := &memory{data: sample(t, filterConfig())}
	lines := bytes.SplitAfter(m.data, []byte("\n"))
	l := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
	last := l.Head()
	require.NoError(t, l.Close())
	older := &memory{data: bytes.Join(lines[:3], nil)}
	l = testkit.Must(openStore(older, filterConfig(), VerifyOptions{}))
	first := l.Head()
	require.NoError(t, l.Close())
	require.EqualValues(t, 3, first.Lines)

	for name, c := range map[string]struct {
		file  []byte
		heads []Head
		says  string // "" if it is whole
	}{
		"the last":             {m.data, []Head{last}, ""},
		"an earlier one":       {m.data, []Head{first}, ""},
		"both":                 {m.data, []Head{first, last}, ""},
		"none":                 {m.data, []Head{{}}, ""},
		"another hash":         {m.data, []Head{{first.Lines, last.Hash}}, "is not that of the head"},
		"an older copy":        {older.data, []Head{first, last}, "the file once had"},
		"the very first state": {lines[0], []Head{last}, "the file once had"},
	} {
		t.Run(name, func(t *testing.T) {
			file := &memory{data: bytes.Clone(c.file)}
			l, err := openStore(file, filterConfig(), knowing(c.heads...))
			_, verr := Verify(bytes.NewReader(c.file), knowing(c.heads...))
			if c.says == "" {
				require.NoError(t, err)
				require.NoError(t, verr)
				require.NoError(t, l.Close())
				return
			}
			require.ErrorIs(t, err, ErrCorrupt)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, verr, c.says)
			require.Equal(t, string(c.file), string(file.data), "nothing is written")
		})
	}
	refuse := errors.New("refused")
	file := &memory{data: bytes.Clone(m.data)}
	_, err := openStore(file, filterConfig(), VerifyOptions{Accept: func(s State) error {
		require.Equal(t, State{ID: s.ID, Lines: last.Lines, Entries: 3, Commits: 3}, s)
		require.NotEmpty(t, s.ID)
		return refuse
	}})
	require.ErrorIs(t, err, refuse)
	require.Equal(t, string(m.data), string(file.data))
}

// A header is taken in one form only: each field once, in its own case.
func TestHeadersHaveOneForm(t *testing.T) {
	m := &memory{}
	l, err := openStore(m, filterConfig(), VerifyOptions{})
	require.NoError(t, err)
	text := testkit.Must(l.chain.header.encode())
	made := func(header string) []byte {
		l := line{number: 1, kind: headerLine, text: []byte(header)}
		return append(l.encode(nil), '\n')
	}
	testkit.Must(verify(made(string(text))))
	for _, change := range []struct{ from, to string }{
		{`"epsilon":2`, `"epsilon":2,"epsilon":200`},
		{`"epsilon":2`, `"Epsilon":2`},
		{`"epsilon":2`, `"epsilon":2.0`},
		{`"noise":""`, `"noise":"","noise":"secret"`},
		{`"id":"`, `"id":"0`},
		{`"id":"` + l.chain.id + `"`, `"id":""`},
		{`{"unit"`, `{ "unit"`},
	} {
		require.Contains(t, string(text), change.from)
		_, err = verify(made(strings.Replace(string(text), change.from, change.to, 1)))
		require.ErrorIs(t, err, ErrCorrupt, change.to)
	}
}

// On a file system whose locks hold nobody out, what somebody else has written is found before and after
// every append, and nothing is built on it.
func TestAppendsOfOthersAreFound(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		m := &memory{}
		first := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
		second := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
		testkit.Must(first.Reserve(votes(1)))
		_, err := second.Reserve(votes(1))
		require.ErrorIs(t, err, ErrBroken)
		require.ErrorIs(t, err, errShared)
		s := testkit.Must(verify(m.data))
		require.EqualValues(t, 1, s.Entries)
	})
	t.Run("at the same time", func(t *testing.T) {
		m := &overwritten{}
		l := testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
		m.with = []byte("{")
		require.ErrorIs(t, testkit.Err(l.Reserve(votes(1))), errShared)
	})
}

// overwritten is a store to which somebody else writes between a write and its sync.
type overwritten struct {
	memory
	with []byte
}

func (o *overwritten) Sync() error {
	if o.with != nil {
		copy(o.data[len(o.data)-20:], o.with)
	}
	return nil
}

// Try says what Reserve would, and changes nothing.
func TestTry(t *testing.T) {
	for _, cfg := range []Config{testConfig, filterConfig()} {
		l := testkit.Must(Open(t.Context(), filepath.Join(t.TempDir(), "ledger.jsonl"), cfg, VerifyOptions{}))
		defer l.Close()
		testkit.Must(l.Reserve(votes(3)))
		before, state := l.Left(), l.Head()
		require.NoError(t, l.Try(votes(2), accountant.Gaussian{NoiseMultiplier: 20}))
		wide := accountant.Gaussian{NoiseMultiplier: 0.1}
		tried := l.Try(votes(2), wide)
		require.ErrorIs(t, tried, ErrBudgetExceeded)
		require.Equal(t, before, l.Left())
		require.Equal(t, state, l.Head())
		_, err := l.ReserveBatch([]accountant.Event{votes(2), wide})
		require.Equal(t, err, tried)
		require.Equal(t, before, l.Left())
	}
}

// The file is compared with heads while the file is locked.
func TestHeadsAreReadUnderTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l := testkit.Must(Open(t.Context(), path, filterConfig(), VerifyOptions{}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	asked := make(chan bool, 1)
	_, err := Open(ctx, path, filterConfig(), VerifyOptions{Heads: func(string) ([]Head, error) {
		asked <- true
		return nil, nil
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, asked, "it is not ours")
	require.NoError(t, l.Close())
	<-asked
}
