package ledger

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
)

type program struct {
	cfg     Config
	run     string // a named run, or ""
	queries int
	batch   int

	hasty bool // labels leave before the commit
	fresh bool // a resumable run answers differently in every life
	moody bool // and asks for other events
}

func (p program) resumable() bool { return p.cfg.Run != "" || p.run != "" }

func (p program) event(i, life int) accountant.Event {
	if p.moody {
		i += life
	}
	return accountant.GNMax{Sigma: float64(40 + i%3)}
}

// label is the answer to query i; without a run key it is new in every life.
func (p program) label(i, life int) []byte {
	if p.resumable() && !p.fresh {
		life = 0
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "key %d %d", life, i))
	return sum[:4]
}

type released struct {
	labels map[int]string
	events []accountant.Event // one for each entry that something left under
	seen   map[string]bool    // by outcome and entry
}

type reserver interface {
	ReserveBatch([]accountant.Event) ([]*Reservation, error)
}

func (p program) live(d *faultyDisk, out *released, life int) error {
	l, err := openStore(d, p.cfg, VerifyOptions{})
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
			events[j] = p.event(i, life)
		}
		return from.ReserveBatch(events)
	}
	release := func(queries []int, reservations []*Reservation) error {
		outcomes := make([]Outcome, len(queries))
		for j, i := range queries {
			if err := reservations[j].Begin(p.event(i, life), Use{Secret: true}); err != nil {
				return err
			}
			outcomes[j] = Outcome{Of: reservations[j], Bytes: p.label(i, life)}
		}
		if !p.hasty {
			if err := l.CommitBatch(outcomes); err != nil {
				return err
			}
		}
		for j, i := range queries {
			out.labels[i] = string(outcomes[j].Bytes)
			key := fmt.Sprintf("%d %x", reservations[j].Entry(), outcomes[j].Bytes)
			if !out.seen[key] {
				out.seen[key] = true
				out.events = append(out.events, p.event(i, life))
			}
		}
		if p.hasty {
			return l.CommitBatch(outcomes)
		}
		return nil
	}
	var all []*Reservation
	if p.cfg.Mode == Reserved {
		if all, err = reserve(todo); err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(todo, p.batch) {
		reservations := all[:min(len(batch), len(all))]
		all = all[len(reservations):]
		if p.cfg.Mode == Filter {
			if reservations, err = reserve(batch); err != nil {
				return err
			}
		}
		if err := release(batch, reservations); err != nil {
			return err
		}
	}
	return nil
}

func (p program) check(d *faultyDisk, out *released) error {
	var s Summary
	committed := map[string]bool{}
	if len(out.labels) > 0 || bytes.IndexByte(d.now, '\n') >= 0 {
		var err error
		if s, err = verify(d.now); err != nil {
			return err
		}
		for _, text := range bytes.Split(d.now, []byte("\n")) {
			if l, err := decode(text); err == nil && l.kind == commitLine {
				committed[fmt.Sprintf("%d %x", l.entry, l.outcome)] = true
			}
		}
	}
	for key := range out.seen {
		var entry int64
		var label []byte
		if _, err := fmt.Sscanf(key, "%d %x", &entry, &label); err != nil {
			return err
		}
		if !committed[fmt.Sprintf("%d %x", entry, sha256.Sum256(label))] {
			return fmt.Errorf("entry %d was released and is not committed", entry)
		}
	}
	for i, label := range out.labels {
		if p.resumable() && label != string(p.label(i, 0)) {
			return fmt.Errorf("query %d has another label than an uninterrupted run", i)
		}
	}
	if len(out.events) == 0 {
		return nil
	}
	least := renyi(accountant.Composed{Events: out.events}, 1, p.cfg.Delta, p.cfg.Orders...)
	if s.Epsilon < least*(1-1e-12) {
		return fmt.Errorf("the ledger says epsilon %v, what was released costs %v", s.Epsilon, least)
	}
	return nil
}

