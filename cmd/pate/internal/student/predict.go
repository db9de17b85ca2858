package student

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/student/published"
	"github.com/pate-go/pate/internal/table"
)

const schemaPredict = "pate.student-predict/1"

// predictFlags are the flags of `pate student predict`.
type predictFlags struct {
	out         string
	labels      string
	probability bool
	public      bool
}

func newPredict(g *shell.Globals) *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict MODEL NEW",
		Short: "Ask a student about new rows",
		Long: `Ask a student about new rows. MODEL is what pate student or pate publish
wrote. NEW is a file of the same kind as the public rows: the columns of a
table are found by their names, in any order, and others are passed over;
matrices and images have the same size.

Each row gets the most probable class, and with --probability the
probabilities of all. Where NEW has a label of its own, in the column that the
public rows had it in, or in a file of --labels, the accuracy is said too.
Asking costs no privacy, however often. Answers and accuracy are functions of
the rows that are asked about, and asking protects nobody in these: they are
marked as releasable, in each line, only if the model is and --public-rows says
that the rows are public.`,
		Example: `  pate student predict student.model new.csv --out predictions.csv
  pate student predict student.model new.csv --probability --format json`,
		Args: shell.Wants(cobra.ExactArgs(2), nil),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, g, args[0], args[1]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "write the predictions into this CSV file")
	flags.StringVar(&f.labels, "labels", "", "of matrices: a file with the true label of each row")
	flags.BoolVar(&f.probability, "probability", false, "a column with the probability of each class")
	flags.BoolVar(&f.public, "public-rows", false, "the rows of NEW are public: answers about them are as releasable as the model")
	shell.Complete(cmd, map[string]shell.Values{"out": shell.Files("csv"), "labels": shell.Files("npy", "csv", "txt")})
	shell.Without(cmd, "seed", "delta")
	shell.CompleteArgs(cmd, shell.Files("model", "csv", "npy", "parquet"))
	return cmd
}

// predictReport is what is said of the predictions of a file.
type predictReport struct {
	Schema     string     `json:"schema"`
	Model      string     `json:"model"`
	Kind       string     `json:"kind"`
	Rows       int        `json:"rows"`
	Known      int        `json:"labelled"`           // rows with a label of their own
	Accuracy   *float64   `json:"accuracy,omitempty"` // on these
	Epsilon    *float64   `json:"epsilon,omitempty"`  // of the model
	Delta      float64    `json:"delta,omitempty"`
	Unit       string     `json:"unit,omitempty"`
	Releasable bool       `json:"releasable"`
	Answers    []answered `json:"predictions,omitempty"`
}

// answered is a prediction in JSON.
type answered struct {
	Row           string    `json:"row"`
	Label         string    `json:"label"`
	Probabilities []float64 `json:"probabilities,omitempty"` // in the order of the classes
}

func (f *predictFlags) run(cmd *cobra.Command, g *shell.Globals, path, newRows string) error {
	if f.out != "" {
		if err := (shell.Target{Flag: "--out", Path: f.out, Topic: "data"}).CheckReplaceable(path, newRows); err != nil {
			return err
		}
	}
	m, err := published.Open(path)
	if err != nil {
		return openError(err)
	}
	rows, err := m.Rows.ReadNew(dataset.Source{Path: newRows, Labels: f.labels})
	if err != nil {
		return shell.FaultError(err, "data")
	}
	predictions, err := m.Predict(cmd.Context(), rows)
	if err != nil {
		return shell.FaultError(err, "data")
	}
	r := predictReport{Schema: schemaPredict, Model: path, Kind: m.Card.String(), Rows: len(predictions), Delta: m.Labels.Delta, Unit: m.Labels.Unit, Releasable: m.Labels.Releasable && f.public}
	if m.Labels.Entry > 0 {
		r.Epsilon = &m.Labels.Epsilon
	}
	var right int
	if right, r.Known = m.Accuracy(predictions, rows); r.Known > 0 {
		accuracy := float64(right) / float64(r.Known)
		r.Accuracy = &accuracy
	}
	return f.print(g, m, rows, predictions, r)
}

func (f *predictFlags) print(g *shell.Globals, m *published.Model, rows dataset.Pool, predictions []published.Prediction, r predictReport) error {
	format := g.ParsedFormat()
	if f.out != "" {
		write := func(w io.Writer) error { return f.table(m, rows, predictions, r.Releasable).Write(w, table.CSV) }
		if err := durable.WriteFile(f.out, 0o600, write); err != nil {
			return err
		}
		if format == table.JSON {
			return shell.WriteJSON(g.Stdout, r)
		}
		g.Logf("predictions: %s", f.out)
		if err := r.table(format).Write(g.Stdout, format); err != nil || format != table.Text {
			return err
		}
		_, err := fmt.Fprint(g.Stdout, "\n", shell.Wrapped("student: "+r.Kind), "\n")
		return err
	}
	if format == table.JSON {
		for i, p := range predictions {
			a := answered{Row: rows.IDs[i], Label: m.Classes[p.Class]}
			if f.probability {
				a.Probabilities = p.Probabilities
			}
			r.Answers = append(r.Answers, a)
		}
		return shell.WriteJSON(g.Stdout, r)
	}
	if format == table.Text { // the file that --out writes
		format = table.CSV
	}
	return f.table(m, rows, predictions, r.Releasable).Write(g.Stdout, format)
}

// table returns the predictions, a line for each row, which says whether it is releasable: the
// file leaves without the words on the terminal.
func (f *predictFlags) table(m *published.Model, rows dataset.Pool, predictions []published.Prediction, releasable bool) table.Table {
	t := table.Table{Header: []string{"row", "label"}, Left: []bool{true, true}}
	if f.probability {
		for _, c := range m.Classes {
			t.Header, t.Left = append(t.Header, "p("+c+")"), append(t.Left, false)
		}
	}
	t.Header, t.Left = append(t.Header, "releasable"), append(t.Left, true)
	for i, p := range predictions {
		row := []string{rows.IDs[i], m.Classes[p.Class]}
		if f.probability {
			for _, v := range p.Probabilities {
				row = append(row, strconv.FormatFloat(v, 'f', 6, 64))
			}
		}
		t.Rows = append(t.Rows, append(row, strconv.FormatBool(releasable)))
	}
	return t
}

// table returns the report in one line; a terminal is told of the kind of the student below.
func (r predictReport) table(format table.Format) table.Table {
	accuracy := ""
	if r.Accuracy != nil {
		accuracy = strconv.FormatFloat(100**r.Accuracy, 'f', 2, 64)
	}
	t := table.Table{
		Header: []string{"student", "rows", "labelled", "right %", "releasable"}, Left: []bool{true, false, false, false, true},
		Rows: [][]string{{r.Kind, strconv.Itoa(r.Rows), strconv.Itoa(r.Known), accuracy, yesNo(r.Releasable)}},
	}
	if format == table.Text {
		t.Header, t.Left, t.Rows[0] = t.Header[1:], t.Left[1:], t.Rows[0][1:]
	}
	return t
}

// openError adds what a person can do.
func openError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return shell.InputError(err, "", "name the file that pate student --out wrote", "data")
	case errors.Is(err, published.ErrFile):
		return shell.InputError(fmt.Errorf("%w", err), "nothing of such a file can be trusted", "copy the file again, or make it again with pate student: the same labels give the same model", "data")
	}
	return err
}
