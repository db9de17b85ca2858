package ledger

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

var errDisk = errors.New("disk full")

// failing fails once, after half of a write or at a sync, and then works again.
type failing struct {
	store
	write, sync, truncate bool
}

func (f *failing) WriteAt(p []byte, off int64) (int, error) {
	if f.write {
		f.write = false
		n, _ := f.store.WriteAt(p[:len(p)/2], off)
		return n, errDisk
	}
	return f.store.WriteAt(p, off)
}

func (f *failing) Sync() error {
	if f.sync {
		f.sync = false
		return errDisk
	}
	return f.store.Sync()
}

func (f *failing) Truncate(size int64) error {
	if f.truncate {
		return errDisk
	}
	return f.store.Truncate(size)
}

// TestAFailedAppendStopsTheLedger: an append after half a line would make one corrupt line of two, one
// after a failed sync might be all that reaches the disk.
func TestAFailedAppendStopsTheLedger(t *testing.T) {
	for name, fault := range map[string]failing{
		"write": {write: true}, "sync": {sync: true}, "write that cannot be undone": {write: true, truncate: true},
	} {
		for _, at := range []string{"reserve", "commit", "begin"} {
			t.Run(name+" at "+at, func(t *testing.T) {
				cfg := testConfig
				cfg.Run = "r"
				if at == "commit" {
					cfg.Mode = Filter // or the commit would seal first
				}
				m := &memory{}
				l, err := openStore(m, cfg, VerifyOptions{})
				require.NoError(t, err)
				r := testkit.Must(l.Reserve(votes(5)))
				before := bytes.Clone(m.data)
				fault := fault
				fault.store = l.file.store
				l.file.store = &fault
				switch at {
				case "reserve":
					_, err = l.Reserve(votes(6))
				case "commit":
					err = l.Commit(r, []byte("y"))
				case "begin":
					err = r.Begin(votes(5), Use{Secret: true})
				}
				require.ErrorIs(t, err, ErrBroken)
				require.ErrorIs(t, err, errDisk)
				if name == "write" {
					require.Equal(t, string(before), string(m.data), "half a line is taken back")
				}
				after := bytes.Clone(m.data)
				require.ErrorIs(t, testkit.Err(l.Reserve(votes(7))), ErrBroken)
				require.ErrorIs(t, r.Begin(votes(5), Use{Secret: true}), ErrBroken)
				require.ErrorIs(t, l.Commit(r, []byte("y")), ErrBroken)
				require.Equal(t, string(after), string(m.data), "nothing is written after the failure")
				require.NoError(t, l.Close())

				l = testkit.Must(openStore(m, cfg, VerifyOptions{})) // opening again reads what is there
				require.Positive(t, testkit.Must(l.Epsilon()))
			})
		}
	}
}

func TestAClosedLedgerChargesNothing(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "ledger.jsonl")} {
		l, err := New(testConfig)
		if path != "" {
			l, err = Open(t.Context(), path, testConfig, VerifyOptions{})
		}
		require.NoError(t, err)
		r := testkit.Must(l.Reserve(votes(5)))
		require.NoError(t, l.Close())
		require.ErrorIs(t, testkit.Err(l.Reserve(votes(5))), os.ErrClosed)
		require.ErrorIs(t, l.Commit(r, nil), os.ErrClosed)
		require.ErrorIs(t, r.Begin(votes(5), Use{Secret: true}), os.ErrClosed)
		require.ErrorIs(t, testkit.Err(l.Run("a")), os.ErrClosed)
		require.NoError(t, l.Close())
	}
}

func TestAFullDevice(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip(err)
	}
	dev := testkit.Must(os.OpenFile(full, os.O_RDWR, 0))
	defer dev.Close()
	_, err := openStore(device{dev}, testConfig, VerifyOptions{})
	require.ErrorIs(t, err, ErrBroken)
	require.ErrorIs(t, err, syscall.ENOSPC)
}

type device struct{ *os.File }

func (d device) Size() (int64, error)                     { return 0, nil }
func (d device) Sync() error                              { return nil }
func (d device) SyncFolder() error                        { return nil }
func (d device) WriteAt(p []byte, off int64) (int, error) { return d.Write(p) }
func (d device) ReadAt(p []byte, off int64) (int, error)  { return d.Read(p) }

func TestAReadOnlyFileChargesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	whole := sample(t, filterConfig())
	require.NoError(t, os.WriteFile(path, whole, 0o400))
	open := func() (*Ledger, error) { return Open(t.Context(), path, filterConfig(), VerifyOptions{}) }
	if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil { // this user may write any file
		f.Close()
		open = func() (*Ledger, error) {
			f := testkit.Must(lockedfile.Open(path))
			t.Cleanup(func() { f.Close() })
			return openStore(disk{f, path}, filterConfig(), VerifyOptions{})
		}
	}
	l, err := open()
	if err == nil {
		_, err = l.Reserve(votes(1))
		require.ErrorIs(t, err, ErrBroken)
	} else {
		require.True(t, errors.Is(err, os.ErrPermission) || errors.Is(err, syscall.EBADF), "%v", err)
	}
	after := testkit.Must(os.ReadFile(path))
	require.Equal(t, string(whole), string(after))
	testkit.Must(verify(after)) // it may still be verified
}