type story struct {
	lives, kills, failures, torn, exhausted, finished int
}

func (st *story) play(seed int, change func(*program, *faultyDisk)) error {
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
	if change != nil {
		change(&p, d)
	}
	out := &released{labels: map[int]string{}, seen: map[string]bool{}}
	const lives = 8
	for life := range lives {
		st.lives++
		d.calls = rnd.IntN(6 + 5*p.queries)
		if life == lives-1 {
			d.calls = math.MaxInt
		}
		err := st.life(p, d, out, life)
		if n := len(d.now); n > 0 && d.now[n-1] != '\n' {
			st.torn++
		}
		if wrong := p.check(d, out); wrong != nil {
			return fmt.Errorf("life %d of %+v: %w", life, p, wrong)
		}
		// The very first line of a named run does not say whose it is when it is cut off at once.
		first := p.run != "" && len(out.seen) == 0
		switch {
		case err == nil:
			if st.finished++; len(out.labels) != p.queries {
				return fmt.Errorf("%d labels of %d", len(out.labels), p.queries)
			}
		case errors.Is(err, ErrBudgetExceeded) && (!p.resumable() || first):
			st.exhausted++
		case errors.Is(err, ErrSealed) && !p.resumable() && p.cfg.Mode == Reserved:
			// Without a run key a life that starts after the first use cannot go on: what was reserved is
			// gone.
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EIO):
			st.failures++
			continue
		case errors.Is(err, errKilled):
			st.kills++
			continue
		default:
			return fmt.Errorf("life %d of %+v: %w", life, p, err)
		}
		break
	}
	d.losePower()
	if wrong := p.check(d, out); wrong != nil {
		return fmt.Errorf("in the end, without power: %w", wrong)
	}
	return nil
}

var errKilled = errors.New("killed")

func (st *story) life(p program, d *faultyDisk, out *released, life int) (err error) {
	defer func() {
		switch k := recover().(type) {
		case nil:
		case killed:
			if err = errKilled; k.power {
				d.losePower()
			}
		default:
			panic(k)
		}
	}()
	return p.live(d, out, life)
}

func TestCrashes(t *testing.T) {
	t.Parallel()
	schedules := sampled(2500, 500)
	var st story
	for seed := range schedules {
		require.NoError(t, st.play(seed, nil), "schedule %d", seed)
	}
	t.Logf("%d schedules: %+v", schedules, st)
	for _, n := range []int{st.kills, st.failures, st.torn, st.finished, st.exhausted} {
		require.Greater(t, n, schedules/100, "the test has become too tame")
	}
}

func TestCrashesFindWhatIsBroken(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*program, *faultyDisk)
		finds  string
	}{
		"a disk that lies about syncs":  {func(_ *program, d *faultyDisk) { d.lies = true }, "not committed"},
		"released before the commit":    {func(p *program, _ *faultyDisk) { p.hasty = true }, "not committed"},
		"fresh noise in a resumed run":  {func(p *program, _ *faultyDisk) { p.fresh = true }, "second answer"},
		"a resumed run of another kind": {func(p *program, _ *faultyDisk) { p.moody = true }, "resumed program"},
	} {
		var st story
		found := 0
		for seed := 0; seed < 400 && found <= 5; seed++ {
			if err := st.play(seed, c.change); err != nil && strings.Contains(err.Error(), c.finds) {
				found++
			}
		}
		require.Greater(t, found, 5, name)
	}
}

type killed struct{ power bool }

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

// faultyDisk is a file as processes see it, and as it is after the power was lost: what was synced, and of
// the rest whatever the disk got round to. One of its calls goes wrong.
type faultyDisk struct {
	rnd     *rand.Rand
	now     []byte
	synced  []byte
	named   bool // the folder was synced
	pending []operation

	calls int  // until the fault; below 0 none comes
	lies  bool // syncs do nothing
}

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
	if !d.lies {
		d.synced, d.pending = bytes.Clone(d.now), nil
	}
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
