package label

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/teachers/votes"
)

// Config describes the labels, the mechanism and the budget.
type Config struct {
	Ledger string // path of the ledger, created if missing; required
	// Account configures a new ledger. Run, Data and Noise are ignored. Waived must equal the value of an
	// existing ledger. In mode Reserved, an empty Accountant selects the tightest accountant. In mode Filter,
	// if the mechanism has a failure probability, a FailureDelta of 0 becomes Delta/2.
	Account ledger.Config
	Expect  Expect // required properties of an existing ledger
	Out     string // path of the labels; the extension determines the [Form]; required
	Pool    string // name of the set of public records that the queries come from; required
	Votes   *votes.Source
	// Setting is a mechanism of package mechanisms. If noise is missing, Run chooses noise that uses the
	// remaining budget. Run ignores Queries, Teachers and Predict, because Votes and Predictions determine
	// them.
	Setting aggregate.Setting
	// Plan, if not nil, chooses mechanism, noise and queries in place of Setting.
	Plan *Planning
	// Accept, if not nil, receives the setting of a new run before the charge. An error refuses the run.
	Accept func(aggregate.Setting) error
	// Predictions is the path of a CSV file for the mechanism "interactive". The file must be computed only
	// from public data. The file has a line per query of the votes file, with a probability for each class.
	Predictions string
	// Seed, if not nil, makes the experiment repeatable. The labels must then not be released.
	Seed *uint64
	// Each, if not nil, receives every answer, even if an earlier call completed the run. A declined query
	// has class -1.
	Each func(query uint64, class int)
	// Progress, if not nil, receives the number of finished queries and the number of all queries.
	Progress func(done, total int)
	// Warn, if not nil, receives warnings that do not stop the run.
	Warn func(string)
}

// Expect holds required settings of an existing ledger. Zero fields allow any value.
type Expect = run.Expect

// Result describes the released labels. All fields are public, except Votes.
type Result struct {
	Asked, Answered, Declined int
	NotAsked                  int               // queries after a cap on answers was reached
	Setting                   aggregate.Setting // with all noise
	Calibrated                bool              // the noise was chosen to fit the budget
	Epsilon                   float64           // privacy cost of these labels alone, at Delta, rounded up
	Pilot                     *Pilot            // released before the plan; nil without one
	Delta                     float64
	Releasable                bool
	Resumed                   bool              // an earlier call charged this run
	Complete                  bool              // an earlier call completed the run: nothing was drawn
	Entry                     int64             // index of this run's entry in the ledger
	SHA256                    [sha256.Size]byte // hash of the labels file, as committed to the ledger
	Votes                     *votes.Source     // votes on the labelled queries
	// Account, Claim, Lack, By and Left describe the whole ledger.
	Account ledger.Config
	Claim   float64           // epsilon at Delta of everything charged to the ledger
	Lack    error             // why accounting by privacy loss distributions was requested but gave no claim
	By      accountant.Method // accountant of Claim; in mode Filter the budget uses Rényi divergences
	Left    ledger.Left
}

// Run labels the votes, resumes an interrupted run, or checks a complete run. A refusal is a *[fault.Error].
// If the run exceeds the budget, the error is a *[BudgetError], and nothing is charged or written. If ctx
// ends or an error occurs, no labels are written. A repeated run adds no cost.
func Run(ctx context.Context, c Config) (result Result, err error) {
	j := job{Config: c}
	if err := j.check(); err != nil {
		return Result{}, err
	}
	if j.Plan != nil && j.Plan.Pilot != nil {
		if err := j.piloted(ctx); err != nil {
			return Result{}, sealed(err)
		}
	}
	err = j.run(ctx).Do(ctx, func(s *run.Session, done []run.Done) error {
		result, err = j.result(ctx, s.Ledger, done[0])
		return err
	})
	return result, sealed(err)
}

const maxPool = 256

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
		return errors.New("label: Config.Predictions must be set exactly for mechanisms that compare votes with predictions")
	case s.d.Predicts && j.Votes.Teachers() == 0:
		return &fault.Error{What: "the number of teachers is not known", Why: "predictions are converted to votes", Fix: "give the number"}
	case s.d.Predicts:
		j.predictions, err = checkPredictions(j.Predictions, j.Votes.Classes(), j.Votes.Total())
	}
	return err
}

func (c Config) checkPlaces() error {
	switch {
	case c.Ledger == "":
		return errors.New("label: Config.Ledger is empty: a release must be charged to a ledger file")
	case c.Out == "":
		return errors.New("label: Config.Out is empty")
	case c.Pool == "":
		return errors.New("label: Config.Pool is empty: it must name the public records of the queries")
	case len(c.Pool) > maxPool || !utf8.ValidString(c.Pool):
		return &fault.Error{What: "the name of the pool is too long or not UTF-8", Fix: "choose a shorter name"}
	case c.Votes == nil:
		return errors.New("label: Config.Votes is nil")
	case c.Votes.Queries() == 0:
		return &fault.Error{What: "there is no query to answer", Fix: "choose queries for which there are votes"}
	case (c.Seed != nil || len(c.Account.Waived) > 0) && FormOf(c.Out) == NPY:
		return &fault.Error{What: "a .npy file cannot be marked as not releasable",
			Why: "every output of a run with a seed or a skipped check has this mark",
			Fix: "end the name in .csv, .jsonl or .parquet"}
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
		return &fault.Error{What: c.Out + " is the ledger", Fix: "choose another file for the labels"}
	}
	for _, path := range []string{c.Out, c.Ledger} {
		if there, err := durable.Exists(filepath.Dir(path)); err != nil || !there {
			return &fault.Error{What: "the folder of " + path + " does not exist", Fix: "create the folder", Err: err}
		}
	}
	return nil
}

