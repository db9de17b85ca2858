package online

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/keyfile"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/tokens"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/run"
)

// Terms are the public values that identify the run in a folder.
type Terms struct {
	Settings
	Epsilon  float64 `json:"epsilon,omitempty"` // budget of a new ledger
	Delta    float64 `json:"delta"`
	Unit     string  `json:"unit"`
	Relation string  `json:"relation"`
	Ledger   string  `json:"ledger,omitempty"` // absolute path; "" for a ledger in the folder
	Seed     *uint64 `json:"seed,omitempty"`
	Rows     *Rows   `json:"rows,omitempty"` // of the mechanism Quota
}

// Rows names the files and columns of the mechanism Quota. Public rows resemble the questions.
type Rows struct {
	Private string `json:"private"` // absolute path, as Public
	Public  string `json:"public"`
	Label   string `json:"label,omitempty"`
	Unit    string `json:"unit,omitempty"`
	Text    string `json:"text,omitempty"`
	Other   string `json:"other_labels,omitempty"`
}

// Config describes a run that answers questions one at a time.
type Config struct {
	Out string // folder of the run
	// Voters reads rows for mechanism Quota, and is nil for other mechanisms.
	Voters  func() (*Voters, error)
	Terms   Terms
	Ledger  run.File // its Path is set if Terms.Ledger is
	Command string   // command that repeats the run
	NewKey  func() (rng.Key, error)
	// Serve answers questions until none are left or ctx ends. All noise parameters of s are set. The
	// argument `resumed` is true if the run was charged before.
	Serve func(ctx context.Context, s Settings, resumed bool, e *Engine) error
	// Finish makes Run release labels and destroy the key, if Serve returns nil before ctx ends.
	Finish bool
}

// Result describes a run after Serve.
type Result struct {
	Labels   string // path of the released labels, or "" for a run that may go on
	Complete bool   // the run was finished before
}

const (
	kind        = "serve"
	journalFile = "journal"
	labelsFile  = "labels.csv"
)

// OwnLedger returns the path of the ledger of a run in the folder `out`. The run uses this ledger if
// Terms.Ledger is empty.
func OwnLedger(out string) string { return results.Folder(out).Private("ledger.jsonl") }

// Describe describes a run by its name in a ledger. Describe returns "" for a run of another package.
func Describe(name string) string {
	var s Settings
	if is, text := run.Kind(name); is != kind || json.Unmarshal(text, &s) != nil {
		return ""
	}
	switch {
	case s.Quota != nil:
		return fmt.Sprintf("answers to questions, one at a time, by %d votes of a unit", s.Quota.Votes)
	case s.Queries == 0: // a screen counts only the answers of teachers
		return "answers to questions, one at a time"
	}
	return fmt.Sprintf("answers to %d questions, one at a time", s.Queries)
}

const (
	patience          = 2 * time.Second // timeout to open a folder that another process may use
	patienceForLedger = time.Minute     // timeout to open a shared ledger, read it and plan the run
)

var errStopped = errors.New("online: stopped")

type serving struct {
	Config
	dir     results.Folder
	folder  run.Folder
	session *run.Session
	as      Settings // with all noise, once there is a plan
	voters  *Voters  // nil if requests have votes
	done    bool     // the labels were committed before
	refused bool     // the run was not charged before, and its plan failed
}

// Run starts or resumes the run in the folder Config.Out, and serves. If Config.Finish is set, Run then
// finishes the run.
func Run(ctx context.Context, c Config) (result Result, err error) {
	s := &serving{Config: c, dir: results.Folder(c.Out)}
	known, err := durable.Exists(s.dir.Config())
	if err != nil {
		return result, err
	}
	if s.folder, err = alone(ctx, c.Out, patience, func(ctx context.Context) (run.Folder, error) {
		return run.OpenFolder(ctx, c.Out, run.Identity{Kind: kind, Settings: c.Terms, Command: c.Command}, c.NewKey)
	}); err != nil {
		return result, err
	}
	defer s.folder.Close()
	if s.folder.Finished {
		result.Complete = true
		result.Labels, err = s.dir.Find(labelsFile)
		return result, err
	}
	if s.Voters != nil {
		if s.voters, err = s.Voters(); err != nil {
			return result, err
		}
	}
	file := s.Ledger
	if file.Path == "" {
		file.Path = OwnLedger(c.Out)
	}
	out, mode, err := s.dir.Place(s.folder.Key.Releasable() && file.New.Withheld() == "", labelsFile)
	if err != nil {
		return result, err
	}
	r := run.Run{File: file, Kind: kind, Key: s.folder.Key, Plan: s.plan, Stages: []run.Stage{{Out: out, Mode: mode,
		Draw: func(r []*ledger.Reservation, key rng.Key, out io.Writer) error { return s.draw(ctx, r[0], key, out) }}}}
	if s.voters != nil {
		r.Units = run.Units{N: s.Terms.Quota.Units, Noun: s.Terms.Unit + "s"}
	}
	if s.Ledger.Path == "" { // nobody else uses the ledger of a folder that is locked
		s.session, err = r.Open(ctx)
	} else {
		s.session, err = alone(ctx, file.Path, patienceForLedger, r.Open)
	}
	if s.refused && !known {
		err = errors.Join(err, s.folder.Forget())
	}
	if err != nil {
		return result, err
	}
	defer s.session.Close()
	if err := s.prepare(); err != nil {
		return result, err
	}
	switch _, err := s.session.Next(ctx); {
	case errors.Is(err, errStopped):
		return result, nil
	case err != nil:
		return result, err
	}
	if err := s.folder.Finish([32]byte{}); err != nil {
		return result, err
	}
	if err := s.forget(); err != nil {
		return result, err
	}
	_, err = s.dir.Settle()
	return Result{Labels: out}, err
}

