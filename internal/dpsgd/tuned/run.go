package tuned

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/tune"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// Files of a run, in the private half of its folder.
const (
	ledgerFile  = "ledger/tuned.jsonl" // unless it is a shared one
	stateFile   = "tuned.json"
	searchState = "search"
)

// ModelFile returns the path of the chosen model in the folder of a run.
func ModelFile(dir string, releasable bool) string {
	path, _ := results.Folder(dir).Result(releasable, "models", "tuned.model")
	return path
}

// ErrOtherRun is returned where a folder holds a search on other data or of another kind.
var ErrOtherRun = errors.New("tuned: the folder holds another run")

// Nothing is what the file of the model says where the law drew no run.
const Nothing = "nothing was chosen: the number of runs was drawn as 0\n"

// state is what a run keeps on disk: what it costs, before it is charged, and its result.
type state struct {
	ID     string     `json:"id"`
	Price  tune.Price `json:"price"`
	Result *Result    `json:"result,omitempty"`
}

// Run makes the search and returns what was chosen. The file of the model is
// that of [ModelFile]. Run may be interrupted and called again with the same Config: it
// goes on where it stopped, to the same answer, and is charged once.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	j, err := cfg.newJob()
	switch {
	case err != nil:
		return nil, err
	case j.Key.IsZero():
		return nil, fmt.Errorf("%w: Key is empty", ErrConfig)
	case j.Dir == "":
		return nil, fmt.Errorf("%w: Dir is empty", ErrConfig)
	}
	if err := durable.PrivateFolder(j.path("ledger")); err != nil {
		return nil, fmt.Errorf("tuned: %w", err)
	}
	id, err := j.id()
	if err != nil {
		return nil, err
	}
	done, err := j.load(id)
	if err != nil {
		return nil, err
	}
	if done.Result == nil {
		if err := j.release(ctx, &done); err != nil {
			return nil, err
		}
	}
	return done.Result, j.clean()
}

func (j *job) path(name string) string {
	return results.Folder(j.Dir).Private(filepath.FromSlash(name))
}

// clean removes what only an unfinished search needs, the scores of other runs among it.
func (j *job) clean() error {
	if err := os.RemoveAll(j.path(searchState)); err != nil {
		return fmt.Errorf("tuned: %w", err)
	}
	return nil
}

// id names the run, by all that its outcome depends on, under its secret key.
func (j *job) id() (string, error) {
	hash := j.Task.Hash()
	settings, err := json.Marshal(j.Settings)
	if err != nil {
		return "", fmt.Errorf("tuned: %w", err)
	}
	run := fmt.Appendf(nil, "%v %v %v %v %v %+v %s", j.Delta, j.Epsilon, j.Law.Eta, j.Law.Gamma, j.Law.Mean, j.plans, settings)
	if j.Private != nil {
		run = fmt.Appendf(run, " %+v", *j.Private)
	}
	if j.Records > 0 {
		run = fmt.Appendf(run, " of %d", j.Records)
	}
	text, err := j.Key.DeriveBytes("tuned data", hash[:]).DeriveBytes("tuned run", run).MarshalText()
	if err != nil {
		return "", fmt.Errorf("tuned: %w", err)
	}
	return hex.EncodeToString(text[len(text)-16:]), nil
}

func (j *job) load(id string) (s state, err error) {
	text, err := os.ReadFile(j.path(stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return state{ID: id}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	switch {
	case err != nil:
		return s, fmt.Errorf("tuned: %w", err)
	case s.ID != id:
		return s, fmt.Errorf("%w: %s was made of other data or with other settings", ErrOtherRun, j.Dir)
	}
	return s, nil
}

func (j *job) save(s state) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = durable.WriteBytes(j.path(stateFile), 0o600, text)
	}
	if err != nil {
		return fmt.Errorf("tuned: %w", err)
	}
	return nil
}

// runName is that of the run on a shared ledger.
func (j *job) runName(id string) string {
	if j.Shared == nil {
		return ""
	}
	return "pate tune " + id
}

// settle chooses the noise and opens the ledger; the noise is on disk before anything is
// charged.
func (j *job) settle(ctx context.Context, s *state) (*run.Book, error) {
	if j.Shared != nil {
		book, err := j.Shared.File.Open(ctx, j.Shared.Account)
		if err == nil {
			if err = j.price(ctx, book.Ledger, s); err != nil {
				book.Close()
			}
		}
		return book, err
	}
	if err := j.price(ctx, nil, s); err != nil {
		return nil, err
	}
	noise := ledger.SeededNoise
	if j.Key.Releasable() {
		noise = ledger.SecretNoise
	}
	file := run.File{Path: j.path(ledgerFile), New: ledger.Config{
		Unit: j.Unit, Relation: relation, Epsilon: j.Epsilon, Delta: j.Delta, Run: s.ID, Noise: noise, Waived: j.Task.Waived(),
	}}
	account, _, err := file.Look()
	if err != nil {
		return nil, err
	}
	return file.Open(ctx, account)
}

