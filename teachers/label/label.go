package label

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/teachers"
)

// Config says what is to be labelled, how, and on whose budget.
type Config struct {
	Ledger string // path; made if it is not there; required
	// Account is how the ledger is made if it is new. Run, Data and Noise are not
	// taken.
	Account ledger.Config
	// Expect is what a ledger that exists must say, in Unit, Relation, Epsilon and
	// Delta where they are not zero.
	Expect  ledger.Config
	Out     string // path of the labels; required
	Pool    string // names the public records that the queries are; required
	Votes   *teachers.VoteSource
	Setting Setting
	// Predictions is, for Interactive, a CSV file with a line for each query of the
	// votes' file and a probability for each class, from public data alone.
	Predictions string
	// Seed, if not nil, makes a repeatable experiment; nothing of it is releasable.
	Seed *uint64
	// Progress, if not nil, is told how many of the queries are done.
	Progress func(done, total int)
}

// Result is what was released. Nothing in it is private.
type Result struct {
	Asked, Answered, Declined int
	NotAsked                  int     // after a cap on answers was reached
	Setting                   Setting // with all noise
	Calibrated                bool    // the noise was chosen to fit the budget
	Epsilon                   float64 // of these labels by themselves, at Delta, rounded up
	Delta                     float64
	Releasable                bool
	Resumed                   bool // the run had been charged before
	Complete                  bool // and was complete: nothing was drawn
	// Of the ledger as a whole.
	Account ledger.Config
	Claim   float64 // epsilon at Delta of everything released under it
	Left    ledger.Left
}

// Run labels the votes, goes on with a run that was interrupted, or checks one
// that is complete; see the package comment. A refusal is an *[Error]; over budget it
// is a *[ledger.BudgetError], and nothing is charged or written. When ctx ends, or
// anything fails, there are no labels and repeating the run costs nothing more.
func Run(ctx context.Context, c Config) (Result, error) {
	return c.run(ctx, func(string) error { return nil })
}

// run is Run that calls step after each thing that outlasts a crash.
func (c Config) run(ctx context.Context, step func(string) error) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	asked, err := c.identity()
	if err != nil {
		return Result{}, err
	}
	account, fresh, err := c.account()
	if err != nil {
		return Result{}, err
	}
	if n := c.Votes.Teachers(); n > 0 && account.Delta >= 1/float64(n) {
		return Result{}, &Error{What: fmt.Sprintf("delta %g is not below 1/%d, one over the number of teachers", account.Delta, n),
			Why: "every teacher holds a record at least; such a delta allows giving one away", Fix: "choose a smaller delta"}
	}
	if fresh {
		if err := c.tryFresh(ctx, account); err != nil {
			return Result{}, err
		}
	}
	book, err := openLedger(ctx, c.Ledger, account)
	if err != nil {
		return Result{}, err
	}
	defer book.Close()
	if err := step("opened"); err != nil {
		return Result{}, err
	}
	runs, err := recordedRuns(c.Ledger)
	if err != nil {
		return Result{}, err
	}
	j := job{Config: c, account: account, book: book, step: step, id: asked}
	if err := j.identify(runs); err != nil {
		return Result{}, err
	}
	found, err := find(runs, j.id)
	if err != nil {
		return Result{}, err
	}
	if found != nil {
		return j.resume(ctx, *found)
	}
	return j.begin(ctx)
}

func (c Config) check() error {
	switch {
	case c.Ledger == "":
		return errors.New("label: Config.Ledger is empty: a release is charged to a file")
	case c.Out == "":
		return errors.New("label: Config.Out is empty")
	case c.Pool == "":
		return errors.New("label: Config.Pool is empty: say which public records the queries are")
	case c.Votes == nil:
		return errors.New("label: Config.Votes is nil")
	case c.Votes.Queries() == 0:
		return &Error{What: "there is no query to answer", Fix: "choose queries that the votes have"}
	case (c.Setting.Mechanism == Interactive) != (c.Predictions != ""):
		return fmt.Errorf("label: Config.Predictions is for mechanism %q, which needs it", Interactive)
	case c.Setting.Mechanism == Interactive && c.Votes.Teachers() == 0:
		return &Error{What: "the number of teachers is not known", Why: "predictions are turned into their votes", Fix: "state it"}
	}
	out, err := filepath.Abs(c.Out)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	book, err := filepath.Abs(c.Ledger)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	if out == book || out == IDFile(book) {
		return &Error{What: c.Out + " is the ledger", Fix: "write the labels elsewhere"}
	}
	if there, err := exists(filepath.Dir(c.Out)); err != nil || !there {
		return &Error{What: "there is no folder for " + c.Out, Fix: "make it", Err: err}
	}
	return c.setting().check()
}

// setting is what is asked for, with its caps.
func (c Config) setting() Setting {
	s := c.Setting
	s.Queries, s.Teachers = c.Votes.Queries(), 0
	if s.Mechanism == Interactive {
		s.Teachers = c.Votes.Teachers()
	}
	if s.Tested() && s.Answers == 0 {
		s.Answers = s.Queries
	}
	return s
}