func (s *serving) forget() error {
	err := keyfile.Destroy(s.dir.Private(journalFile))
	if s.voters != nil {
		err = errors.Join(err, keyfile.Destroy(s.dir.Private(unitsFile)))
	}
	return err
}

func alone[T any](ctx context.Context, path string, patience time.Duration, open func(context.Context) (T, error)) (T, error) {
	brief, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	opened, err := open(brief)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = &fault.Error{What: path + " is in use by another process", Why: "two labellers would answer one question twice",
			Fix: "send the questions to the labeller that is running, or stop it first", Err: err}
	}
	return opened, err
}

func (s *serving) plan(ctx context.Context, before *run.Before) (p run.Plan, err error) {
	name, err := run.ID(s.folder.Key, kind, nil, nil)
	if err != nil {
		return p, err
	}
	p.Inputs = []byte(name)
	if p.Same, err = before.Find(p.Inputs, &s.as); err != nil {
		return p, err
	}
	s.done = p.Same != nil && p.Same.Committed
	defer func() { s.refused = p.Same == nil && err != nil }()
	if p.Same == nil {
		s.as, err = s.Terms.Settings.choose(func(event func(noise float64) (accountant.Event, error)) (float64, error) {
			return before.LeastNoise(ctx, event)
		})
	}
	if err != nil {
		return p, err
	}
	if s.voters != nil {
		if err := s.voters.check(*s.as.Quota); err != nil {
			return p, err
		}
	}
	e, err := s.as.Event()
	if err == nil && p.Same == nil {
		err = before.Try(e)
	}
	p.Events, p.Settings = [][]accountant.Event{{e}}, s.as
	return p, err
}

// prepare makes the journal, and for mechanism Quota the file of unit hashes, before the charge. So if a
// charged run has no journal, the journal was lost.
func (s *serving) prepare() error {
	path := s.dir.Private(journalFile)
	there, err := durable.Exists(path)
	switch {
	case err != nil || s.done:
		return err
	case there && s.session.Recorded:
		return s.checkUnits()
	case s.session.Recorded:
		return &fault.Error{What: path + " is missing", Why: "only the journal shows which questions were answered",
			Fix: "restore the file", Check: true}
	case !there:
		if err := s.checkUnits(); err != nil {
			return err
		}
		return makeJournal(path)
	}
	j, err := openJournal(path, s.folder.Key, func(record) error {
		return &fault.Error{What: path + " has answers, but the ledger has no charge of the run",
			Why: "the ledger was replaced by an older copy or by another ledger", Fix: "restore the ledger", Check: true}
	})
	if err != nil {
		return err
	}
	return errors.Join(j.file.Close(), s.checkUnits())
}

func (s *serving) checkUnits() error {
	if s.voters == nil {
		return nil
	}
	return s.voters.checkUnits(s.dir.Private(unitsFile), s.folder.Key, s.session.Recorded)
}

func (s *serving) draw(ctx context.Context, r *ledger.Reservation, key rng.Key, out io.Writer) error {
	start := s.as.start
	if s.voters != nil {
		start = func(r *ledger.Reservation, key rng.Key) (Answerer, error) { return s.voters.start(*s.as.Quota, r, key) }
	}
	m, err := start(r, key)
	if err != nil {
		return err
	}
	e, err := Open(ctx, s.dir.Private(journalFile), key, m, s.Ledger.Warn)
	if err != nil {
		return err
	}
	finish := s.Finish
	if s.done { // the file of the labels has no name yet
		finish = true
	} else {
		err = s.Serve(ctx, s.as, s.session.Recorded, e)
	}
	err = errors.Join(err, e.Stop())
	if err == nil && (!finish || ctx.Err() != nil) {
		err = errStopped
	}
	if err != nil {
		return err
	}
	return s.write(key, out)
}

func (s *serving) write(key rng.Key, out io.Writer) error {
	w := csv.NewWriter(out)
	column := "label"
	if !key.Releasable() {
		column = "label_not_releasable"
	}
	err := w.Write([]string{"query", column, "source"})
	if err != nil {
		return err
	}
	j, err := openJournal(s.dir.Private(journalFile), key, func(r record) error {
		label := ""
		switch {
		case r.answer.Token != tokens.None && s.as.Classes != nil:
			label = s.as.Classes[r.answer.Token]
		case r.answer.Token != tokens.None:
			label = strconv.Itoa(r.answer.Token)
		}
		return w.Write([]string{string(r.query), label, string(r.answer.Source)})
	})
	if err != nil {
		return fmt.Errorf("online: %w", err)
	}
	defer j.file.Close()
	w.Flush()
	return w.Error()
}