// TryLedger checks, before anything is written, that a new run fits the shared ledger, which
// may not be there yet: the error is the one that Run would return.
func (c Config) TryLedger(ctx context.Context, fresh bool) error {
	j, err := c.newJob()
	if err != nil {
		return err
	}
	var l *ledger.Ledger
	if fresh {
		if l, err = run.Trial(j.Shared.Account); err != nil {
			return err
		}
		defer l.Close()
	} else {
		book, err := j.Shared.File.Open(ctx, j.Shared.Account)
		if err != nil {
			return err
		}
		defer book.Close()
		l = book.Ledger
	}
	price, err := j.priceOn(ctx, l)
	if err != nil {
		return err
	}
	run, err := j.event(price.Noise)
	if err != nil {
		return err
	}
	if err := l.Try(j.Law.Event(run)); err != nil {
		return fmt.Errorf("tuned: %w", err)
	}
	return nil
}

// price settles what the search costs: for its epsilon, or for what is left of a ledger.
func (j *job) price(ctx context.Context, shared *ledger.Ledger, s *state) error {
	if s.Price.Noise != 0 {
		return nil
	}
	if shared != nil {
		for _, run := range shared.Runs() {
			if run.Name == j.runName(s.ID) {
				return fmt.Errorf("tuned: %s charged this run, and %s, which knows its noise, is gone", j.Shared.File.Path, j.path(stateFile))
			}
		}
	}
	var err error
	if s.Price, err = j.priceOn(ctx, shared); err != nil {
		return err
	}
	return j.save(state{ID: s.ID, Price: s.Price})
}

// priceOn returns the price for an epsilon, or for what is left of a ledger.
func (j *job) priceOn(ctx context.Context, shared *ledger.Ledger) (tune.Price, error) {
	if j.Epsilon != 0 {
		return j.quote(ctx)
	}
	return j.priceOfRest(ctx, shared)
}

// priceOfRest returns the price of a search that takes all that is left of a ledger.
func (j *job) priceOfRest(ctx context.Context, shared *ledger.Ledger) (tune.Price, error) {
	search := func(noise float64) (accountant.Event, error) {
		run, err := j.event(noise)
		if err != nil {
			return nil, err
		}
		return j.Law.Event(run), nil
	}
	noise, err := shared.LeastNoise(ctx, search)
	if errors.Is(err, accountant.ErrNoBracket) {
		return tune.Price{}, fmt.Errorf("%w: %w", recipe.ErrSpent, err)
	}
	if err != nil {
		return tune.Price{}, fmt.Errorf("tuned: noise: %w", err)
	}
	e, err := search(noise)
	if err != nil {
		return tune.Price{}, err
	}
	b, err := accountant.Epsilon(ctx, accountant.ByRDP, relation, j.Delta, e)
	if err != nil {
		return tune.Price{}, fmt.Errorf("tuned: %w", err)
	}
	return tune.PriceAt(ctx, j.Law, relation, accountant.Target{Epsilon: b.Upper, Delta: j.Delta}, noise, j.event)
}

// release makes the search as one release on the ledger, and keeps the result.
func (j *job) release(ctx context.Context, s *state) error {
	book, err := j.settle(ctx, s)
	if err != nil {
		return err
	}
	defer book.Close()
	event, err := j.event(s.Price.Noise)
	if err != nil {
		return err
	}
	path, mode, err := results.Folder(j.Dir).Place(j.releasable(), "models", "tuned.model")
	if err != nil {
		return fmt.Errorf("tuned: %w", err)
	}
	var best *tune.Best
	was, err := book.Release(ctx, run.Release{
		Run: j.runName(s.ID), Events: []accountant.Event{j.Law.Event(event)}, Key: run.Key{Given: j.Key}, Redraw: true, // for the result
		Out: run.Out{Path: path, Mode: mode},
		Draw: func(reservations []*ledger.Reservation, key rng.Key, out io.Writer) error {
			search := tune.Search{
				Law: j.Law, Settings: len(j.Settings), Event: event, Relation: relation,
				Run: j.run(s.Price), Dir: j.path(searchState), Every: j.Every,
			}
			var err error
			if best, err = tune.Select(ctx, search, reservations[0], key); err != nil {
				return err
			}
			file := []byte(Nothing)
			if best != nil {
				file = best.Output
			}
			_, err = out.Write(file)
			return err
		},
	})
	switch {
	case errors.Is(err, ledger.ErrBudgetExceeded) && !was.Recorded: // it may be settled otherwise when the ledger has room
		return fmt.Errorf("tuned: %w", errors.Join(err, os.Remove(j.path(stateFile))))
	case err != nil:
		return fmt.Errorf("tuned: %w", err)
	}
	return j.finish(ctx, s, best)
}

// finish keeps the result of a search whose model is written.
func (j *job) finish(ctx context.Context, s *state, best *tune.Best) error {
	var err error
	if s.Result, err = j.newResult(s.Price); err != nil {
		return err
	}
	if best != nil {
		accuracy, err := j.accuracy(ctx, ModelFile(j.Dir, j.releasable()))
		if err != nil {
			return err
		}
		s.Result.Chosen = j.chosen(*best, accuracy)
	}
	return j.save(*s)
}