func TestWhatALedgerSaysOfItself(t *testing.T) {
	m := &memory{}
	cfg := filterConfig()
	cfg.Data, cfg.Noise, cfg.Orders = "sha256:01", SecretNoise, []float64{8, math.Inf(1)}
	l := testkit.Must(openStore(m, cfg, VerifyOptions{}))
	require.Equal(t, cfg, l.Config())
	require.Equal(t, votes(5), testkit.Must(l.Reserve(votes(5))).Event())
	s := testkit.Must(verify(m.data))
	require.Equal(t, cfg, s.Config)
	require.Equal(t, l.Head(), s.Head)
	require.Equal(t, l.Left(), s.Left)
	require.Equal(t, l.Schedule(), s.Schedule)
	require.Contains(t, s.Library, "github.com/pate-go/pate ")
	require.Equal(t, cfg, testkit.Must(ReadConfig(bytes.NewReader(m.data))))
	for _, bad := range []string{"", "x", "x\n"} {
		require.ErrorIs(t, testkit.Err(ReadConfig(strings.NewReader(bad))), ErrCorrupt)
	}
	l = testkit.Must(New(testConfig))
	require.Zero(t, l.Head())
}

func TestManyDifferentEvents(t *testing.T) {
	m := &memory{}
	cfg := roomy(Filter)
	cfg.Orders = []float64{8}
	l := testkit.Must(openStore(m, cfg, VerifyOptions{}))
	want := 0.0
	for round := range 2 {
		events := make([]accountant.Event, maxCurves+50)
		for i := range events {
			sigma := 100 + float64(i)
			events[i] = accountant.GNMax{Sigma: sigma}
			want += 8 / (sigma * sigma)
		}
		testkit.Must(l.ReserveBatch(events))
		require.InEpsilon(t, want, l.chain.balance.divergence(0, 0), 1e-9, "round %d", round)
	}
	s := testkit.Must(verify(m.data))
	require.Len(t, s.Schedule.Events, maxCurves+50)
	require.InEpsilon(t, want, s.balance.divergence(0, 0), 1e-9)
}

func TestATornLastLine(t *testing.T) {
	filter, run := filterConfig(), filterConfig()
	run.Run = "r"
	for name, c := range map[string]struct {
		cfg   Config
		named bool
	}{"no run": {cfg: filter}, "run": {cfg: run}, "named run": {filter, true}} {
		l, m := fileOf(t, c.cfg)
		reserve := func(l *Ledger, n int64) (*Reservation, error) {
			if !c.named {
				return l.Reserve(votes(n))
			}
			r, err := l.Run("a")
			if err != nil {
				return nil, err
			}
			first, err := r.Reserve(votes(5))
			if err != nil || n == 5 {
				return first, err
			}
			return r.Reserve(votes(n))
		}
		require.NoError(t, l.Commit(testkit.Must(reserve(l, 5)), []byte("x")))
		base := testkit.Must(l.Epsilon())
		start := len(m.data)
		l.open = map[string]bool{}
		testkit.Must(reserve(l, 7))
		full := testkit.Must(l.Epsilon())
		whole := bytes.Clone(m.data)
		event := start + bytes.Index(whole[start:], []byte(`,"epsilon"`))
		for cut := start + 1; cut < len(whole); cut++ {
			m := &memory{data: bytes.Clone(whole[:cut])}
			s := testkit.Must(verify(m.data))
			require.NotEmpty(t, s.Torn)
			l := testkit.Must(openStore(m, c.cfg, VerifyOptions{}))
			total := testkit.Must(l.Epsilon())
			require.Equal(t, s.Epsilon, total, "verify counts as opening does")
			switch {
			case cut >= event: // it says its event
				require.Equal(t, full, total, "%s: cut at %d", name, cut)
				require.Equal(t, string(whole), string(m.data))
			case c.named, c.cfg.Run != "":
				require.Equal(t, base, total, "%s: cut at %d", name, cut)
				require.Equal(t, string(whole[:start]), string(m.data))
				if c.cfg.Run != "" {
					testkit.Must(l.Reserve(votes(5)))
				}
				testkit.Must(reserve(l, 7))
				require.Equal(t, string(whole), string(m.data), "the same program writes the same")
			default:
				require.Equal(t, c.cfg.Epsilon, total, "%s: cut at %d", name, cut)
				require.Zero(t, l.Left())
				require.ErrorIs(t, testkit.Err(l.Reserve(votes(1))), ErrBudgetExceeded)
				s := testkit.Must(verify(m.data))
				require.True(t, s.Exhausted)
				require.Empty(t, s.Torn)
			}
		}
	}
}

