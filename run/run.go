package run

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/rng"
)

// Run releases files once, in stages, under one ledger. If File.New.Run is set (see [ID]), the ledger is for
// this run alone. Otherwise other runs may share the ledger. The field File.New.Noise is ignored.
type Run struct {
	File
	Kind  string // such as "label"; ignored if New.Run is set
	Units Units  // units of the protected data
	// Seed, if not nil, makes the run repeatable. Results of such a run must not be released.
	Seed *uint64
	// Key is the source of the noise, usually the key of a [Folder]. If Key is zero and Seed is nil, a secret
	// key is stored beside the ledger until the run is complete.
	Key rng.Key
	// Plan returns the privacy cost of the run on the ledger before.Ledger.
	Plan func(ctx context.Context, before *Before) (Plan, error)
	// Stages are drawn in order (see Stage.Draw). All stages are charged before the first stage is drawn.
	Stages []Stage
}

// Units is the public number of protected units, or an upper bound on it. N is 0 if the number is unknown.
type Units struct {
	N    int
	Noun string // plural, such as "teachers"
}

// Check returns an error if N > 0 and delta is outside (0, 1/N).
func (u Units) Check(delta float64) error {
	if u.N <= 0 || delta > 0 && delta < 1/float64(u.N) {
		return nil
	}
	return &fault.Error{What: fmt.Sprintf("delta %g must be below 1/%d, where %[2]d is the number of %s", delta, u.N, u.Noun),
		Why: fmt.Sprintf("this delta would allow publishing all data of one of the %s, chosen at random", u.Noun),
		Fix: fmt.Sprintf("choose a delta of %.0e or less, about a tenth of 1/%d", 0.1/float64(u.N), u.N)}
}

// UsualDelta is the largest result of DefaultDelta.
const UsualDelta = 1e-5

// DefaultDelta returns min(1/(10 n), UsualDelta), rounded down to one significant digit. Here n is the public
// number of units, or 0 if unknown.
func DefaultDelta(n int) float64 {
	places, power, units := 1, int64(1), max(int64(n), 1)
	for ; power < units; power *= 10 {
		places++
	}
	delta, err := strconv.ParseFloat(fmt.Sprintf("%de-%d", power/units, places), 64)
	if err != nil {
		return UsualDelta
	}
	return min(delta, UsualDelta)
}

// Stage is one file to release.
type Stage struct {
	// Name identifies the stage within the run. A single stage needs no name.
	Name string
	Out  string // path of the file; "" if the outcome is released in another way
	// Mode is the mode of the file. The default is 0644 if results may be released, and otherwise 0600.
	Mode os.FileMode
	// Key, if not nil, derives the key of the stage from the key of the run.
	Key func(rng.Key) rng.Key
	// Redraw calls Draw even for a released file. Session.Next then fails if the run's key is destroyed.
	Redraw bool
	// Draw writes the file to out. The slice r has one reservation for each event of the stage. Equal keys
	// and reservations must give equal bytes.
	Draw func(r []*ledger.Reservation, key rng.Key, out io.Writer) error
	// Read reads the file if it was released before and Redraw is false. Read may be nil.
	Read func(file io.Reader) error
}

// Before is the state of a ledger before a run is charged.
type Before struct {
	*ledger.Ledger
	// Recorded lists the earlier runs with the same Run.Kind on a shared ledger.
	Recorded []Recorded
	Fresh    bool // the ledger is new and in memory

	tried bool
}

func (b *Before) Try(events ...accountant.Event) error {
	err := b.Ledger.Try(events...)
	b.tried = b.tried || err == nil
	return err
}

// Find returns the recorded run with the given hash of private inputs, or nil. It decodes the run's settings
// into *settings.
func (b *Before) Find(inputs []byte, settings any) (*Recorded, error) {
	for i := range b.Recorded {
		r := &b.Recorded[i]
		if same, err := r.Of(inputs); err != nil {
			return nil, err
		} else if same {
			return r, r.Read(settings)
		}
	}
	return nil, nil
}

// Plan is the privacy cost and the identity of a run.
type Plan struct {
	// Events holds the worst-case events of each stage.
	Events [][]accountant.Event
	// Settings holds all public values that the outcome depends on. The ledger stores it as JSON.
	Settings any
	Inputs   []byte // hash of the private inputs
	// Same is the recorded run that this run repeats, or nil for a new run.
	Same *Recorded
}

// Session is a planned run with its open ledger.
type Session struct {
	Account  ledger.Config // configuration of the ledger
	Recorded bool          // the run was charged before

	*Book
	run   Run
	plan  Plan
	id    identity
	tag   string
	tried bool
	paid  *charged // nil before the charge
	next  int      // index of the next stage
}

func (r *Run) look() (account ledger.Config, fresh bool, err error) {
	r.New.Noise = ledger.SecretNoise
	if r.seeded() {
		r.New.Noise = ledger.SeededNoise
	}
	if account, fresh, err = r.Look(); err != nil {
		return account, fresh, err
	}
	if r.own() {
		is := account.Epsilon
		if account = r.New; math.Abs(is-account.Epsilon) <= 1e-9*account.Epsilon {
			account.Epsilon = is // another machine may compute other last digits
		}
	}
	return account, fresh, r.Units.Check(account.Delta)
}

func (r Run) own() bool    { return r.New.Run != "" }
func (r Run) seeded() bool { return r.Seed != nil || !r.Key.IsZero() && !r.Key.Releasable() }

func (r Run) given() rng.Key {
	if r.Seed != nil {
		return rng.SeedKey(*r.Seed)
	}
	return r.Key
}

