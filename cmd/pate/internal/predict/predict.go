// Package predict is the command `pate predict`, which predicts labels with a student or a DP-SGD model.
package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/sealed"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
)

type flags struct {
	data                        shell.DataFlags
	out                         string
	scored, public, probability bool
}

func New(g *shell.Globals) *cobra.Command {
	var f flags
	cmd := shell.Command("predict MODEL ROWS", "seed delta", shell.Wants(cobra.ExactArgs(2), nil),
		func(cmd *cobra.Command, args []string) error {
			f.data.Data = args[1]
			return f.run(cmd, g, args[0])
		})
	d := &f.data
	d.Columns.Add(cmd.Flags())
	d.AddReading(cmd.Flags())
	shell.Declare(cmd.Flags(), "predict", shell.To{"out": &f.out, "labels": &d.Labels, "probability": &f.probability,
		"public-rows": &f.public, "scored": &f.scored, "label": &d.Label, "unit": &d.Unit, "units": &d.Units, "split": &d.Split})
	shell.CompleteArgs(cmd, shell.Files("model", "csv", "jsonl", "npy", "parquet"))
	return cmd
}

type report struct {
	first                       shell.Object // fields of the JSON before rows
	kind, unit                  string
	rows                        int
	known                       *int     // number of rows with a label; nil for a DP-SGD model
	accuracy                    *float64 // on the rows with a label
	epsilon                     *float64 // epsilon of the model
	delta                       float64
	trusted, public, releasable bool // the model is releasable, the rows are public, both
	answers                     []answer
	columns                     []string // names of the probability columns
}

func (r report) object(answers []answer) shell.Object {
	o := append(r.first, "rows", r.rows, "labelled?", r.known, "accuracy?", r.accuracy, "epsilon?", r.epsilon, "delta?", r.delta,
		"unit?", r.unit, "releasable", r.releasable)
	if r.known != nil { // a student
		return append(o, "predictions?", answers)
	}
	return append(o, "public_rows", r.public, "labels?", answers)
}

type answer struct {
	Row           string    `json:"row"`
	Label         string    `json:"label"`
	Probability   *float64  `json:"probability,omitempty"`
	Probabilities []float64 `json:"probabilities,omitempty"`
}

func (f *flags) run(cmd *cobra.Command, g *shell.Globals, path string) error {
	if err := f.checkOut(path); err != nil {
		return err
	}
	r, err := f.ask(cmd, path)
	if err != nil {
		return modelError(path, err)
	}
	r.releasable = r.trusted && r.public
	lines := written(r.answers, r.columns, r.releasable)
	format := g.ParsedFormat()
	if f.out != "" {
		if err := durable.WriteFile(f.out, 0o600, func(w io.Writer) error { return lines.Write(w, table.CSV) }); err != nil {
			return err
		}
		g.Logf("predictions: %s", f.out)
		g.Logf("%s", r.warning())
		return g.Print(r.object(nil), r.table)
	}
	if format == table.JSON {
		return shell.WriteJSON(g.Stdout, r.object(r.answers))
	}
	if format == table.Text { // the text form is the CSV of --out
		format = table.CSV
	}
	if err := lines.Write(g.Stdout, format); err != nil {
		return err
	}
	g.Logf("%s", r.sentence())
	return nil
}

func (f *flags) ask(cmd *cobra.Command, path string) (report, error) {
	m, err := published.Open(path)
	if errors.Is(err, sealed.ErrKind) {
		return f.askDPSGD(cmd.Context(), path)
	}
	if err != nil {
		return report{}, err
	}
	var foreign []string
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) { // Visit finds none of a set that cobra made
		if flag.Changed && !slices.Contains([]string{"out", "labels", "embeddings", "probability", "public-rows", "format"}, flag.Name) {
			foreign = append(foreign, "--"+flag.Name)
		}
	})
	if foreign != nil {
		return report{}, shell.UsageError("", fmt.Errorf("%s is for DP-SGD models; a student finds its columns itself", foreign[0]))
	}
	return f.askStudent(cmd.Context(), path, m)
}

