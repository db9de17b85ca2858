package typical

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/results"
	"github.com/pate-go/pate/internal/table"
)

// Figures belong to one row of a result, of its first seed, and are embedded in it: private, charged nowhere,
// and no epsilon.
type Figures struct {
	Bayes []bayes.Figure `json:"bayes,omitempty"`
}

// Rows are the figures of all rows of a result. They are nil if no row has any.
type Rows [][]bayes.Figure

// Of returns the figures of rows.
func Of[R any](rows []R, of func(R) Figures) (all Rows) {
	some := false
	for _, row := range rows {
		all = append(all, of(row).Bayes)
		some = some || len(of(row).Bayes) > 0
	}
	if !some {
		return nil
	}
	return all
}

const file = "bayes.json"

// Write keeps the figures in dir/private, for their owner alone to read. It writes nothing if there are none.
func (r Rows) Write(dir string) error {
	if r == nil {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = results.Folder(dir).Keep(file, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("typical: %w", err)
	}
	return nil
}

// Read returns the figures that Write kept in dir, as many as rows, or nil.
func Read(dir string, rows int) (Rows, error) {
	text, err := os.ReadFile(results.Folder(dir).Private(file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all := Rows{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("typical: Bayesian figures: %w", err)
	}
	if len(all) != rows {
		return nil, fmt.Errorf("typical: Bayesian figures of %d rows, not %d", len(all), rows)
	}
	return all, nil
}

// Section returns the section of a report about the figures, of rows of these names, or "" if there are none.
func (r Rows) Section(names []string) string {
	var b strings.Builder
	for i, f := range r {
		if len(f) > 0 {
			fmt.Fprintf(&b, "\n%s: %s", table.Printable(names[i]), bayes.Report(f...))
		}
	}
	return b.String()
}

// AddTo adds a column for every estimator to a table for people with the rows of the figures.
func (r Rows) AddTo(t *table.Table) {
	r.addColumns(t, func(e bayes.Estimator) string { return fmt.Sprintf("%s, %v", bayes.Column, e) })
}

// AddRecordsTo adds the columns to a table for programs. Every row is then marked as not releasable.
func (r Rows) AddRecordsTo(t *table.Table) {
	r.addColumns(t, func(e bayes.Estimator) string {
		return "private_bayes_mu_" + strings.ReplaceAll(e.String(), "-", "_")
	})
	if at := slices.Index(t.Header, "releasable"); r != nil && at >= 0 {
		for _, row := range t.Rows {
			row[at] = "false"
		}
	}
}

func (r Rows) addColumns(t *table.Table, name func(bayes.Estimator) string) {
	if r == nil {
		return
	}
	for _, e := range estimators() {
		t.Header = append(t.Header, name(e))
		for i := range t.Rows {
			text := ""
			for _, f := range r[i] {
				if f.Estimator == e {
					text = f.Cell()
				}
			}
			t.Rows[i] = append(t.Rows[i], text)
		}
	}
}
