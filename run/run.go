package run

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/rng"
)

// Run releases files once, in one stage or in several, under one ledger.
//
// A ledger is shared by runs, unless New.Run names it: then it is made for this run alone, and [ID] gives
// the name. New.Noise is ignored.
type Run struct {
	File
	Kind  string // such as "label"; ignored on a ledger made for the run alone
	Units Units  // whose data are protected
	// Seed, if not nil, makes a repeatable experiment; nothing may be released.
	Seed *uint64
	// Key is the key of a run's folder, from which the noise comes, and which the folder keeps and
	// destroys. If it is zero and there is no seed, a secret one lies beside the ledger until the run is
	// complete.
	Key rng.Key
	// Plan returns the cost of the run. It is called once, on the ledger that is then charged; a new ledger
	// is in memory until the plan fits.
	Plan func(ctx context.Context, before *Before) (Plan, error)
	// Stages follow each other. All are charged before the first is drawn.
	Stages []Stage
}

// Units is a public number of those whose data are protected, or a bound; 0 if unknown.
type Units struct {
	N    int
	Noun string // "teachers"
}

// Check refuses a delta of 1/N or more, which allows giving one of the units away.
func (u Units) Check(delta float64) error {
	if u.N <= 0 || delta > 0 && delta < 1/float64(u.N) {
		return nil
	}
	return &fault.Error{What: fmt.Sprintf("delta %g is not below 1/%d, one over the number of %s", delta, u.N, u.Noun),
		Why: "with such a delta, a method that publishes all data of one of them would still meet the guarantee", Fix: fmt.Sprintf("choose a delta of %.0e or less", 0.1/float64(u.N))}
}

// Stage is one file that leaves.
type Stage struct {
	// Name separates the stages of a run. It may be empty if there is one.
	Name string
	Out  string // path of the file; "" if the outcome leaves by other means
	// Mode of the file; if zero, 0644 if the run may be released, else 0600.
	Mode os.FileMode
	// Key derives the key of the stage from the key of the run; nil takes that one.
	Key func(rng.Key) rng.Key
	// Redraw draws a complete stage again, for later work that needs the outcome. It needs the key.
	Redraw bool
	// Draw uses the reservations, one for each event of the stage, and writes the file, whose hash is
	// committed. The same arguments give the same bytes.
	Draw func(r []*ledger.Reservation, key rng.Key, out io.Writer) error
	// Read reads the file of a complete stage. It may be nil.
	Read func(file io.Reader) error
}

// Before is a ledger before a run is charged to it.
type Before struct {
	*ledger.Ledger
	// Recorded are the runs of the same kind that the ledger has charged; none if it is made for this run
	// alone.
	Recorded []Recorded
	Fresh    bool // the ledger is new, and in memory

	tried bool
}

// Try checks that events fit. It charges nothing.
func (b *Before) Try(events ...accountant.Event) error {
	err := b.Ledger.Try(events...)
	b.tried = b.tried || err == nil
	return err
}

// Find returns the recorded run that had the private inputs with this hash, and reads its settings; nil if
// there is none.
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

// Plan is the cost and the identity of a run.
type Plan struct {
	// Events are the worst-case costs, by stage.
	Events [][]accountant.Event
	// Settings are everything the run is a function of besides its private inputs and its key, written as
	// JSON into the ledger. They are public.
	Settings any
	Inputs   []byte // a hash of the private inputs
	// Same is the recorded run that this one repeats; nil if it is new. It has its settings and inputs.
	Same *Recorded
}

// Session is a run with its ledger held open and its plan made.
type Session struct {
	Account  ledger.Config // of the ledger
	Recorded bool          // the run was charged before

	*Book
	run   Run
	plan  Plan
	id    identity
	tag   string
	tried bool
	paid  *charged // once it is charged
	next  int      // stage
}

// look returns the configuration to open the ledger with, and whether the ledger is new.
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
			account.Epsilon = is // computed elsewhere, to other last digits
		}
	}
	return account, fresh, r.Units.Check(account.Delta)
}

func (r Run) own() bool    { return r.New.Run != "" }
func (r Run) seeded() bool { return r.Seed != nil || !r.Key.IsZero() && !r.Key.Releasable() }

// given returns a key that others keep; zero if there is none.
func (r Run) given() rng.Key {
	if r.Seed != nil {
		return rng.SeedKey(*r.Seed)
	}
	return r.Key
}

// Open plans the run and holds its ledger open. Nothing is charged, and a new ledger is not written before
// the plan fits.
func (r Run) Open(ctx context.Context) (*Session, error) {
	account, fresh, err := r.look()
	if err != nil {
		return nil, err
	}
	s := &Session{Account: account, run: r}
	planned := false
	if fresh && !r.own() {
		for _, stage := range r.Stages {
			if err := stage.clear(); err != nil {
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
		if !settled { // also where the plan panics: the lock must not stay
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

// Try checks that the plan of a new run fits the ledger. A new ledger is not written.
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

// tryNew plans on a ledger in memory, made like the future one.
func (s *Session) tryNew(ctx context.Context) error {
	trial, err := ledger.New(s.Account)
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	defer trial.Close()
	return s.planOn(ctx, &Before{Ledger: trial, Fresh: true})
}

// planOn makes the plan, and checks that it fits a new ledger.
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

// settle plans on the open ledger, unless the plan for a new one still holds, and names the run.
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
	if !planned || s.Ledger.State().Entries > 0 { // charged by somebody else meanwhile
		if err := s.planOn(ctx, &Before{Ledger: s.Ledger, Recorded: recorded}); err != nil {
			return err
		}
	}
	return s.identify(secret, key)
}

// identify names the run on a shared ledger.
func (s *Session) identify(secret rng.Key, key string) (err error) {
	if same := s.plan.Same; same != nil {
		if len(same.Differs) > 0 {
			return OtherRun("a run on "+s.run.Path+" was another one", same.Differs,
				"what was released is never drawn again with fresh noise", "repeat that run as it was")
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

// Next carries out the next stage, resumes it, or checks that it is complete, in the order of the package
// comment. On an error nothing has left uncommitted, and nothing more is charged, unless the error came
// after the charge: then repeating the run costs nothing more.
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

// Do carries out all stages of the run and closes its ledger. Before that it calls after with the results;
// after may be nil.
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
