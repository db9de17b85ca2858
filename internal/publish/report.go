package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/internal/aggregate/nearby"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/teachers/training"
	"github.com/pate-go/pate/internal/template"
	"github.com/pate-go/pate/run"
	"github.com/pate-go/pate/student"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

const schemaPublish = "pate.publish/1"

// Report describes a publication. All fields are public.
type Report struct {
	Schema     string              `json:"schema"`
	Method     string              `json:"method"`
	Public     int                 `json:"public"`          // number of public rows
	Pool       string              `json:"pool,omitempty"`  // source of a drawn pool: none, marginals or tree
	Pairs      [][2]string         `json:"pairs,omitempty"` // columns that are paired, for a tree
	Units      int                 `json:"units,omitempty"` // declared number of units, if units vote
	Teachers   int                 `json:"teachers,omitempty"`
	Reason     string              `json:"teachers_reason,omitempty"`
	Learner    string              `json:"learner,omitempty"`
	Classes    []string            `json:"classes"`
	Unit       string              `json:"unit"`
	Mechanism  string              `json:"mechanism,omitempty"`
	Asked      int                 `json:"asked,omitempty"`
	Released   int                 `json:"labels"`
	Training   *Training           `json:"training,omitempty"` // for one private model
	Student    string              `json:"kind,omitempty"`
	Held       *published.HeldBack `json:"held_back,omitempty"`
	Utility    []statement.Share   `json:"utility,omitempty"` // accuracy on public rows with a known class
	Entry      int64               `json:"ledger_entry,omitempty"`
	Epsilon    float64             `json:"epsilon"`
	Delta      float64             `json:"delta"`
	Releasable bool                `json:"releasable"`
	Files      []File              `json:"files"`
}

// Training describes the DP-SGD training of a private model. All fields are public.
type Training struct {
	Records     int     `json:"records"` // declared number of records
	RowsPerUnit int     `json:"rows_per_unit"`
	Features    string  `json:"features"`
	Steps       int     `json:"steps"`
	Probability float64 `json:"sampling_probability"`
	Noise       float64 `json:"noise_multiplier"`
	ClipNorm    float64 `json:"clip_norm"`
}

type File struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

