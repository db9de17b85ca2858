package dpsgd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/filekind"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/table"
)

const schemaPredict = "pate.dpsgd-predict/1"

// predictFlags are the flags of `pate dpsgd predict`.
type predictFlags struct {
	data        shell.DataFlags
	scored      bool
	public      bool
	probability bool
	out         string
}

func newPredictCommand(g *shell.Globals) *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict MODEL",
		Short: "Ask a model that pate dpsgd left about other rows",
		Long: `Ask a model that pate dpsgd left about other rows. MODEL is a file of the folder
models in its --out. The file has all that is needed besides the rows: the network,
the names of the classes, and what the features learned, whose cost is part of the
model's epsilon. Asking costs nothing more, however often.

Every row gets the class with the largest output, and with --probability what the
model takes the chance of that class to be, its softmax; nothing calibrates it. Of
images the test rows are asked about; of a table all rows, counted from 1, or with
--scored those that scored in the training, if it is the same file. A table has the
training's columns by name, in any order, and others if it likes; its labels are needed
for the accuracy alone. With --out the labels go into a file and what they are worth is
printed; otherwise the labels are printed. Accuracy is printed where the data have labels
with the model's names.

Answers and accuracy are functions of the rows that are asked about, and asking protects
nobody in these. They are releasable only if the model is and the rows are public: those
that scored in the training, which are found by a hash that the model keeps, with their
labels, or rows that --public-rows declares to be public. All other rows are taken to be
private. A model's accuracy on the rows that it was trained on is not releasable.`,
		Example: `  pate dpsgd predict run/public/models/epsilon-2-run-0.model --data mnist
  pate dpsgd predict a.model --data DIR --probability --out labels.csv
  pate dpsgd predict a.model --data new-patients.csv --out labels.csv
  pate dpsgd predict a.model --data patients.csv --label outcome --scored`,
		Args: shell.Wants(cobra.ExactArgs(1), nil),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.data.Data, "data", "mnist", strings.Join(namedsets.Names(), ", ")+", DIR or FILE.csv (pate help data)")
	flags.StringVar(&f.data.Label, "label", "", "label column of FILE.csv, if it has one: a name, or a number from 1")
	flags.StringVar(&f.data.Unit, "unit", "", "with --scored: the column that said whose record a row is")
	flags.StringVar(&f.data.Labels, "labels", "", "labels of NPY or idx rows, if the model was trained on such rows, for the accuracy")
	flags.StringVar(&f.data.Units, "units", "", "units of NPY or idx rows, if the model was trained with them")
	f.data.Columns.Add(flags)
	f.data.AddReading(flags)
	flags.BoolVar(&f.scored, "scored", false, "only the rows that scored when the model was trained, found by the flags of that run about data")
	flags.StringVar(&f.data.Split, "split", string(dataset.Literature), "literature, or development or full-test for the rows that score there")
	flags.BoolVar(&f.public, "public-rows", false, "the rows are public and no private row of the training is among them: answers about them are as releasable as the model")
	flags.BoolVar(&f.probability, "probability", false, "a third column with the probability of the label")
	flags.StringVar(&f.out, "out", "", "write the labels into this file")
	f.data.Complete(cmd)
	shell.Complete(cmd, map[string]shell.Values{"out": shell.Files("csv")})
	shell.CompleteArgs(cmd, shell.Files("model"))
	shell.Without(cmd, "seed", "delta")
	return cmd
}

func (f *predictFlags) run(cmd *cobra.Command, g *shell.Globals, path string) error {
	ctx := cmd.Context()
	if f.out != "" {
		if err := f.checkOut(path); err != nil {
			return err
		}
	}
	m, err := recipe.OpenModel(path)
	if err != nil {
		if wrong := shell.WrongKind(path, "a model", "dpsgd", filekind.Model); wrong != nil && errors.Is(err, recipe.ErrModelFile) {
			return wrong
		}
		return predictError(err)
	}
	set, err := f.rows(m)
	if err != nil {
		return err
	}
	predictions, err := m.Predictions(ctx, set)
	if err != nil {
		return predictError(err)
	}
	report := newPredictReport(path, m, set, f.public || m.ScoredOn(set), predictions)
	if f.out != "" {
		write := func(w io.Writer) error { return f.labels(m, set, predictions, report.Releasable).Write(w, table.CSV) }
		if err := durable.WriteFile(f.out, 0o600, write); err != nil {
			return err
		}
		g.Logf("labels: %s", f.out)
		g.Logf("%s", report.warning())
		if g.ParsedFormat() == table.JSON {
			return shell.WriteJSON(g.Stdout, report)
		}
		return report.table(g.ParsedFormat()).Write(g.Stdout, g.ParsedFormat())
	}
	if g.ParsedFormat() == table.JSON {
		report.Labels = f.answers(m, set, predictions)
		return shell.WriteJSON(g.Stdout, report)
	}
	format := g.ParsedFormat()
	if format == table.Text { // the file that --out writes
		format = table.CSV
	}
	if err := f.labels(m, set, predictions, report.Releasable).Write(g.Stdout, format); err != nil {
		return err
	}
	g.Logf("%s", report.sentence())
	return nil
}