// Open plans the run and opens the ledger, without a charge. If File.New.Run is empty, other runs may share
// the ledger. Open creates such a ledger only if the plan fits the budget.
func (r Run) Open(ctx context.Context) (*Session, error) {
	account, fresh, err := r.look()
	if err != nil {
		return nil, err
	}
	s := &Session{Account: account, run: r}
	planned := false
	if fresh && !r.own() {
		for _, stage := range r.Stages {
			if err := stage.Clear(); err != nil {
				return nil, err
			}
		}
		if err := writable(r.Path); err != nil {
			return nil, err
		}
		if err := s.tryNew(ctx); err != nil {
			return nil, err
		}
		planned = true
	}
	if s.Book, err = r.File.Open(ctx, account); err != nil {
		return nil, err
	}
	settled := false
	defer func() {
		if !settled { // also after a panic, because the lock must be released
			s.Close()
		}
	}()
	if err := crash.Point(ctx, "opened"); err != nil {
		return nil, err
	}
	if err := s.settle(ctx, planned); err != nil {
		return nil, err
	}
	settled = true
	return s, nil
}

// Try returns an error if the plan of a new run does not fit the ledger. Try does not create a ledger file.
func (r Run) Try(ctx context.Context) error {
	account, fresh, err := r.look()
	if err != nil {
		return err
	}
	if fresh {
		return (&Session{Account: account, run: r}).tryNew(ctx)
	}
	s, err := r.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Recorded || s.tried {
		return nil
	}
	return s.Ledger.Try(s.events()...)
}

func (s *Session) tryNew(ctx context.Context) error {
	trial, err := ledger.New(s.Account)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer trial.Close()
	return s.planOn(ctx, &Before{Ledger: trial, Fresh: true})
}

func (s *Session) planOn(ctx context.Context, before *Before) (err error) {
	if s.plan, err = s.run.Plan(ctx, before); err != nil {
		return err
	}
	if len(s.plan.Events) != len(s.run.Stages) {
		return fmt.Errorf("run: a plan of %d stages for %d", len(s.plan.Events), len(s.run.Stages))
	}
	if before.Fresh && !before.tried {
		if err := before.Try(s.events()...); err != nil {
			return err
		}
	}
	s.tried = before.tried
	return nil
}

func (s *Session) events() (all []accountant.Event) {
	for _, events := range s.plan.Events {
		all = append(all, events...)
	}
	return all
}

func (s *Session) settle(ctx context.Context, planned bool) error {
	if s.run.own() {
		s.Recorded = s.Ledger.State().Entries > 0
		return s.planOn(ctx, &Before{Ledger: s.Ledger})
	}
	recorded, err := recordedRuns(s.Ledger, s.run.Kind)
	if err != nil {
		return err
	}
	secret, err := s.secret(len(recorded) > 0)
	if err != nil {
		return err
	}
	key := ""
	if given := s.run.given(); !given.IsZero() {
		if key, err = nameOfKey(given); err != nil {
			return err
		}
	}
	for i := range recorded {
		recorded[i].secret, recorded[i].Differs = secret, recorded[i].id.noiseDiffers(s.run.seeded(), key)
	}
	if !planned || s.Ledger.State().Entries > 0 { // another process has charged the ledger in the meantime
		if err := s.planOn(ctx, &Before{Ledger: s.Ledger, Recorded: recorded}); err != nil {
			return err
		}
	}
	return s.identify(secret, key)
}

func (s *Session) identify(secret rng.Key, key string) (err error) {
	if same := s.plan.Same; same != nil {
		if len(same.Differs) > 0 {
			return OtherRun("a run on "+s.run.Path+" was another one", same.Differs,
				"a release is never drawn again with fresh noise", "repeat that run without changes")
		}
		s.id, s.Recorded = same.id, true
	} else {
		if s.id, err = newIdentity(s.run.Kind, s.plan.Settings); err != nil {
			return err
		}
		s.id.Seeded, s.id.Key = s.run.seeded(), key
		if s.plan.Inputs != nil {
			if s.id.Inputs, err = inputsName(secret, s.run.Kind, s.plan.Inputs); err != nil {
				return err
			}
		}
	}
	s.tag, err = s.id.tag()
	return err
}

// Next carries out the next stage. It resumes an interrupted stage. If the stage is complete, Next only
// checks its file. Next commits an outcome's hash before it writes Stage.Out. After an error, the run may
// already be charged, but a repetition is not charged again.
func (s *Session) Next(ctx context.Context) (Done, error) {
	done := Done{Recorded: s.Recorded}
	if s.paid == nil {
		if err := s.charge(ctx); err != nil {
			return done, err
		}
	}
	c, first := *s.paid, 0
	for _, events := range s.plan.Events[:s.next] {
		first += len(events)
	}
	stage := s.run.Stages[s.next]
	c.reservations = c.reservations[first : first+len(s.plan.Events[s.next])]
	if stage.Key != nil && c.hasKey {
		c.key = stage.Key(c.key)
	}
	if err := s.leave(ctx, stage, c, &done); err != nil {
		return done, err
	}
	if s.next++; s.next < len(s.run.Stages) {
		return done, nil
	}
	if path := s.keyFile(); path != "" {
		if err := keyfile.Destroy(path); err != nil {
			return done, err
		}
	}
	return done, crash.Point(ctx, "done")
}

// Do carries out all stages. If `after` is not nil, Do passes the results to `after`. Do closes the ledger
// before it returns.
func (r Run) Do(ctx context.Context, after func(*Session, []Done) error) error {
	s, err := r.Open(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	var all []Done
	for range r.Stages {
		done, err := s.Next(ctx)
		if err != nil {
			return err
		}
		all = append(all, done)
	}
	if after == nil {
		return nil
	}
	return after(s, all)
}
