package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
)

// figuresFile has the Bayesian figures of a run, which are private.
const figuresFile = "bayes.json"

// WriteFigures keeps the Bayesian figures of every row in dir/private, for their owner alone to
// read. It writes nothing if there are none.
func WriteFigures(dir string, figures [][]bayes.Figure) error {
	if figures == nil {
		return nil
	}
	text, err := json.MarshalIndent(figures, "", "  ")
	if err == nil {
		err = results.Folder(dir).Keep(figuresFile, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// ReadFigures returns what WriteFigures kept in dir for that number of rows, nil where nothing was.
func ReadFigures(dir string, rows int) ([][]bayes.Figure, error) {
	text, err := os.ReadFile(results.Folder(dir).Private(figuresFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var figures [][]bayes.Figure
	if err == nil {
		err = json.Unmarshal(text, &figures)
	}
	if err != nil {
		return nil, fmt.Errorf("report: Bayesian figures: %w", err)
	}
	if len(figures) != rows {
		return nil, fmt.Errorf("report: Bayesian figures of %d rows, not %d", len(figures), rows)
	}
	return figures, nil
}

// Figures returns the section about Bayesian figures, of rows of these names. It is empty if
// there are none.
func Figures(names []string, figures [][]bayes.Figure) string {
	var b strings.Builder
	for i, row := range figures {
		if len(row) > 0 {
			fmt.Fprintf(&b, "\n%s: %s", table.Printable(names[i]), bayes.Report(row...))
		}
	}
	return b.String()
}

// AddFigures adds a column for every estimator to a table for people, of whose rows these are
// the figures.
func AddFigures(t *table.Table, figures [][]bayes.Figure) {
	for _, e := range []bayes.Estimator{bayes.Bernstein, bayes.StudentT} {
		addColumn(t, figures, fmt.Sprintf("%s, %v", bayes.Column, e), func(f bayes.Figure) (string, bool) { return f.Cell(), f.Estimator == e })
	}
}

// AddFigureRecords adds the columns for programs. Every row is then marked as not releasable.
func AddFigureRecords(t *table.Table, figures [][]bayes.Figure) {
	if figures == nil {
		return
	}
	for _, e := range []bayes.Estimator{bayes.Bernstein, bayes.StudentT} {
		addColumn(t, figures, "private_bayes_mu_"+strings.ReplaceAll(e.String(), "-", "_"), func(f bayes.Figure) (string, bool) { return f.Cell(), f.Estimator == e })
	}
	for i, name := range t.Header {
		if name == "releasable" {
			for _, row := range t.Rows {
				row[i] = "false"
			}
		}
	}
}

func addColumn(t *table.Table, figures [][]bayes.Figure, name string, cell func(bayes.Figure) (string, bool)) {
	if figures == nil {
		return
	}
	t.Header = append(t.Header, name)
	for i := range t.Rows {
		text := ""
		for _, f := range figures[i] {
			if word, is := cell(f); is {
				text = word
			}
		}
		t.Rows[i] = append(t.Rows[i], text)
	}
}
