package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"html/template"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/student"
)

const schemaPublish = "pate.publish/1"

// Report describes a publication. It is public.
type Report struct {
	Schema     string              `json:"schema"`
	Method     string              `json:"method"`
	Public     int                 `json:"public"`         // rows
	Pool       string              `json:"pool,omitempty"` // what they were drawn from: none or marginals
	Teachers   int                 `json:"teachers,omitempty"`
	Reason     string              `json:"teachers_reason,omitempty"`
	Learner    string              `json:"learner,omitempty"`
	Classes    []string            `json:"classes"`
	Unit       string              `json:"unit"`
	Mechanism  string              `json:"mechanism,omitempty"`
	Asked      int                 `json:"asked,omitempty"`
	Released   int                 `json:"labels"`
	Training   *Training           `json:"training,omitempty"` // of one private model
	Student    string              `json:"kind,omitempty"`
	Held       *published.HeldBack `json:"held_back,omitempty"`
	Entry      int64               `json:"ledger_entry,omitempty"`
	Epsilon    float64             `json:"epsilon"`
	Delta      float64             `json:"delta"`
	Releasable bool                `json:"releasable"`
	Files      []File              `json:"files"`
}

// Training describes how a private model was trained. It is public.
type Training struct {
	Records     int     `json:"records"` // as declared
	RowsPerUnit int     `json:"rows_per_unit"`
	Features    string  `json:"features"`
	Steps       int     `json:"steps"`
	Probability float64 `json:"sampling_probability"`
	Noise       float64 `json:"noise_multiplier"`
	ClipNorm    float64 `json:"clip_norm"`
}

// File is a published file with its hash.
type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// names returns the names of the files, without the report's own.
func (r *Report) names() []string {
	var names []string
	for _, f := range r.Files {
		names = append(names, f.Name)
	}
	return names
}

// student writes which rows the labels are of, both together, and the student that learned from them, if
// there are any.
func (j *job) student(ctx context.Context, t *training.Result, rows []int, r *Report) error {
	f, err := durable.OpenRegular(j.made(labelsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	labels, err := published.ReadLabels(f, t.Queries, rows, nil)
	if err != nil {
		return err
	}
	labels.Classes = t.Classes // the file has their numbers
	if err := j.writeBytes(queriesFile, queriesOf(rows[:labels.Asked])); err != nil {
		return err
	}
	if err := j.write(labelledFile, labels.Write); err != nil || labels.Released == 0 {
		return err
	}
	provenance, err := published.Charged(j.dir.Private(ledgerFile), labels.SHA256)
	if err != nil {
		return err
	}
	m, err := published.Train(ctx, published.Config{Schema: t.Public, Pool: t.Pool, Labels: labels, Provenance: provenance,
		Progress: func(p student.Progress) { j.Progress("student: "+p.Stage, p.Done, p.Total) }})
	if err != nil {
		return err
	}
	if doubt := m.Doubt(labels); doubt != "" && j.Warn != nil {
		j.Warn(doubt)
	}
	r.Student, r.Entry, r.Held = m.Card.String(), provenance.Entry, &m.HeldBack
	return m.Save(j.made(studentFile), 0o600)
}

// statement writes the statement, and a copy of the ledger that it is about. The ledger committed to files
// of these names.
func (j *job) statement(released ...string) error {
	text, err := os.ReadFile(j.dir.Private(ledgerFile))
	if err != nil {
		return err
	}
	if err := j.writeBytes(ledgerFile, text); err != nil {
		return err
	}
	known, err := run.ReadHeads(j.dir.Private(ledgerFile))
	if err != nil {
		return err
	}
	var files []statement.File
	for _, name := range released {
		left, err := os.ReadFile(j.made(name))
		if err != nil {
			return err
		}
		files = append(files, statement.File{Name: name, SHA256: sha256.Sum256(left)})
	}
	s, err := statement.New(statement.Options{Files: files},
		statement.Source{Name: ledgerFile, Ledger: bytes.NewReader(text), Heads: known.Of, Compared: func() bool { return true }})
	if err != nil {
		return err
	}
	return j.write(statementFile, s.WriteHTML)
}

//go:embed report.html
var page string

// report hashes files and writes the page about them.
func (j *job) report(r *Report, files ...string) error {
	for _, name := range files {
		text, err := os.ReadFile(j.made(name))
		if errors.Is(err, fs.ErrNotExist) && name == studentFile { // every query was declined
			continue
		}
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		r.Files = append(r.Files, File{name, hex.EncodeToString(sum[:])})
	}
	t, err := template.New("report").Parse(page)
	if err != nil {
		return err
	}
	return j.write(reportFile, func(w io.Writer) error {
		return t.Execute(w, map[string]any{"R": r, "Classes": strings.Join(r.Classes, ", "),
			"Epsilon": number.DigitsUp(r.Epsilon, 5), "Held": r.Held.Percent()})
	})
}