func (f *flags) askStudent(ctx context.Context, path string, m *published.Model) (report, error) {
	rows, err := m.Rows.ReadNew(dataset.Source{Path: f.data.Data, Labels: f.data.Labels, Embeddings: f.data.Columns.Embeddings})
	if err != nil {
		return report{}, shell.FaultError(err, "data")
	}
	predictions, err := m.Predict(ctx, rows)
	if err != nil {
		return report{}, shell.FaultError(err, "data")
	}
	right, known := m.Accuracy(predictions, rows)
	r := report{first: shell.Object{"schema", "pate.student-predict/1", "model", path, "kind", m.Card.String()}, kind: m.Card.String(),
		rows: len(predictions), known: &known, delta: m.Labels.Delta, unit: m.Labels.Unit, trusted: m.Labels.Releasable,
		public: f.public}
	if m.Labels.Entry > 0 {
		r.epsilon = &m.Labels.Epsilon
	}
	if known > 0 {
		accuracy := float64(right) / float64(known)
		r.accuracy = &accuracy
	}
	for i, p := range predictions {
		a := answer{Row: rows.IDs[i], Label: m.Classes[p.Class]}
		if f.probability {
			a.Probabilities = p.Probabilities
		}
		r.answers = append(r.answers, a)
	}
	if f.probability {
		for _, c := range m.Classes {
			r.columns = append(r.columns, "p("+c+")")
		}
	}
	return r, nil
}

func written(answers []answer, columns []string, releasable bool) table.Table {
	t := table.Table{Header: slices.Concat([]string{"row", "label"}, columns, []string{"releasable"})}
	for i := range t.Header {
		t.Left = append(t.Left, i < 2 || i == len(t.Header)-1)
	}
	for _, a := range answers {
		row := []string{a.Row, a.Label}
		if a.Probability != nil {
			row = append(row, strconv.FormatFloat(*a.Probability, 'f', 4, 64))
		}
		for _, p := range a.Probabilities {
			row = append(row, strconv.FormatFloat(p, 'f', 6, 64))
		}
		t.Rows = append(t.Rows, append(row, strconv.FormatBool(releasable)))
	}
	return t
}

func (r report) table(f table.Format) table.Table {
	epsilon, accuracy := "none", ""
	if r.epsilon != nil {
		epsilon = shell.FormatUp(*r.epsilon, f == table.CSV)
	}
	if r.accuracy != nil {
		accuracy = strconv.FormatFloat(100**r.accuracy, 'f', 2, 64)
	}
	t := shell.TableOf("rows", "right %", "epsilon", "<releasable", "<model")
	t.Rows = [][]string{{strconv.Itoa(r.rows), accuracy, epsilon, shell.YesNo(r.releasable), r.kind}}
	return t
}

func (r report) sentence() string {
	accuracy := "; no labels with the model's names to compare with"
	if r.accuracy != nil {
		accuracy = fmt.Sprintf(", %.2f %% right", 100**r.accuracy)
	}
	return fmt.Sprintf("%d rows%s; %s", r.rows, accuracy, r.warning())
}

func (r report) warning() string {
	switch {
	case r.releasable:
		return "releasable"
	case r.public:
		return "not releasable: the model must not be released"
	}
	return "not releasable: the rows may be private, or even training rows (--public-rows declares them public)"
}

func (f *flags) checkOut(model string) error {
	if f.out == "" {
		return nil
	}
	inputs := []string{model, cmp.Or(f.data.Labels, model), cmp.Or(f.data.Units, model)}
	if !slices.Contains(namedsets.Names(), f.data.Data) {
		inside, err := filepath.Glob(filepath.Join(f.data.Data, "*")) // files in a folder
		if err != nil {
			return shell.InputError(err, "no prediction was made", "choose a file in an existing folder", "")
		}
		inputs = append(append(inputs, f.data.Data), inside...)
	}
	return shell.Target{Flag: "--out", Path: f.out, Topic: "predict"}.CheckReplaceable(inputs...)
}

