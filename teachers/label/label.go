package label

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"unicode/utf8"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

// Config says what is to be labelled, how, and on whose budget.
type Config struct {
	Ledger string // path; made if it is not there; required
	// Account is how the ledger is made if it is new. Run, Data and Noise are not
	// taken. Waived must be that of a ledger that is there. In mode Reserved the tightest accountant claims unless one is named. In mode Filter half of Delta becomes FailureDelta if that is 0 and the
	// mechanism is one of package stable.
	Account ledger.Config
	Expect  Expect // what a ledger that exists must say
	Out     string // path of the labels, whose extension says their [Form]; required
	Pool    string // names the public records that the queries are; required
	Votes   *votes.Source
	// Setting is a mechanism of package mechanisms. Noise that it does not have is
	// chosen to use what is left of the budget. Queries, Teachers and Predict are
	// not taken: they are those of Votes and Predictions.
	Setting aggregate.Setting
	// Accept, if not nil, refuses a setting before anything is charged for it. It is
	// asked about new runs alone.
	Accept func(aggregate.Setting) error
	// Predictions is, for mechanism interactive, a CSV file with a line for each query of the
	// votes' file and a probability for each class, from public data alone.
	Predictions string
	// Seed, if not nil, makes a repeatable experiment; nothing of it is releasable.
	Seed *uint64
	// Progress, if not nil, is told how many of the queries are done.
	Progress func(done, total int)
	// Warn, if not nil, is told what a person should know of the files and nothing fails
	// of.
	Warn func(string)
}

// Expect is what somebody takes a ledger to be. What is zero may be anything.
type Expect = run.Expect

// Result is what was released. Nothing in it is private.
type Result struct {
	Asked, Answered, Declined int
	NotAsked                  int               // after a cap on answers was reached
	Setting                   aggregate.Setting // with all noise
	Calibrated                bool              // the noise was chosen to fit the budget
	Epsilon                   float64           // of these labels by themselves, at Delta, rounded up
	Delta                     float64
	Releasable                bool
	Resumed                   bool              // the run had been charged before
	Complete                  bool              // and was complete: nothing was drawn
	Entry                     int64             // of the ledger, that this run is
	SHA256                    [sha256.Size]byte // of the labels, which the ledger commits to
	// Of the ledger as a whole.
	Account ledger.Config
	Claim   float64           // epsilon at Delta of everything released under it
	Lack    error             // why loss distributions did not claim, where they were asked
	By      accountant.Method // who proved Claim; in mode Filter the budget is by Rényi divergences
	Left    ledger.Left
}

// Run labels the votes, goes on with a run that was interrupted, or checks one
// that is complete; see the package comment. A refusal is an *[fault.Error]; over budget it
// is a *[BudgetError], and nothing is charged or written. When ctx ends, or
// anything fails, there are no labels and repeating the run costs nothing more.
func Run(ctx context.Context, c Config) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	asked, err := c.identity()
	if err != nil {
		return Result{}, err
	}
	file := c.file()
	account, fresh, err := file.Look()
	if err != nil {
		return Result{}, err
	}
	if err := c.fits(account); err != nil {
		return Result{}, err
	}
	if err := c.checkDelta(account.Delta); err != nil {
		return Result{}, err
	}
	if fresh {
		if err := c.tryFresh(ctx, account); err != nil {
			return Result{}, err
		}
	}
	book, err := file.Open(ctx, account)
	if err != nil {
		return Result{}, err
	}
	defer book.Close()
	if err := crash.Point(ctx, "opened"); err != nil {
		return Result{}, err
	}
	runs, err := recordedRuns(book.Ledger)
	if err != nil {
		return Result{}, err
	}
	j := job{Config: c, account: account, book: book, id: asked}
	if err := j.identify(runs); err != nil {
		return Result{}, err
	}
	found, err := find(runs, j.id)
	if err != nil {
		return Result{}, err
	}
	return j.release(ctx, found)
}

// checkDelta refuses a delta that allows giving away the record of one of the teachers.
func (c Config) checkDelta(delta float64) error {
	if n := c.Votes.Teachers(); n > 0 && delta >= 1/float64(n) {
		return &fault.Error{What: fmt.Sprintf("delta %g is not below 1/%d, one over the number of teachers", delta, n),
			Why: "every teacher holds a record at least; such a delta allows giving one away", Fix: "choose a smaller delta"}
	}
	return nil
}