// checkOut refuses a file that could not be written after the work, or that is the model
// or the data.
func (f *predictFlags) checkOut(model string) error {
	same, err := durable.Same(f.out, model)
	if err == nil && same {
		return shell.UsageError("dpsgd", fmt.Errorf("--out %s is the model itself", f.out))
	}
	inputs := []string{model}
	if !slices.Contains(namedsets.Names(), f.data.Data) {
		inside, err := filepath.Glob(filepath.Join(f.data.Data, "*")) // of a folder
		if err != nil {
			return shell.InputError(err, "nothing was asked", "name a file in a folder that is there", "")
		}
		inputs = append(append(inputs, f.data.Data), inside...)
	}
	return shell.Target{Flag: "--out", Path: f.out, Topic: "dpsgd"}.CheckReplaceable(inputs...)
}

// rows returns the rows to be asked about.
func (f *predictFlags) rows(m *recipe.Model) (dataset.Set, error) {
	opt, err := f.data.Options()
	if err != nil {
		return dataset.Set{}, err
	}
	named := slices.Contains(namedsets.Names(), f.data.Data)
	if !named && opt.Rule.Names == nil { // others count as wrong
		opt.Rule.Names = m.Classes
		if opt.Rule.Other == "" {
			opt.Rule.Other = noClass(m.Classes)
		}
	}
	if m.Encoder != nil && !f.scored && !named {
		opt.CSV.Unlabelled, opt.CSV.Expect = f.data.Label == "", m.Encoder.Columns()
		data, err := namedsets.Open(f.data.Data, opt)
		if err != nil {
			return dataset.Set{}, shell.FaultError(err, "data")
		}
		set, err := m.Rows(data.Table)
		return set, shell.FaultError(err, "data")
	}
	if m.Reading != nil && !f.scored && !named {
		set, err := newRows(m.Reading, dataset.Source{Path: f.data.Data, Labels: f.data.Labels})
		return set, shell.FaultError(err, "data")
	}
	task, err := f.data.TaskOf(opt)
	if err != nil {
		return dataset.Set{}, err
	}
	all := task.WithoutPool().Test
	for _, set := range []dataset.Set{all, task.Test} { // of a comparison or a search the pool does not score
		if m.ScoredOn(set) {
			return set, nil
		}
	}
	// Of other rows than images the scales, too, may be others than those of the training.
	if m.Image == task.Image && (f.scored || m.Image == dataset.Shape{}) {
		return dataset.Set{}, shell.InputError(fmt.Errorf("the test rows of %s are not those that scored in the training", f.data.Data),
			"private rows may be among them, and their columns may be scaled otherwise",
			"repeat the flags about data of the training; of a table all rows are asked about without --scored", "data")
	}
	return all, nil
}

// newRows reads rows as those of the training were read. Their labels are taken where all
// are known.
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

// noClass returns a name that no class has.
func noClass(classes []string) string {
	name := "none of the model's"
	for slices.Contains(classes, name) {
		name += "'"
	}
	return name
}

// labels returns the table that is written. Every row says whether it is releasable, as
// those of other results do.
func (f *predictFlags) labels(m *recipe.Model, set dataset.Set, predictions []recipe.Prediction, releasable bool) table.Table {
	t := table.Table{Header: []string{"row", "label"}, Left: []bool{true, true}}
	if f.probability {
		t.Header, t.Left = append(t.Header, "probability"), append(t.Left, false)
	}
	t.Header, t.Left = append(t.Header, "releasable"), append(t.Left, true)
	for i, p := range predictions {
		row := []string{set.IDs[i], m.Classes[p.Class]}
		if f.probability {
			row = append(row, strconv.FormatFloat(p.Probability, 'f', 4, 64))
		}
		t.Rows = append(t.Rows, append(row, strconv.FormatBool(releasable)))
	}
	return t
}