func (j *job) student(ctx context.Context, of *public, rows []int, r *Report) error {
	f, err := durable.OpenRegular(j.made(labelsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	labels, err := published.ReadLabels(f, of.pool.Len(), rows, nil)
	if err != nil {
		return err
	}
	labels.Classes, r.Released = of.Classes, labels.Released // the file contains class indices
	if err := j.writeBytes(queriesFile, queriesOf(rows[:labels.Asked])); err != nil {
		return err
	}
	if err := j.write(labelledFile, labels.Write); err != nil || labels.Released == 0 {
		return err
	}
	paid, err := published.Charged(j.dir.Private(ledgerFile), labels.SHA256)
	if err != nil {
		return err
	}
	m, err := published.Train(ctx, published.Config{Schema: of.Schema, Pool: of.pool, Labels: labels, Provenance: paid,
		Progress: func(p student.Progress) { j.Progress("student: "+p.Stage, p.Done, p.Total) }})
	if err != nil {
		return err
	}
	if doubt := m.HeldBack.Doubt; doubt != "" && j.Warn != nil {
		j.Warn(doubt)
	}
	r.Student, r.Entry, r.Held = m.Card.String(), paid.Entry, &m.HeldBack
	if slices.ContainsFunc(of.pool.Truth, func(class int) bool { return class >= 0 }) {
		predictions, err := m.Predict(ctx, of.pool)
		if err != nil {
			return err
		}
		r.Utility = m.Utility(predictions, of.pool, j.Group)
	}
	if err := m.Save(j.made(studentFile), 0o600); err != nil || j.Pool != PoolTree {
		return err
	}
	return j.table(ctx, m, of.Schema)
}

func (j *job) results(ctx context.Context, of *public, rows []int, r *Report) error {
	paid, files := j.poolFiles()
	if j.drawn != nil {
		r.Pool, r.Pairs = j.Pool, j.drawn.pairs()
	}
	err := j.student(ctx, of, rows, r)
	if err == nil {
		err = j.statement(r, append([]string{labelsFile}, paid...)...)
	}
	if err != nil {
		return err
	}
	files = append([]string{labelsFile, queriesFile, labelledFile, studentFile, statementFile, ledgerFile}, files...)
	if j.Pool == PoolTree {
		files = append(files, tableFile)
	}
	return j.report(r, files...)
}

func (j *job) statement(r *Report, released ...string) error {
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
	opt := statement.Options{Files: files, Facts: statement.Facts{Utility: r.Utility}}
	if text, err := os.ReadFile(j.made(studentFile)); err == nil && r.Method != DPSGD {
		opt.Derived = []statement.Derived{{Name: studentFile, SHA256: fmt.Sprintf("%x", sha256.Sum256(text)),
			From: fmt.Sprintf("%x", files[0].SHA256)}}
	}
	s, err := statement.New(opt,
		statement.Source{Name: ledgerFile, Ledger: bytes.NewReader(text), Heads: known.Of, Compared: func() bool { return true }})
	if err != nil {
		return err
	}
	r.Epsilon, r.Delta = float64(*s.Claims[0].Epsilon), s.Claims[0].Delta
	return j.write(statementFile, s.WriteHTML)
}

//go:embed report.html
var page string

func (j *job) report(r *Report, files ...string) error {
	for _, name := range files {
		text, err := os.ReadFile(j.made(name))
		if errors.Is(err, fs.ErrNotExist) && (name == studentFile || name == tableFile) { // every query was declined
			continue
		}
		if err != nil {
			return err
		}
		r.Files = append(r.Files, File{name, fmt.Sprintf("%x", sha256.Sum256(text))})
	}
	t, err := template.HTML("report", page, nil)
	if err != nil {
		return err
	}
	return j.write(reportFile, func(w io.Writer) error {
		text, err := t.Fill("report", map[string]any{"R": r, "Classes": strings.Join(r.Classes, ", "),
			"LabelsFor": map[bool]string{true: nearby.ForTraining}[r.Method == Nearest],
			"Epsilon":   number.DigitsUp(r.Epsilon, 5), "Held": r.Held.Percent(), "Constant": r.Held.Constant(r.Released)})
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		return err
	})
}

// label does not audit the votes, because this program trained the teachers on disjoint partitions.
func (v *voting) label(ctx context.Context, t *training.Result) (released label.Result, err error) {
	v.Progress("labels", 0, 1)
	defer v.Progress("labels", 1, 1)
	if v.labels.Votes, err = votes.Open(ctx, []string{t.Votes}, votes.Options{Classes: len(t.Classes)}); err != nil {
		return released, err
	}
	if v.drawn.counted() {
		var done run.Done
		if done, err = v.drawn.session.Next(ctx); err == nil {
			released, err = v.result(v.drawn.session, done)
		}
	} else {
		released, err = label.Run(ctx, v.labels)
	}
	if err == nil {
		v.Say(fmt.Sprintf("labels: %d of %d queries answered by %s, epsilon %s", released.Answered, released.Asked,
			released.Setting.Mechanism, number.DigitsUp(released.Claim, 5)))
	}
	return released, err
}

const askedRows = "queries.csv"

// questionsOf returns the n rows of the pool that are most useful for a student. The choice depends on public
// rows only. The rows are saved, because a resumed run on another machine could choose other rows.
func (j *job) questionsOf(ctx context.Context, of *public, n int) ([]int, error) {
	path := j.dir.Private(askedRows)
	durable.Sweep(path, "")
	text, err := os.ReadFile(path)
	if err == nil {
		if rows, ok := readRows(string(text), n, of.pool.Len()); ok {
			return rows, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rows, err := published.Questions(ctx, of.Schema, of.pool, n,
		func(p student.Progress) { j.Progress("queries: "+p.Stage, p.Done, p.Total) })
	if err != nil {
		return nil, err
	}
	return rows, durable.WriteBytes(path, 0o600, queriesOf(rows))
}

func queriesOf(rows []int) []byte {
	text := []byte("query,row\n")
	for q, row := range rows {
		text = fmt.Appendf(text, "%d,%d\n", q, row)
	}
	return text
}

func readRows(text string, n, pool int) ([]int, bool) {
	rows := make([]int, 0, n)
	for line := range strings.Lines(text) {
		_, cell, _ := strings.Cut(strings.TrimSpace(line), ",")
		if row, err := strconv.Atoi(cell); err == nil && row >= 0 && row < pool {
			rows = append(rows, row)
		}
	}
	return rows, len(rows) == n && string(queriesOf(rows)) == text
}
