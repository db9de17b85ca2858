package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
)

// killed is what a faulty disk panics with.
type killed struct{ power bool }

// operation changed the file since it was synced.
type operation struct {
	data []byte // written at off, or nil
	off  int64  // of the write, or the size it was cut to
}

func (o operation) apply(data []byte, n int) []byte {
	if o.data == nil {
		if grow := int(o.off) - len(data); grow > 0 {
			return append(data, make([]byte, grow)...)
		}
		return data[:o.off]
	}
	if grow := int(o.off) + n - len(data); grow > 0 {
		data = append(data, make([]byte, grow)...)
	}
	copy(data[o.off:], o.data[:n])
	return data
}

// faultyDisk is a file as processes see it, and as it is after the power was
// lost: what was synced, and of the rest whatever the disk got round to. One of
// its calls goes wrong.
type faultyDisk struct {
	rnd     *rand.Rand
	now     []byte
	synced  []byte
	named   bool // the folder was synced
	pending []operation

	calls int // until the fault; below 0 none comes
}

// fault says whether this call goes wrong, and kills the process if it is to go
// that way.
func (d *faultyDisk) fault() bool {
	d.calls--
	if d.calls != -1 {
		return false
	}
	switch d.rnd.IntN(3) {
	case 0:
		panic(killed{power: false})
	case 1:
		panic(killed{power: true})
	}
	return true
}

// after is fault, once the call has done what it does.
func (d *faultyDisk) after() error {
	if d.fault() {
		return syscall.EIO
	}
	return nil
}

func (d *faultyDisk) do(o operation, n int) {
	if o.data != nil {
		o.data = bytes.Clone(o.data[:n])
	}
	d.now = o.apply(d.now, n)
	d.pending = append(d.pending, o)
}

func (d *faultyDisk) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(d.now).ReadAt(p, off)
}

func (d *faultyDisk) Size() (int64, error) { return int64(len(d.now)), nil }

func (d *faultyDisk) WriteAt(p []byte, off int64) (int, error) {
	if d.fault() {
		n := d.rnd.IntN(len(p) + 1)
		d.do(operation{p, off}, n)
		return n, syscall.ENOSPC
	}
	if d.calls == 0 { // the next call is the fault: sometimes in the middle of this one
		if n := d.rnd.IntN(2 * len(p)); n < len(p) {
			d.do(operation{p, off}, n)
			panic(killed{power: d.rnd.IntN(2) == 0})
		}
	}
	d.do(operation{p, off}, len(p))
	return len(p), d.after()
}

func (d *faultyDisk) Truncate(size int64) error {
	if d.fault() {
		return syscall.EIO
	}
	d.do(operation{nil, size}, 0)
	return d.after()
}

func (d *faultyDisk) Sync() error {
	if d.fault() {
		return syscall.EIO // and nothing is known about what is pending
	}
	d.synced, d.pending = bytes.Clone(d.now), nil
	return d.after()
}

func (d *faultyDisk) SyncFolder() error {
	if d.fault() {
		return syscall.EIO
	}
	d.named = true
	return d.after()
}

func (d *faultyDisk) Close() error { return nil }

// losePower drops what was not synced, but for parts of it.
func (d *faultyDisk) losePower() {
	if !d.named && d.rnd.IntN(2) == 0 {
		d.now, d.synced, d.pending = nil, nil, nil
		return
	}
	data := bytes.Clone(d.synced)
	for _, o := range d.pending {
		n := len(o.data)
		switch d.rnd.IntN(4) {
		case 0: // lost
			continue
		case 1: // the beginning of it
			n = d.rnd.IntN(n + 1)
		case 2: // the size of it, and the beginning; zeros come by the sector
			if n = d.rnd.IntN(max(n-1, 1)); o.data != nil {
				if grow := int(o.off) + len(o.data) - len(data); grow > 0 {
					data = append(data, make([]byte, grow)...)
				}
			}
		}
		data = o.apply(data, n)
	}
	d.now, d.synced, d.pending, d.named = data, bytes.Clone(data), nil, true
}

// program is what the crash test runs: one use of a ledger.
type program struct {
	cfg     Config
	run     string // a named run, or ""
	queries int
	batch   int
}

func (p program) resumable() bool { return p.cfg.Run != "" || p.run != "" }

func (p program) event(i int) accountant.Event {
	return accountant.GNMax{Sigma: float64(40 + i%3)}
}

// label is the answer to query i; without a run key it is new in every life.
func (p program) label(i, life int) []byte {
	if p.resumable() {
		life = 0
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "key %d %d", life, i))
	return sum[:4]
}

// released is what has left the process, in all its lives.
type released struct {
	labels map[int]string
	events []accountant.Event // one for each entry that something left under
	seen   map[string]bool    // by outcome and entry
}

// reserver is a Ledger or a Run.
type reserver interface {
	ReserveBatch([]accountant.Event) ([]*Reservation, error)
}