// predictReport is what is said about the labels of a file.
type predictReport struct {
	Schema   string   `json:"schema"`
	Model    string   `json:"model"` // path
	Kind     string   `json:"kind"`
	Features string   `json:"features"`
	Trained  string   `json:"trained_on"`
	Data     string   `json:"data"`
	Rows     int      `json:"rows"`
	Accuracy *float64 `json:"accuracy,omitempty"` // absent without labels to compare
	Epsilon  *float64 `json:"epsilon,omitempty"`  // of the model
	Delta    float64  `json:"delta,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	// Releasable says whether all of this may leave: the model may, and the rows are public.
	Releasable bool            `json:"releasable"`
	PublicRows bool            `json:"public_rows"`
	Labels     []predictAnswer `json:"labels,omitempty"`
}

// predictAnswer is a row of the labels.
type predictAnswer struct {
	Row         string   `json:"row"`
	Label       string   `json:"label"`
	Probability *float64 `json:"probability,omitempty"`
}

func (f *predictFlags) answers(m *recipe.Model, set dataset.Set, predictions []recipe.Prediction) []predictAnswer {
	var answers []predictAnswer
	for i, p := range predictions {
		a := predictAnswer{Row: set.IDs[i], Label: m.Classes[p.Class]}
		if f.probability {
			a.Probability = &p.Probability
		}
		answers = append(answers, a)
	}
	return answers
}

func newPredictReport(path string, m *recipe.Model, set dataset.Set, public bool, predictions []recipe.Prediction) predictReport {
	r := predictReport{
		Schema: schemaPredict, Model: path, Kind: m.Kind, Features: m.Features, Trained: m.Data, Data: set.Name, Rows: len(predictions),
		Epsilon: m.Epsilon, Delta: m.Delta, Unit: m.Unit, Releasable: m.Releasable && public, PublicRows: public,
	}
	classes := make([]int, len(predictions))
	for i, p := range predictions {
		classes[i] = p.Class
	}
	if accuracy, known := m.Accuracy(classes, set); known {
		r.Accuracy = &accuracy
	}
	return r
}

func (r predictReport) table(f table.Format) table.Table {
	epsilon, accuracy, releasable := "none", "", "no"
	if r.Epsilon != nil {
		epsilon = shell.FormatUp(*r.Epsilon, f == table.CSV)
	}
	if r.Accuracy != nil {
		accuracy = strconv.FormatFloat(100**r.Accuracy, 'f', 2, 64)
	}
	if r.Releasable {
		releasable = "yes"
	}
	return table.Table{
		Header: []string{"model", "trained on", "rows", "right %", "epsilon", "releasable"},
		Left:   []bool{true, true, false, false, false, true},
		Rows:   [][]string{{r.Kind, r.Trained, strconv.Itoa(r.Rows), accuracy, epsilon, releasable}},
	}
}

// sentence returns the report in a line for people.
func (r predictReport) sentence() string {
	said := fmt.Sprintf("%d rows; no labels with the model's names to compare with", r.Rows)
	if r.Accuracy != nil {
		said = fmt.Sprintf("%d rows, %.2f %% right", r.Rows, 100**r.Accuracy)
	}
	return said + "; " + r.warning()
}

// warning says whether the answers may leave, and if not, why.
func (r predictReport) warning() string {
	switch {
	case r.Releasable:
		return "releasable"
	case r.PublicRows:
		return "not releasable: the model is not"
	}
	return "not releasable: the rows may be private, even those of the training (--public-rows)"
}

// predictError adds what a person can do.
func predictError(err error) error {
	var ce *shell.CommandError
	switch {
	case err == nil || errors.As(err, &ce):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return shell.InputError(err, "", "name a file of the folder models in the --out of pate dpsgd", "dpsgd")
	case errors.Is(err, recipe.ErrModelFile):
		return shell.InputError(err, "nothing of such a file can be trusted", "copy the file again; the same command of pate dpsgd with its --out finds what it left", "dpsgd")
	case errors.Is(err, recipe.ErrRows):
		return shell.InputError(err, "a model knows rows of the kind it was trained on alone", "name data of that kind", "data")
	}
	return err
}