// identity is the run as far as it is given, without what identifies the votes.
func (c Config) identity() (identity, error) {
	s := c.setting()
	from, to := c.Votes.Range()
	id := identity{
		Label: identityVersion, Pool: c.Pool, Queries: [2]int{from, to}, Classes: c.Votes.Classes(), Seeded: c.Seed != nil,
	}
	id.take(s)
	var err error
	if c.Predictions != "" {
		if id.Predictions, err = hashPredictions(c.Predictions); err != nil {
			return id, err
		}
	}
	if c.Seed != nil {
		id.Key, err = public(aggregate.SeedKey(*c.Seed))
	}
	return id, err
}

// tryFresh checks, before anything is written, what a new ledger would refuse.
func (c Config) tryFresh(ctx context.Context, account ledger.Config) error {
	there, err := exists(c.Out)
	if err != nil {
		return err
	}
	if there {
		return foreign(c.Out)
	}
	trial, err := ledger.Open("", account)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	s, err := c.setting().settle(ctx, trial)
	if err != nil {
		return err
	}
	e, err := s.event()
	if err != nil {
		return err
	}
	_, err = trial.Reserve(e)
	return err
}

// foreign is the error for a file that is in the way.
func foreign(path string) error {
	return &Error{What: path + " is there already", Why: "it was not written by this run, and is not overwritten", Fix: "move it away, or write the labels elsewhere"}
}

// job is a run on an open ledger.
type job struct {
	Config
	account ledger.Config
	book    *ledger.Ledger
	step    func(string) error
	id      identity
	secret  *aggregate.Key // identifies votes on the ledger; not nil if not yet on disk
}

// begin charges a new run and carries it out.
func (j job) begin(ctx context.Context) (Result, error) {
	there, err := exists(j.Out)
	if err != nil {
		return Result{}, err
	}
	if there {
		return Result{}, foreign(j.Out)
	}
	s, err := j.setting().settle(ctx, j.book)
	if err != nil {
		return Result{}, sealed(err)
	}
	j.id.take(s)
	e, err := s.event()
	if err != nil {
		return Result{}, err
	}
	if n, err := j.book.Fits(ctx, e); err != nil {
		return Result{}, sealed(err)
	} else if n == 0 { // nothing is written: there shall be no key of a run that never is
		if _, err := j.book.Reserve(e); err != nil {
			return Result{}, err
		}
		return Result{}, errors.New("label: the ledger took what does not fit")
	}
	if j.secret != nil {
		if err := writeKey(IDFile(j.Ledger), *j.secret); err != nil {
			return Result{}, err
		}
		if err := j.step("id"); err != nil {
			return Result{}, err
		}
	}
	key, err := j.newKey()
	if err != nil {
		return Result{}, err
	}
	if j.id.Key, err = public(key); err != nil {
		return Result{}, err
	}
	result, err := j.carryOut(ctx, s, &key)
	result.Calibrated = !j.setting().settled()
	return result, err
}

// newKey is the key of a new run, on disk.
func (j job) newKey() (aggregate.Key, error) {
	if j.Seed != nil {
		return aggregate.SeedKey(*j.Seed), nil
	}
	path := keyFile(j.Ledger, j.id)
	key, ok, err := readKey(path) // of the same run, stopped before it was charged
	if ok || err != nil {
		return key, err
	}
	if key, err = aggregate.NewKey(); err != nil {
		return key, fmt.Errorf("label: %w", err)
	}
	if err := writeKey(path, key); err != nil {
		return key, err
	}
	return key, j.step("key")
}

// resume goes on with a run, or checks it if it is complete.
func (j job) resume(ctx context.Context, found recordedRun) (Result, error) {
	j.id = found.id
	key, err := j.oldKey()
	if err != nil {
		return Result{}, err
	}
	there, err := exists(j.Out)
	if err != nil {
		return Result{}, err
	}
	switch {
	case there && found.committed:
		return j.verify(key != nil)
	case there:
		return Result{}, foreign(j.Out)
	case key != nil:
		result, err := j.carryOut(ctx, found.id.setting(), key)
		result.Resumed = true
		return result, err
	case found.committed:
		return Result{}, &Error{What: j.Out + " is not there, and the run that released these labels is complete",
			Why: "its key was destroyed then, and with another they would be answered a second time", Fix: "give as --out the file that it wrote, or a copy of it"}
	}
	return Result{}, &Error{What: "the key of the unfinished run is gone: " + keyFile(j.Ledger, j.id),
		Why: "some of its queries may have been answered, and with another key they would be a second time", Fix: "restore the file; what the run was charged is spent"}
}