// maxPool bounds the name of a pool, in bytes.
const maxPool = 256

// check refuses what no run could have.
func (c Config) check() error {
	if err := c.checkPlaces(); err != nil {
		return err
	}
	s, err := c.setting()
	if err == nil {
		err = s.check()
	}
	switch {
	case err != nil:
		return &fault.Error{What: "there is no such mechanism", Err: err}
	case s.d.Predicts != (c.Predictions != ""):
		return errors.New("label: Config.Predictions is for mechanisms that compare votes with predictions, which need it")
	case s.d.Predicts && c.Votes.Teachers() == 0:
		return &fault.Error{What: "the number of teachers is not known", Why: "predictions are turned into their votes", Fix: "state it"}
	}
	return nil
}

// checkPlaces refuses what no mechanism could have.
func (c Config) checkPlaces() error {
	switch {
	case c.Ledger == "":
		return errors.New("label: Config.Ledger is empty: a release is charged to a file")
	case c.Out == "":
		return errors.New("label: Config.Out is empty")
	case c.Pool == "":
		return errors.New("label: Config.Pool is empty: say which public records the queries are")
	case len(c.Pool) > maxPool || !utf8.ValidString(c.Pool):
		return &fault.Error{What: "the name of the pool is too long or not UTF-8", Fix: "give it a shorter one"}
	case c.Votes == nil:
		return errors.New("label: Config.Votes is nil")
	case c.Votes.Queries() == 0:
		return &fault.Error{What: "there is no query to answer", Fix: "choose queries that the votes have"}
	case (c.Seed != nil || len(c.Account.Waived) > 0) && FormOf(c.Out) == NPY:
		return &fault.Error{What: "an array has no mark that its labels must not be released", Why: "every output of a run with a seed, or for which a refusal was waived, has one", Fix: "write .csv, .jsonl or .parquet"}
	}
	out, err := filepath.Abs(c.Out)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	book, err := filepath.Abs(c.Ledger)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	if out == book || out == run.IDFile(book) || out == run.HeadFile(book) {
		return &fault.Error{What: c.Out + " is the ledger", Fix: "write the labels elsewhere"}
	}
	for _, path := range []string{c.Out, c.Ledger} {
		if there, err := durable.Exists(filepath.Dir(path)); err != nil || !there {
			return &fault.Error{What: "there is no folder for " + path, Fix: "make it", Err: err}
		}
	}
	return nil
}

// identity returns the run as far as it is given, without what identifies the votes.
func (c Config) identity() (identity, error) {
	s, err := c.setting()
	if err != nil {
		return identity{}, err
	}
	from, to := c.Votes.Range()
	id := identity{
		Label: identityVersion, Pool: c.Pool, Queries: [2]int{from, to}, Classes: c.Votes.Classes(), Seeded: c.Seed != nil,
	}
	id.take(s)
	if c.Predictions != "" {
		if id.Predictions, err = checkPredictions(c.Predictions, c.Votes.Classes(), c.Votes.Total()); err != nil {
			return id, err
		}
	}
	if c.Seed != nil {
		id.Key, err = run.KeyName(rng.SeedKey(*c.Seed))
	}
	return id, err
}

// checkNew refuses, for a new ledger, a file that no run under it wrote, and places that
// cannot be written.
func (c Config) checkNew() error {
	there, err := durable.Exists(c.Out)
	if err != nil {
		return err
	}
	if there {
		return &fault.Error{What: c.Out + " is there already", Why: "it was not written by this run, and is not overwritten", Fix: "move it away, or write the labels elsewhere"}
	}
	for _, path := range []string{c.Out, c.Ledger} {
		if err := durable.Writable(path); err != nil {
			return &fault.Error{What: path + " cannot be written", Why: "nothing was written or charged", Fix: "name another file", Err: err}
		}
	}
	return nil
}

// tryFresh checks, before anything is written, what a new ledger would refuse.
func (c Config) tryFresh(ctx context.Context, account ledger.Config) error {
	if err := c.checkNew(); err != nil {
		return err
	}
	trial, err := run.Trial(account)
	if err != nil {
		return err
	}
	s, err := c.chooseNoise(ctx, trial)
	if err != nil {
		return err
	}
	_, err = s.charge(ctx, trial, trial.Reserve)
	return err
}
