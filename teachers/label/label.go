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
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

// Config describes the labels, their mechanism and their budget.
type Config struct {
	Ledger string // path; made if it is not there; required
	// Account is how the ledger is made if it is new. Run, Data and Noise are not taken. Waived must be
	// equal to the Waived of an existing ledger. In mode Reserved the tightest accountant claims unless one
	// is named. In mode Filter half of Delta becomes FailureDelta if that is 0 and the mechanism is one of
	// package stable.
	Account ledger.Config
	Expect  Expect // what a ledger that exists must say
	Out     string // path of the labels, whose extension says their [Form]; required
	Pool    string // names the public records that the queries are; required
	Votes   *votes.Source
	// Setting is a mechanism of package mechanisms. Missing noise is chosen to use the rest of the budget.
	// Queries, Teachers and Predict are not taken: they follow from Votes and Predictions.
	Setting aggregate.Setting
	// Plan, if set, chooses mechanism, noise and queries; Setting is not taken then.
	Plan *Planning
	// Accept, if not nil, refuses a setting before anything is charged for it. It is asked about new runs
	// alone.
	Accept func(aggregate.Setting) error
	// Predictions is, for mechanism interactive, a CSV file with a line for each query of the votes' file
	// and a probability for each class, from public data alone.
	Predictions string
	// Seed, if not nil, makes a repeatable experiment, which is not releasable.
	Seed *uint64
	// Each, if set, receives every answer that is drawn, or read of a run that is complete: the class, or -1
	// where the mechanism declined.
	Each func(query uint64, class int)
	// Progress, if set, receives how many of the queries are done.
	Progress func(done, total int)
	// Warn, if set, receives warnings that do not stop the run.
	Warn func(string)
}

// Expect describes the ledger that a caller takes for granted. Zero fields may have any value.
type Expect = run.Expect

// Result describes the released labels. Nothing in it is private.
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
	Votes                     *votes.Source     // that were asked about
	// Of the ledger as a whole.
	Account ledger.Config
	Claim   float64           // epsilon at Delta of everything released under it
	Lack    error             // why privacy loss distributions did not claim, where they were asked
	By      accountant.Method // who proved Claim; in mode Filter the budget is by Rényi divergences
	Left    ledger.Left
}

// Run labels the votes, goes on with a run that was interrupted, or checks one that is complete; see the
// package comment. A refusal is an *[fault.Error]; over budget it is a *[BudgetError], and nothing is
// charged or written. When ctx ends, or anything fails, there are no labels and repeating the run costs
// nothing more.
func Run(ctx context.Context, c Config) (result Result, err error) {
	j := job{Config: c}
	if err := j.check(); err != nil {
		return Result{}, err
	}
	err = j.run(ctx).Do(ctx, func(s *run.Session, done []run.Done) error {
		result, err = j.result(ctx, s.Ledger, done[0])
		return err
	})
	return result, sealed(err)
}

// maxPool bounds the name of a pool, in bytes.
const maxPool = 256

// check refuses what no run could have, and reads the predictions, which are public.
func (j *job) check() error {
	if err := j.checkPlaces(); err != nil || j.Plan != nil {
		return err
	}
	s, err := j.setting()
	if err == nil {
		err = s.check()
	}
	switch {
	case err != nil:
		return &fault.Error{What: "there is no such mechanism", Err: err}
	case s.d.Predicts != (j.Predictions != ""):
		return errors.New("label: Config.Predictions is for mechanisms that compare votes with predictions, which need it")
	case s.d.Predicts && j.Votes.Teachers() == 0:
		return &fault.Error{What: "the number of teachers is not known", Why: "predictions are turned into their votes", Fix: "state it"}
	case s.d.Predicts:
		j.predictions, err = checkPredictions(j.Predictions, j.Votes.Classes(), j.Votes.Total())
	}
	return err
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
		return &fault.Error{What: "an array has no mark that its labels must not be released",
			Why: "every output of a run with a seed, or for which a refusal was waived, has one",
			Fix: "write .csv, .jsonl or .parquet"}
	}
	out, err := filepath.Abs(c.Out)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	book, err := filepath.Abs(c.Ledger)
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	if isLedger(out, book) {
		return &fault.Error{What: c.Out + " is the ledger", Fix: "write the labels elsewhere"}
	}
	for _, path := range []string{c.Out, c.Ledger} {
		if there, err := durable.Exists(filepath.Dir(path)); err != nil || !there {
			return &fault.Error{What: "there is no folder for " + path, Fix: "make it", Err: err}
		}
	}
	return nil
}