// oldKey is the key of a recorded run, nil if it is gone.
func (j job) oldKey() (*aggregate.Key, error) {
	var key aggregate.Key
	if j.Seed != nil {
		key = aggregate.SeedKey(*j.Seed)
	} else {
		var ok bool
		var err error
		if key, ok, err = readKey(keyFile(j.Ledger, j.id)); !ok || err != nil {
			return nil, err
		}
	}
	name, err := public(key)
	if err != nil {
		return nil, err
	}
	if name != j.id.Key {
		return nil, &Error{What: keyFile(j.Ledger, j.id) + " is not the key of the unfinished run", Why: "with another key its queries would be answered a second time", Fix: "restore the file"}
	}
	return &key, nil
}

// carryOut reserves, asks, commits, names the file and destroys the key. What
// was done before is done again, at no cost and with the same outcome.
func (j job) carryOut(ctx context.Context, s Setting, key *aggregate.Key) (Result, error) {
	reservation, err := j.reserve(s)
	if err != nil {
		return Result{}, err
	}
	if err := j.step("reserved"); err != nil {
		return Result{}, err
	}
	hash := j.Votes.Hash()
	ask, err := s.start(reservation, key.DeriveBytes("votes", hash[:]))
	if err != nil {
		return Result{}, err
	}
	var predictions *predictionReader
	if j.Predictions != "" {
		if predictions, err = openPredictions(j.Predictions, j.Votes.Classes()); err != nil {
			return Result{}, err
		}
		defer predictions.close()
	}
	progress := func(int) {}
	if j.Progress != nil {
		progress = func(done int) { j.Progress(done, s.Queries) }
	}
	sweep(j.Out)
	var count counts
	err = durable.WriteFile(j.Out, 0o644, func(out io.Writer) error {
		w := newLabelWriter(out)
		if err := release(ctx, j.Votes.Histograms(ctx), predictions, ask, w, progress); err != nil {
			return err
		}
		count = w.counts
		if err := j.step("asked"); err != nil {
			return err
		}
		if err := j.book.Commit(reservation, outcome(w.hash.Sum(nil))); err != nil {
			return fmt.Errorf("label: %w", err)
		}
		return j.step("committed")
	})
	if err != nil {
		return Result{}, err
	}
	if err := j.step("named"); err != nil {
		return Result{}, err
	}
	return j.finish(s, count)
}

func (j job) reserve(s Setting) (*ledger.Reservation, error) {
	name, err := j.id.encode()
	if err != nil {
		return nil, err
	}
	run, err := j.book.Run(name)
	if err != nil {
		return nil, fmt.Errorf("label: %w", err)
	}
	e, err := s.event()
	if err != nil {
		return nil, err
	}
	reservation, err := run.Reserve(e)
	if err != nil {
		return nil, sealed(err)
	}
	return reservation, nil
}

// verify compares the labels of a complete run with what it committed.
func (j job) verify(hasKey bool) (Result, error) {
	sum, count, err := readLabels(j.Out)
	if err != nil {
		return Result{}, &Error{What: j.Out + " cannot be read", Err: err}
	}
	s := j.id.setting()
	reservation, err := j.reserve(s) // again, at no cost
	if err != nil {
		return Result{}, err
	}
	if err := j.book.Commit(reservation, outcome(sum)); err != nil {
		fix := "restore the file; its key is destroyed and nothing is drawn again"
		if hasKey {
			fix = "move it away and run the command again, which repeats what was released"
		}
		return Result{}, &Error{What: j.Out + " is not what was released", Why: "its hash is not the one that the ledger has committed", Fix: fix, Check: true, Err: err}
	}
	result, err := j.finish(s, count)
	result.Resumed, result.Complete = true, true
	return result, err
}

// finish destroys the key and says what there is.
func (j job) finish(s Setting, count counts) (Result, error) {
	if j.Seed == nil {
		if err := destroy(keyFile(j.Ledger, j.id)); err != nil {
			return Result{}, err
		}
	}
	result := Result{
		Asked: count.asked, Answered: count.answered, Declined: count.asked - count.answered, NotAsked: s.Queries - count.asked,
		Setting: s, Delta: j.account.Delta, Account: j.account, Left: j.book.Left(),
		Releasable: !j.id.Seeded && j.account.Noise != ledger.SeededNoise,
	}
	e, err := s.event()
	if err != nil {
		return Result{}, err
	}
	if result.Epsilon, err = alone(e, j.account); err != nil {
		return Result{}, err
	}
	result.Claim = j.account.Epsilon
	if j.account.Mode == ledger.Reserved {
		if result.Claim, err = j.book.Epsilon(); err != nil {
			return Result{}, fmt.Errorf("label: %w", err)
		}
	}
	return result, j.step("done")
}

// alone is the cost of one event by itself.
func alone(e accountant.Event, account ledger.Config) (float64, error) {
	rdp, err := accountant.NewRDP(accountant.Config{Relation: account.Relation})
	if err != nil {
		return math.NaN(), fmt.Errorf("label: %w", err)
	}
	if err := rdp.Compose(e, 1); err != nil {
		return math.NaN(), fmt.Errorf("label: %w", err)
	}
	bound, err := rdp.Epsilon(account.Delta)
	if err != nil {
		return math.NaN(), fmt.Errorf("label: %w", err)
	}
	return bound.Upper, nil
}