func modelError(path string, err error) error {
	var ce *shell.CommandError
	switch {
	case errors.As(err, &ce):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return shell.InputError(err, "", "give a model file of pate student or pate dpsgd; pate dpsgd writes to OUT/public/models", "predict")
	case errors.Is(err, published.ErrFile), errors.Is(err, recipe.ErrModelFile):
		if wrong := shell.WrongKind(path, "a model", "predict", filekind.Model); wrong != nil {
			return wrong
		}
		return shell.InputError(err, "a damaged model may predict anything",
			"copy the file again, or repeat the command that made the file: the cost is not charged again", "predict")
	case errors.Is(err, recipe.ErrRows):
		return shell.InputError(err, "a model predicts only rows of the kind that it was trained on", "give rows of that kind", "data")
	}
	return err
}

func (f *flags) askDPSGD(ctx context.Context, path string) (report, error) {
	m, err := recipe.OpenModel(path)
	if err != nil {
		return report{}, err
	}
	set, err := f.rows(m)
	if err != nil {
		return report{}, err
	}
	predictions, err := m.Predictions(ctx, set)
	if err != nil {
		return report{}, err
	}
	public := f.public || m.ScoredOn(set)
	r := report{first: shell.Object{"schema", "pate.dpsgd-predict/1", "model", path, "kind", m.Kind, "features?", m.Features,
		"trained_on?", m.Data, "data?", set.Name}, kind: m.Kind, rows: len(predictions), epsilon: m.Epsilon, delta: m.Delta,
		unit: m.Unit, trusted: m.Releasable, public: public}
	classes := make([]int, len(predictions))
	for i, p := range predictions {
		classes[i] = p.Class
		a := answer{Row: set.IDs[i], Label: m.Classes[p.Class]}
		if f.probability {
			a.Probability = &p.Probability
		}
		r.answers = append(r.answers, a)
	}
	if accuracy, known := m.Accuracy(classes, set); known {
		r.accuracy = &accuracy
	}
	if f.probability {
		r.columns = []string{"probability"}
	}
	return r, nil
}

func (f *flags) rows(m *recipe.Model) (dataset.Set, error) {
	opt, err := f.data.Options()
	if err != nil {
		return dataset.Set{}, err
	}
	named := slices.Contains(namedsets.Names(), f.data.Data)
	if !named && opt.Rule.Names == nil { // other labels count as wrong
		opt.Rule.Names = m.Classes
		if opt.Rule.Other == "" {
			opt.Rule.Other = noClass(m.Classes)
		}
	}
	switch {
	case f.scored || named:
	case m.Encoder != nil:
		opt.CSV.Unlabelled, opt.CSV.Expect = f.data.Label == "", m.Encoder.Columns()
		data, err := namedsets.Open(f.data.Data, opt, false)
		if err != nil {
			return dataset.Set{}, shell.FaultError(err, "data")
		}
		set, err := m.Rows(data.Table)
		return set, shell.FaultError(err, "data")
	case m.Reading != nil:
		set, err := newRows(m.Reading, dataset.Source{Path: f.data.Data, Labels: f.data.Labels, Embeddings: f.data.Columns.Embeddings})
		return set, shell.FaultError(err, "data")
	}
	task, err := f.data.TaskOf(opt)
	if err != nil {
		return dataset.Set{}, err
	}
	all := task.WithoutPool().Test
	for _, set := range []dataset.Set{all, task.Test} { // comparisons and searches do not score on the pool
		if m.ScoredOn(set) {
			return set, nil
		}
	}
	// Unlike images, table rows that were not scored may be scaled differently from the training rows.
	if m.Image == task.Image && (f.scored || m.Image == dataset.Shape{}) {
		return dataset.Set{}, shell.InputError(fmt.Errorf("the test rows of %s are not the test rows of the training", f.data.Data),
			"these rows may include private rows, and their columns may be scaled differently",
			"repeat the data flags of the training; for a table, omit --scored to predict all rows", "data")
	}
	return all, nil
}

func newRows(reading *dataset.Schema, from dataset.Source) (dataset.Set, error) {
	pool, err := reading.ReadNew(from)
	if err != nil {
		return dataset.Set{}, err
	}
	set := dataset.Set{Name: pool.Name, X: pool.X, Image: pool.Image, IDs: pool.IDs, Classes: reading.Classes}
	if !slices.Contains(pool.Truth, -1) {
		set.Y = pool.Truth
	}
	return set, nil
}

func noClass(classes []string) string {
	name := "none of the model's"
	for slices.Contains(classes, name) {
		name += "'"
	}
	return name
}