// live is one process: it goes on where the last one stopped, as far as it can.
func (p program) live(d *faultyDisk, out *released, life int) error {
	l, err := openStore(d, p.cfg)
	if err != nil {
		return err
	}
	defer l.Close()
	var from reserver = l
	if p.run != "" {
		if from, err = l.Run(p.run); err != nil {
			return err
		}
	}
	todo := make([]int, 0, p.queries)
	for i := range p.queries {
		if _, done := out.labels[i]; !done || p.resumable() {
			todo = append(todo, i)
		}
	}
	reserve := func(queries []int) ([]*Reservation, error) {
		events := make([]accountant.Event, len(queries))
		for j, i := range queries {
			events[j] = p.event(i)
		}
		return from.ReserveBatch(events)
	}
	release := func(queries []int, reservations []*Reservation) error {
		outcomes := make([]Outcome, len(queries))
		for j, i := range queries {
			if err := reservations[j].Begin(p.event(i)); err != nil {
				return err
			}
			outcomes[j] = Outcome{reservations[j], p.label(i, life)}
		}
		if err := l.CommitBatch(outcomes); err != nil {
			return err
		}
		for j, i := range queries {
			out.labels[i] = string(outcomes[j].Bytes)
			key := fmt.Sprintf("%d %x", reservations[j].Entry(), outcomes[j].Bytes)
			if !out.seen[key] {
				out.seen[key] = true
				out.events = append(out.events, p.event(i))
			}
		}
		return nil
	}
	var all []*Reservation
	if p.cfg.Mode == Reserved {
		if all, err = reserve(todo); err != nil {
			return err
		}
	}
	for at := 0; at < len(todo); at += p.batch {
		end := min(at+p.batch, len(todo))
		reservations := all
		if p.cfg.Mode == Filter {
			if reservations, err = reserve(todo[at:end]); err != nil {
				return err
			}
		} else {
			reservations = all[at:end]
		}
		if err := release(todo[at:end], reservations); err != nil {
			return err
		}
	}
	return nil
}

// check is what must hold whenever nobody runs.
func (p program) check(t *testing.T, d *faultyDisk, out *released, what string) {
	var s Summary
	var err error
	committed := map[string]bool{}
	if len(out.labels) > 0 || len(d.now) > 0 && bytes.IndexByte(d.now, '\n') >= 0 {
		s, err = verify(d.now)
		require.NoError(t, err, what)
		for _, text := range bytes.Split(d.now, []byte("\n")) {
			if l, err := decode(text); err == nil && l.kind == commitLine {
				committed[fmt.Sprintf("%d %s", l.entry, hex.EncodeToString(l.outcome[:]))] = true
			}
		}
	}
	for key := range out.seen {
		var entry int64
		var label []byte
		_, err := fmt.Sscanf(key, "%d %x", &entry, &label)
		require.NoError(t, err)
		sum := sha256.Sum256(label)
		require.True(t, committed[fmt.Sprintf("%d %x", entry, sum)], "%s: entry %d was released and is not committed", what, entry)
	}
	if p.resumable() {
		for i, label := range out.labels {
			require.Equal(t, string(p.label(i, 0)), label, what)
		}
	}
	if len(out.events) == 0 {
		return
	}
	account, err := accountant.NewRDP(accountant.Config{Relation: p.cfg.Relation, Orders: p.cfg.Orders})
	require.NoError(t, err)
	require.NoError(t, account.Compose(accountant.Composed{Events: out.events}, 1))
	least, err := account.Epsilon(p.cfg.Delta)
	require.NoError(t, err)
	require.GreaterOrEqual(t, s.Epsilon, least.Upper*(1-1e-12), what)
}

// TestCrashes kills, and cuts off from disk and power, at every boundary.
func TestCrashes(t *testing.T) {
	t.Parallel()
	schedules := 10_000
	if testing.Short() || raceDetector {
		schedules = 1000
	}
	var lives, kills, failures, torn, exhausted, finished int
	for seed := range schedules {
		rnd := rand.New(rand.NewPCG(uint64(seed), 5))
		p := program{cfg: testConfig, queries: 1 + rnd.IntN(6), batch: 1 + rnd.IntN(3)}
		p.cfg.Orders = []float64{6, 12, 24}
		p.cfg.Mode = Mode(rnd.IntN(2))
		switch rnd.IntN(3) {
		case 0:
			p.cfg.Run = "run"
		case 1:
			p.run = "run"
		}
		d := &faultyDisk{rnd: rnd}
		out := &released{labels: map[int]string{}, seen: map[string]bool{}}
		done := false
		for life := 0; life < 8 && !done; life++ {
			lives++
			what := fmt.Sprintf("schedule %d, life %d, %+v", seed, life, p)
			d.calls = rnd.IntN(6 + 5*p.queries)
			if life == 7 {
				d.calls = math.MaxInt
			}
			err := func() (err error) {
				defer func() {
					switch k := recover().(type) {
					case nil:
					case killed:
						kills++
						if err = errors.New("killed"); k.power {
							d.losePower()
						}
					default:
						panic(k)
					}
				}()
				return p.live(d, out, life)
			}()
			switch {
			case err == nil:
				done = true
			case errors.Is(err, ErrCorrupt):
				t.Fatal(what, err)
			case errors.Is(err, ErrBudgetExceeded):
				// The very first line of a named run does not say whose it is when
				// it is cut off at once.
				first := p.run != "" && len(out.seen) == 0
				require.True(t, !p.resumable() || first, "%s: %v", what, err)
				exhausted++
				done = true
			case errors.Is(err, ErrSealed):
				// Without a run key a life that starts after the first use cannot
				// go on: what was reserved is gone.
				require.True(t, !p.resumable() && p.cfg.Mode == Reserved, "%s: %v", what, err)
				done = true
			case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EIO):
				failures++
			default:
				require.EqualError(t, err, "killed", what)
			}
			if n := len(d.now); n > 0 && d.now[n-1] != '\n' {
				torn++
			}
			p.check(t, d, out, what)
			if done && err == nil {
				finished++
				require.Len(t, out.labels, p.queries)
			}
		}
		d.losePower()
		p.check(t, d, out, fmt.Sprintf("schedule %d, in the end without power", seed))
	}
	t.Logf("%d schedules: %d lives, %d kills, %d failed calls, %d torn lines; %d finished, %d exhausted", schedules, lives, kills, failures, torn, finished, exhausted)
	for _, n := range []int{kills, failures, torn, finished, exhausted} {
		require.Greater(t, n, schedules/100, "the test has become too tame")
	}
}
