package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/student/published"
	"github.com/pate-go/pate/teachers/label"
	teaching "github.com/pate-go/pate/teachers/training"
)

// job is one run of the command.
type job struct {
	results.Folder
	flags *publishFlags
	g     *shell.Globals
	bar   interface {
		Update(stage string, done, total int)
		Clear()
	}
}

// Names of the files that are published.
const (
	labelsFile    = "labels.csv"
	queriesFile   = "queries.csv"
	labelledFile  = "labelled.csv"
	studentFile   = "student.model"
	statementFile = "statement.html"
	reportFile    = "report.html"
	ledgerFile    = "ledger.jsonl"
)

// publish carries out all steps. Each of them finds what an earlier run left: the teachers
// their votes, the labels their charge and key, and everything after the labels is a
// function of these and of public rows.
func (j *job) publish(ctx context.Context, t teaching.Job) (r *report, err error) {
	if j.g.Seeded {
		t.Key = aggregate.SeedKey(j.g.Seed)
	}
	t.Progress = j.bar.Update
	t.Say = j.say
	t.Decided = func(r *teaching.Result) {
		j.bar.Clear()
		shell.ReadAloud(j.g, r.Columns, r.Repeated)
	}
	var pool *drawn
	if j.flags.drawn() {
		if t, pool, err = j.drawPool(ctx, t); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, pool.close()) }()
	}
	trained, err := teaching.Run(ctx, t)
	if err != nil {
		return nil, err
	}
	var released label.Result
	var rows []int
	if pool.counted() {
		released, rows, err = j.labelDrawn(ctx, trained, pool)
	} else {
		released, rows, err = j.label(ctx, trained)
	}
	if err != nil {
		return nil, err
	}
	r = &report{Schema: schemaPublish, Method: methodPATE, Public: trained.Queries, Teachers: trained.Teachers, Reason: trained.Reason, Learner: trained.Learner, Classes: trained.Classes,
		Unit: trained.Unit, Asked: released.Asked, Released: released.Answered, Mechanism: released.Setting.Mechanism, Epsilon: released.Claim, Delta: released.Delta, Releasable: released.Releasable}
	if err := j.tables(trained, rows); err != nil {
		return nil, err
	}
	if released.Answered > 0 {
		if err := j.student(ctx, trained, rows, r); err != nil {
			return nil, err
		}
	}
	left, files := []string{labelsFile}, []string{labelsFile, queriesFile, labelledFile, studentFile, statementFile, ledgerFile}
	if pool != nil {
		r.Pool, files = j.flags.pool, append(files, poolFile)
		if pool.counted() {
			left, files = append(left, marginalsFile), append(files, marginalsFile)
		}
	}
	if err := j.statement(left...); err != nil {
		return nil, err
	}
	if err := j.report(r, files...); err != nil {
		return nil, err
	}
	if pool.counted() {
		if err := pool.folder.Finish(pool.data); err != nil {
			return nil, err
		}
	}
	if j.flags.destroy {
		return r, j.destroySecrets(trained)
	}
	return r, nil
}

func (j *job) say(text string) {
	j.bar.Clear()
	j.g.Logf("%s", text)
}

// releasable says whether what is made may be published.
func (j *job) releasable() bool { return !j.g.Seeded }

// result returns the path of a result.
func (j *job) result(name string) string {
	path, _ := j.Result(j.releasable(), name)
	return path
}

// write writes a result.
func (j *job) write(name string, text []byte) error {
	return j.Write(j.releasable(), name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// read reads the labels that were released, of rows of the pool.
func (j *job) read(t *teaching.Result, rows []int) (published.Labels, error) {
	f, err := durable.OpenRegular(j.Private(labelsFile))
	if err != nil {
		return published.Labels{}, err
	}
	defer f.Close()
	l, err := published.ReadLabels(f, t.Queries, rows, nil)
	l.Classes = t.Classes // the file has their numbers
	return l, err
}

// tables writes the labels, and which rows they are of.
func (j *job) tables(t *teaching.Result, rows []int) error {
	labels, err := j.read(t, rows)
	if err != nil {
		return err
	}
	var labelled bytes.Buffer
	if err := labels.Write(&labelled); err != nil {
		return err
	}
	committed, err := os.ReadFile(j.Private(labelsFile))
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		text []byte
	}{{labelsFile, committed}, {queriesFile, queriesOf(rows[:labels.Asked])}, {labelledFile, labelled.Bytes()}} {
		if err := j.write(file.name, file.text); err != nil {
			return err
		}
	}
	return nil
}

// student trains and writes the student.
func (j *job) student(ctx context.Context, t *teaching.Result, rows []int, r *report) error {
	labels, err := j.read(t, rows)
	if err != nil {
		return err
	}
	provenance, err := published.Charged(j.Private(ledgerFile), labels.SHA256)
	if err != nil {
		return err
	}
	m, err := published.Train(ctx, published.Config{Schema: t.Public, Pool: t.Pool, Labels: labels, Provenance: provenance,
		Progress: func(p student.Progress) { j.bar.Update("student: "+p.Stage, p.Done, p.Total) }})
	if err != nil {
		return err
	}
	if doubt := m.Doubt(labels); doubt != "" {
		j.bar.Clear()
		j.g.Warn(doubt)
	}
	r.Student, r.Entry, r.Held = m.Card.String(), provenance.Entry, &m.HeldBack
	path, mode, err := j.Place(j.releasable(), studentFile)
	if err != nil {
		return err
	}
	return m.Save(path, mode)
}

// statement writes the statement, and a copy of the ledger that it is about. The ledger
// committed to a file of that name.
func (j *job) statement(released ...string) error {
	text, err := os.ReadFile(j.Private(ledgerFile))
	if err != nil {
		return err
	}
	if err := j.write(ledgerFile, text); err != nil {
		return err
	}
	file, known, err := shell.OpenLedgerFile(j.Private(ledgerFile))
	if err != nil {
		return err
	}
	defer file.Close()
	var files []statement.File
	for _, name := range released {
		left, err := os.ReadFile(j.result(name))
		if err != nil {
			return err
		}
		files = append(files, statement.File{Name: name, SHA256: sha256.Sum256(left)})
	}
	s, err := statement.Make(statement.Options{Files: files},
		statement.Source{Name: ledgerFile, Ledger: file, Kept: known.Kept(ledger.Head{}), Compared: func() bool { return true }})
	if err != nil {
		return err
	}
	return j.Write(j.releasable(), statementFile, s.WriteHTML)
}

// destroySecrets removes what only another run would need. The ledger stays, since what was
// charged stays spent.
func (j *job) destroySecrets(t *teaching.Result) error {
	for _, path := range []string{t.Votes, t.Manifest, j.Private(askedVotes), j.Private(askedRows), j.Private("teachers")} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	return durable.SyncDir(j.Private())
}