func TestATornCommitLeavesTheReservation(t *testing.T) {
	l, m := fileOf(t, filterConfig())
	header := len(m.data)
	r := testkit.Must(l.Reserve(votes(5)))
	reserved := len(m.data)
	require.NoError(t, l.Commit(r, []byte("x")))
	whole := m.data
	kind := len(`{"line":3,"c`)
	for cut := reserved + kind; cut < len(whole); cut++ {
		m := &memory{data: bytes.Clone(whole[:cut])}
		require.False(t, testkit.Must(openStore(m, filterConfig(), VerifyOptions{})).chain.exhausted)
		want := reserved
		if cut == len(whole)-1 { // the newline alone is missing
			want = len(whole)
		}
		require.Equal(t, string(whole[:want]), string(m.data))
	}
	for cut := 1; cut < header; cut++ {
		m := &memory{data: bytes.Clone(whole[:cut])}
		if cut < header-1 {
			require.ErrorContains(t, testkit.Err(verify(m.data)), "has no ledger")
		}
		testkit.Must(openStore(m, filterConfig(), VerifyOptions{}))
		made := testkit.Must(verify(m.data))
		require.EqualValues(t, 1, made.Head.Lines)
		require.NotEmpty(t, made.ID)
	}
}

func TestRunsOnASharedLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	cfg := filterConfig()
	event := accountant.GNMax{Sigma: 100}
	play := func(names ...string) (entries []int64) {
		l := testkit.Must(Open(t.Context(), path, cfg, VerifyOptions{}))
		defer l.Close()
		runs := map[string]*Run{}
		for _, name := range names {
			if runs[name] == nil {
				runs[name] = testkit.Must(l.Run(name))
				require.ErrorContains(t, testkit.Err(l.Run(name)), "open already")
			}
			r := testkit.Must(runs[name].Reserve(event))
			require.NoError(t, r.Begin(event, Use{Secret: true}))
			require.NoError(t, l.Commit(r, []byte(name)))
			entries = append(entries, r.Entry())
		}
		return entries
	}
	require.Equal(t, []int64{1, 2, 3, 4}, play("a", "b", "a", "b"))
	require.Equal(t, []int64{1, 3, 5}, play("a", "a", "a"))
	require.Equal(t, []int64{2, 4, 6, 1, 3, 5, 7}, play("b", "b", "b", "a", "a", "a", "a"))
	f := testkit.Must(os.Open(path))
	defer f.Close()
	var runs []string
	s := testkit.Must(Verify(f, VerifyOptions{Entry: func(e Entry) error {
		runs = append(runs, e.Run)
		return nil
	}}))
	require.Equal(t, []string{"a", "b", "a", "b", "a", "b", "a"}, runs)
	require.EqualValues(t, 7, s.Commits)
	require.True(t, s.Committed(7))
	require.False(t, s.Committed(8))

	l := testkit.Must(Open(t.Context(), path, cfg, VerifyOptions{}))
	defer l.Close()
	for _, bad := range []string{"", "\xff", string(make([]byte, maxText+1))} {
		require.Error(t, testkit.Err(l.Run(bad)))
	}
	r := testkit.Must(l.Run("a"))
	require.EqualValues(t, 4, r.Recorded())
	_, err := r.ReserveBatch([]accountant.Event{event, event, event, event, accountant.GNMax{Sigma: 1}})
	require.ErrorIs(t, err, ErrBudgetExceeded)
	require.EqualValues(t, 4, r.Recorded(), "none of a refused batch was handed out")
	got := testkit.Must(r.ReserveBatch([]accountant.Event{event, event, event, event, event}))
	require.EqualValues(t, 8, got[4].Entry())
}

func TestBatchesAreAllOrNothing(t *testing.T) {
	l, m := fileOf(t, filterConfig())
	before := bytes.Clone(m.data)
	spent := testkit.Must(l.Epsilon())
	_, err := l.ReserveBatch([]accountant.Event{votes(5), votes(7), votes(100000)})
	require.ErrorIs(t, err, ErrBudgetExceeded)
	_, err = l.ReserveBatch([]accountant.Event{votes(5), accountant.GNMax{Sigma: -1}})
	require.ErrorIs(t, err, accountant.ErrInvalidEvent)
	require.Equal(t, string(before), string(m.data))
	require.Empty(t, l.Schedule().Events)
	require.Equal(t, spent, testkit.Must(l.Epsilon()))
	r := testkit.Must(l.ReserveBatch([]accountant.Event{votes(5), votes(5)}))
	require.Equal(t, []accountant.Event{accountant.Repeated{Event: votes(5), Count: 2}}, l.Schedule().Events)

	require.ErrorContains(t, l.CommitBatch([]Outcome{{Of: r[0]}, {Of: r[0]}}), "twice")
	require.ErrorContains(t, testkit.Must(New(filterConfig())).CommitBatch([]Outcome{{Of: r[0]}}), "another ledger")
	require.ErrorContains(t, l.CommitBatch([]Outcome{{}}), "another ledger")
	require.NoError(t, l.CommitBatch([]Outcome{{Of: r[1], Bytes: []byte("b")}}))
	require.Error(t, l.CommitBatch([]Outcome{{Of: r[0]}, {Of: r[1], Bytes: []byte("c")}}))
	require.EqualValues(t, 1, testkit.Must(verify(m.data)).Commits, "nothing of a refused batch")
	require.NoError(t, l.CommitBatch(nil))
}
