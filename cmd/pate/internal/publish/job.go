package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"

	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/student/published"
	teaching "github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/student"
)

// job is one run of the command.
type job struct {
	results.Folder
	flags *publishFlags
	g     *shell.Globals
	begun bool // a run is there
	key   rng.Key
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

// method is one way to learn from private rows.
type method interface {
	// release carries out all steps and writes the results.
	release(context.Context) (*report, error)
}

// run carries out the command. Before anything is made or charged the private rows are read, and
// refused if they cannot be used: after that nothing in them stops a run. A run that is complete
// is recognised by its configuration and a hash of its data.
func (j *job) run(ctx context.Context, private string, reading dataset.Reading) (r *report, err error) {
	var m method
	var data [32]byte
	if j.flags.method == methodDPSGD {
		m, data, err = j.lookModel(ctx, private)
	} else {
		m, data, err = j.lookVotes(ctx, teaching.Job{
			Private: j.flags.PrivateSource(private), Public: j.flags.PublicSource(), Reading: reading, Teachers: j.flags.teachers, Size: j.flags.size, Learner: j.flags.learner,
			Unit: j.flags.UnitWord(), Out: j.Private("votes.npy"), Secrets: j.Private("teachers"),
		})
	}
	if err != nil {
		return nil, err
	}
	folder, err := j.open(ctx, private)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if folder.Finished {
		if err := folder.CheckMadeOf(data, "what is in "+j.flags.out); err != nil {
			return nil, err
		}
		j.say("this release is complete; nothing was trained")
		r, err = j.kept()
	} else {
		r, err = j.make(ctx, &folder, m, data)
	}
	if err == nil && j.flags.destroy {
		err = j.destroySecrets()
	}
	if err == nil && folder.Finished {
		err = j.publish(r)
	}
	return r, err
}

// make carries out a run, or what is left of it. It finds what an earlier process left: the
// teachers their votes, the labels their charge and key, and everything after the labels is a
// function of these and of public rows. What is published leaves when all of it is there.
func (j *job) make(ctx context.Context, folder *experiments.Folder, m method, data [32]byte) (*report, error) {
	if left, err := os.ReadDir(j.Public()); err == nil && len(left) > 0 {
		return nil, shell.ErrReleased(j.Public(left[0].Name()), "the run in "+j.Private()+" has not released it")
	}
	if err := durable.PrivateFolder(j.made("")); err != nil {
		return nil, err
	}
	j.key = folder.Key
	r, err := m.release(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = j.Keep(keptReport, text)
	}
	if err != nil {
		return nil, err
	}
	return r, folder.Finish(data)
}

func (j *job) say(text string) {
	j.bar.Clear()
	j.g.Logf("%s", text)
}

// releasable says whether what is made may be published.
func (j *job) releasable() bool { return !j.g.Seeded }

// made returns where a result is made. What may be published is copied from there when all is
// complete.
func (j *job) made(name string) string {
	if j.releasable() {
		return j.Private("published", name)
	}
	path, _ := j.Result(false, name)
	return path
}

// write writes a result.
func (j *job) write(name string, write func(io.Writer) error) error {
	return durable.WriteFile(j.made(name), 0o600, write)
}

// writeBytes writes a result that is there.
func (j *job) writeBytes(name string, text []byte) error {
	return j.write(name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// read reads the labels that were released, of rows of the pool.
func (j *job) read(t *teaching.Result, rows []int) (published.Labels, error) {
	f, err := durable.OpenRegular(j.made(labelsFile))
	if err != nil {
		return published.Labels{}, err
	}
	defer f.Close()
	l, err := published.ReadLabels(f, t.Queries, rows, nil)
	l.Classes = t.Classes // the file has their numbers
	return l, err
}

// tables writes which rows the labels are of, and both together.
func (j *job) tables(t *teaching.Result, rows []int) error {
	labels, err := j.read(t, rows)
	if err != nil {
		return err
	}
	var labelled bytes.Buffer
	if err := labels.Write(&labelled); err != nil {
		return err
	}
	if err := j.writeBytes(queriesFile, queriesOf(rows[:labels.Asked])); err != nil {
		return err
	}
	return j.writeBytes(labelledFile, labelled.Bytes())
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
	return m.Save(j.made(studentFile), 0o600)
}

// statement writes the statement, and a copy of the ledger that it is about. The ledger
// committed to a file of that name.
func (j *job) statement(released ...string) error {
	text, err := os.ReadFile(j.Private(ledgerFile))
	if err != nil {
		return err
	}
	if err := j.writeBytes(ledgerFile, text); err != nil {
		return err
	}
	file, known, err := shell.OpenLedgerFile(j.Private(ledgerFile))
	if err != nil {
		return err
	}
	defer file.Close()
	var files []statement.File
	for _, name := range released {
		left, err := os.ReadFile(j.made(name))
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
	return j.write(statementFile, s.WriteHTML)
}
