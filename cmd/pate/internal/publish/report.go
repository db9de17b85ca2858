package publish

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/publish"
	"github.com/pate-go/pate/internal/table"
)

// print prints the report.
func print(g *shell.Globals, r *publish.Report) error {
	err := g.Print(r, func(f table.Format) table.Table { return tableOf(r, f) })
	if err != nil || g.ParsedFormat() != table.Text {
		return err
	}
	if r.Student != "" {
		fmt.Fprint(g.Stdout, "\n", shell.Wrapped("student: "+r.Student), "\n")
	}
	if r.Released == 0 {
		return &shell.CommandError{Code: shell.ExitAllDeclined, What: errors.New("every query was declined"),
			Why: "the teachers never agreed clearly enough for this noise, so there is no student; the budget is spent",
			Fix: "raise --epsilon with another --out, or have more private rows", Topic: "mechanisms"}
	}
	return nil
}

// tableOf returns the numbers of a run. On a terminal the student, which takes words, stands below.
func tableOf(r *publish.Report, f table.Format) table.Table {
	if t := r.Training; t != nil {
		return table.Table{Header: []string{r.Unit + "s", "steps", "noise", "labels", "epsilon"}, Rows: [][]string{{strconv.Itoa(t.Records),
			strconv.Itoa(t.Steps), fmt.Sprintf("%.4g", t.Noise), strconv.Itoa(r.Released), shell.FormatUp(r.Epsilon, false)}}}
	}
	t := table.Table{
		Header: []string{"teachers", "asked", "labels", "predicts % of labels held back", "epsilon"},
		Rows: [][]string{{strconv.Itoa(r.Teachers), strconv.Itoa(r.Asked), strconv.Itoa(r.Released), r.Held.Percent(),
			shell.FormatUp(r.Epsilon, false)}},
	}
	if f != table.Text {
		t.Header, t.Rows[0] = append(t.Header, "student"), append(t.Rows[0], r.Student)
		t.Left = []bool{false, false, false, false, false, true}
	}
	return t
}
