package report

import (
	"fmt"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

// classTable is the recall of every class by each method at one target.
type classTable struct {
	At      string
	Open    bool // shown unfolded
	Methods []string
	Rows    []classRow
}

type classRow struct {
	Name  string
	Rows  int // of the test
	Cells []classCell
}

type classCell struct {
	Text  string
	Width float64 // of its bar, percent
	Worst bool    // of its method
}

// classTables returns one for each target; none for results of earlier versions. Methods without a target
// are in each.
func classTables(r *experiments.Result) []classTable {
	if len(r.ClassNames) == 0 || len(r.ClassRows) != len(r.ClassNames) {
		return nil
	}
	var out []classTable
	for i, e := range targets(r) {
		t := classTable{At: number.Exact(e), Open: i == len(targets(r))/2}
		var of []experiments.Row
		for _, row := range r.Rows {
			shown := row.Epsilon != nil && target(r, row) == e ||
				row.Method == experiments.NonPrivate || row.Method == experiments.BoostedTrees
			if shown && len(row.Recall) == len(r.ClassNames) {
				of, t.Methods = append(of, row), append(t.Methods, row.Method)
			}
		}
		if len(of) == 0 {
			return nil
		}
		for y, name := range r.ClassNames {
			line := classRow{Name: table.Printable(name), Rows: r.ClassRows[y]}
			for _, row := range of {
				c := classCell{Text: "–"}
				if line.Rows > 0 {
					v := row.Recall[y]
					c = classCell{Text: fmt.Sprintf("%.1f", 100*v), Width: 100 * v, Worst: worst(r, row) == v}
				}
				line.Cells = append(line.Cells, c)
			}
			t.Rows = append(t.Rows, line)
		}
		out = append(out, t)
	}
	return out
}

// worst returns the least recall of a row, over classes with test rows.
func worst(r *experiments.Result, row experiments.Row) float64 {
	least := 1.0
	for y, v := range row.Recall {
		if r.ClassRows[y] > 0 {
			least = min(least, v)
		}
	}
	return least
}
