package ledger

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
)

var testConfig = Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5}

func votes(n int64) accountant.Event {
	return accountant.Repeated{Event: accountant.GNMax{Sigma: 40}, Count: n}
}

var errDisk = errors.New("disk full")

// failing is a file that fails once, after half of a write or at a sync, and
// then works again.
type failing struct {
	store
	write, sync bool
}

func (f *failing) Write(p []byte) (int, error) {
	if f.write {
		f.write = false
		n, _ := f.store.Write(p[:len(p)/2])
		return n, errDisk
	}
	return f.store.Write(p)
}

func (f *failing) Sync() error {
	if f.sync {
		f.sync = false
		return errDisk
	}
	return f.store.Sync()
}

// TestAFailedAppendStopsTheLedger: an append after half a line would make one
// corrupt line of two, one after a failed sync might be all that reaches the disk.
func TestAFailedAppendStopsTheLedger(t *testing.T) {
	for name, fault := range map[string]failing{"write": {write: true}, "sync": {sync: true}} {
		for _, at := range []string{"reserve", "commit"} {
			t.Run(name+" at "+at, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "ledger.jsonl")
				cfg := testConfig
				cfg.Run = "r"
				l, err := Open(path, cfg)
				require.NoError(t, err)
				committed, err := l.Reserve(votes(5))
				require.NoError(t, err)
				require.NoError(t, l.Commit(committed, []byte("x")))
				_, err = l.Reserve(votes(5))
				require.NoError(t, err)
				require.NoError(t, l.Close())

				l, err = Open(path, cfg)
				require.NoError(t, err)
				again, err := l.Reserve(votes(5)) // of an earlier session; one more is left
				require.NoError(t, err)
				var open *Reservation
				fault := fault
				fault.store = l.file.f
				l.file.f = &fault
				if at == "reserve" {
					open, err = l.Reserve(votes(5))
					require.NoError(t, err)
					_, err = l.Reserve(votes(6))
				} else {
					second, reserveErr := l.Reserve(votes(5))
					require.NoError(t, reserveErr)
					open = second
					err = l.Commit(second, []byte("y"))
				}
				require.ErrorIs(t, err, ErrBroken)
				require.ErrorIs(t, err, errDisk)
				after, readErr := os.ReadFile(path)
				require.NoError(t, readErr)

				_, err = l.Reserve(votes(7))
				require.ErrorIs(t, err, ErrBroken)
				require.ErrorIs(t, l.Commit(open, []byte("y")), ErrBroken)
				require.ErrorIs(t, l.Commit(again, []byte("x")), ErrBroken, "also what is on disk already")
				now, err := os.ReadFile(path)
				require.NoError(t, err)
				require.Equal(t, after, now, "nothing is written after the failure")
				require.NoError(t, l.Close())

				l, err = Open(path, cfg)
				require.NoError(t, err, "opening again reads what is there")
				require.NoError(t, l.Close())
			})
		}
	}
}

func TestABrokenLedgerReplaysNothing(t *testing.T) {
	cfg := testConfig
	cfg.Run = "r"
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l, err := Open(path, cfg)
	require.NoError(t, err)
	for range 2 {
		_, err = l.Reserve(votes(5))
		require.NoError(t, err)
	}
	require.NoError(t, l.Close())
	l, err = Open(path, cfg)
	require.NoError(t, err)
	defer l.Close()
	r, err := l.Reserve(votes(5))
	require.NoError(t, err)
	l.file.f = &failing{store: l.file.f, sync: true}
	require.ErrorIs(t, l.Commit(r, []byte("x")), ErrBroken)
	_, err = l.Reserve(votes(5))
	require.ErrorIs(t, err, ErrBroken)
}

func TestAClosedLedgerChargesNothing(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "ledger.jsonl")} {
		l, err := Open(path, testConfig)
		require.NoError(t, err)
		r, err := l.Reserve(votes(5))
		require.NoError(t, err)
		require.NoError(t, l.Close())
		_, err = l.Reserve(votes(5))
		require.ErrorIs(t, err, os.ErrClosed)
		require.ErrorIs(t, l.Commit(r, nil), os.ErrClosed)
		require.NoError(t, l.Close())
	}
}

// chain writes lines with the right hashes: what a careless editor with this
// package at hand could make.
func chain(t *testing.T, lines ...line) string {
	t.Helper()
	var out strings.Builder
	prev := ""
	for _, l := range lines {
		l.Prev = prev
		text, err := json.Marshal(l)
		require.NoError(t, err)
		out.Write(append(text, '\n'))
		prev = digest(text)
	}
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o600))
	return path
}

func TestALineIsOneOfThreeKinds(t *testing.T) {
	event, err := accountant.MarshalEvent(votes(5))
	require.NoError(t, err)
	total, err := epsilonOf(testConfig, []accountant.Event{votes(5)})
	require.NoError(t, err)
	header := line{Schema: Schema, Config: &testConfig}
	reservation := line{Event: event, Epsilon: total}
	commit := line{Entry: 1, Outcome: "a"}

	l, err := Open(chain(t, header, reservation, commit), testConfig)
	require.NoError(t, err)
	require.NoError(t, l.Close())

	for name, lines := range map[string][]line{
		"committed twice":            {header, reservation, commit, commit},
		"committed otherwise":        {header, reservation, commit, {Entry: 1, Outcome: "b"}},
		"both":                       {header, reservation, {Event: event, Epsilon: total, Entry: 1, Outcome: "a"}},
		"reservation and an entry":   {header, {Event: event, Epsilon: total, Entry: 1}},
		"reservation and an outcome": {header, {Event: event, Epsilon: total, Outcome: "a"}},
		"commit and an epsilon":      {header, reservation, {Entry: 1, Outcome: "a", Epsilon: total}},
		"commit without an outcome":  {header, reservation, {Entry: 1}},
		"commit of nothing":          {header, reservation, {Outcome: "a"}},
		"commit of a later entry":    {header, commit, reservation},
		"nothing":                    {header, {}},
		"header and event":           {{Schema: Schema, Config: &testConfig, Event: event, Epsilon: total}},
		"header and commit":          {{Schema: Schema, Config: &testConfig, Entry: 1, Outcome: "a"}},
		"two headers":                {header, header},
		"no header":                  {reservation},
		"event and config":           {header, {Config: &testConfig, Event: event, Epsilon: total}},
	} {
		l, err := Open(chain(t, lines...), testConfig)
		if err == nil {
			l.Close()
		}
		require.ErrorIs(t, err, ErrCorrupt, name)
	}
}