const kind = "label"

type identity struct {
	Pool        string             `json:"pool"`
	Queries     [2]int             `json:"queries"` // from, to; to is exclusive
	Mechanism   string             `json:"mechanism"`
	Parameters  map[string]float64 `json:"parameters,omitempty"`
	Teachers    int                `json:"teachers,omitempty"`
	Classes     int                `json:"classes"`
	Predictions string             `json:"predictions,omitempty"` // hash of the predictions file
}

func (c Config) identity(predictions string) (identity, error) {
	s, err := c.setting()
	if err != nil {
		return identity{}, err
	}
	from, to := c.Votes.Range()
	id := identity{Pool: c.Pool, Queries: [2]int{from, to}, Classes: c.Votes.Classes(), Predictions: predictions}
	id.take(s)
	return id, nil
}

func (id *identity) take(s setting) {
	id.Mechanism, id.Parameters, id.Teachers = s.s.Mechanism, s.s.Values, s.s.Teachers
}

func (id identity) setting() setting {
	d, err := mechanisms.Find(id.Mechanism)
	if err != nil {
		panic(err)
	}
	return setting{d, aggregate.Setting{Mechanism: id.Mechanism, Values: id.Parameters, Teachers: id.Teachers,
		Queries: id.Queries[1] - id.Queries[0]}}
}

// Describe returns a description of a run in a ledger, such as "labels of queries 0:640 of POOL". For an
// unreadable run or a run of another kind, Describe returns "".
func Describe(name string) string {
	var id identity
	if is, settings := run.Kind(name); is != kind || json.Unmarshal(settings, &id) != nil {
		return ""
	}
	what := "labels of"
	if id.Mechanism == pilotName {
		what = "mean largest count of the votes on"
	}
	return fmt.Sprintf("%s queries %d:%d of %s", what, id.Queries[0], id.Queries[1], id.Pool)
}

type recorded struct {
	*run.Recorded
	id identity
}

func recordedRuns(before *run.Before) (labels, pilots []recorded, err error) {
	for i := range before.Recorded {
		r := recorded{Recorded: &before.Recorded[i]}
		err := r.Read(&r.id)
		if err == nil && r.id.Mechanism == pilotName {
			pilots = append(pilots, r)
			continue
		}
		if err == nil {
			_, err = mechanisms.Find(r.id.Mechanism)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("label: %w", err)
		}
		labels = append(labels, r)
	}
	return labels, pilots, nil
}

func at(runs []recorded, pool string, query int) *recorded {
	for i, r := range runs {
		if r.id.Pool == pool && r.id.Queries[0] <= query && query < r.id.Queries[1] {
			return &runs[i]
		}
	}
	return nil
}

func find(runs []recorded, asked identity, votes []byte) (*recorded, error) {
	for i, r := range runs {
		same, err := r.Of(votes)
		if err != nil {
			return nil, err
		}
		if !(r.id.Pool == asked.Pool || same) || r.id.Queries[0] >= asked.Queries[1] || asked.Queries[0] >= r.id.Queries[1] {
			continue
		}
		var differ []string
		if !same {
			differ = append(differ, "other votes")
		}
		if differ = append(append(differ, r.id.differences(asked)...), r.Differs...); differ == nil {
			return &runs[i], nil
		}
		state := "was started"
		if r.Committed {
			state = "is complete"
		}
		return nil, run.OtherRun(fmt.Sprintf("another run, which %s, has asked queries %d:%d of pool %q",
			state, r.id.Queries[0], r.id.Queries[1], r.id.Pool),
			differ, "an answered query is never answered again with fresh noise", "repeat that run without changes, or ask other queries")
	}
	return nil, nil
}

func (id identity) differences(asked identity) []string {
	var out []string
	differ := func(name string, recorded, asked any) {
		if recorded != asked {
			out = append(out, fmt.Sprintf("%s %v, not %v", name, recorded, asked))
		}
	}
	differ("pool", id.Pool, asked.Pool)
	differ("queries", fmt.Sprintf("%d:%d", id.Queries[0], id.Queries[1]), fmt.Sprintf("%d:%d", asked.Queries[0], asked.Queries[1]))
	differ("mechanism", id.Mechanism, asked.Mechanism)
	if id.Mechanism == asked.Mechanism {
		for _, p := range id.setting().d.Parameters {
			if want, given := asked.Parameters[p.Name]; given || !p.Chosen() {
				differ(p.Name, id.Parameters[p.Name], want)
			}
		}
	}
	if id.Predictions != asked.Predictions {
		out = append(out, "other predictions")
	}
	return out
}

func isLedger(path, ledger string) bool {
	rest, ok := strings.CutPrefix(path, ledger)
	return ok && (rest == "" || strings.HasPrefix(rest, ".pilot-") || ledger+rest == run.IDFile(ledger) || ledger+rest == run.HeadFile(ledger))
}
