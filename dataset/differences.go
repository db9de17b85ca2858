package dataset

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/mathx"
)

type usual struct {
	name      string
	low, high float64
	form      numberForm
	known     map[string]bool // categories
	missing   bool            // public values may be missing
}

const (
	minCompared = 20   // least number of private rows for which columns are compared
	maxUsual    = 5000 // number of leading public rows whose numbers are used
)

func middle(values []float64) (low, high float64) {
	slices.Sort(values)
	cut := len(values) / 100
	return values[cut], values[len(values)-1-cut]
}

func usualCells(t *Table, e *Encoder) []usual {
	out := make([]usual, len(e.columns))
	for j, f := range e.columns {
		u := usual{name: f.name, form: f.form, missing: f.missing >= 0}
		var values []float64
		for _, v := range t.Columns[j].Values {
			switch {
			case f.width == 0 || isMissing(v):
			case f.categories != nil:
				if u.known == nil {
					u.known = map[string]bool{}
				}
				u.known[v] = true
			case f.sd > 0:
				if x, err := f.form.parse(v); err == nil && mathx.IsFinite(x) {
					values = append(values, x)
				}
			}
		}
		if len(values) > 0 {
			u.low, u.high = middle(values)
		}
		if len(values) > 0 || u.known != nil {
			out[j] = u
		}
	}
	return out
}

func (r *Ranges) usual() []usual {
	out := make([]usual, len(r.columns))
	for j, d := range r.columns {
		out[j] = usual{name: d.name, missing: true}
		if d.edges != nil {
			out[j].low, out[j].high = d.ends()
		} else {
			out[j].known = ClassRule{Names: d.values}.declared()
		}
	}
	return out
}

// likeness counts compared cells, strange cells (unlike public cells) and words in place of numbers.
type likeness struct{ compared, strange, words int }

func (l *likeness) add(u *usual, v string, number float64, err error) {
	missing := err == errMissing
	if missing && u.missing {
		return
	}
	l.compared++
	switch {
	case missing:
		l.strange++
	case u.known != nil:
		if err != nil && !u.known[v] { // a category with a feature is known
			l.strange++
		}
	case err != nil:
		l.words++
		l.strange++
	case number < u.low || number > u.high:
		l.strange++
	}
}

func unlikeCells(counts []likeness, public []usual) []string {
	var unlike []string
	for j, l := range counts {
		if l.compared < minCompared || 2*l.strange <= l.compared {
			continue
		}
		how := "another range: other units of measure?"
		switch {
		case public[j].known != nil:
			how = "other categories"
		case 2*l.words > l.compared:
			how = "no numbers"
		}
		unlike = append(unlike, fmt.Sprintf("%q (%s)", public[j].name, how))
	}
	return unlike
}

func usualNumbers(x blas32.General) []usual {
	out := make([]usual, x.Cols)
	values := make([]float64, min(x.Rows, maxUsual))
	for j := range out {
		for i := range values {
			values[i] = float64(x.Data[i*x.Stride+j])
		}
		out[j].low, out[j].high = middle(values)
	}
	return out
}

func unlikeNumbers(x blas32.General, public []usual) []string {
	if public == nil || x.Rows < minCompared {
		return nil
	}
	strange := make([]int, x.Cols)
	for i := range x.Rows {
		for j, v := range x.Data[i*x.Stride : i*x.Stride+x.Cols] {
			if float64(v) < public[j].low || float64(v) > public[j].high {
				strange[j]++
			}
		}
	}
	var unlike []string
	for j, n := range strange {
		if 2*n > x.Rows {
			unlike = append(unlike, fmt.Sprint(j+1))
		}
	}
	return unlike
}

func (s *Schema) differences(name string, columns []string) error {
	if len(columns) == 0 {
		return nil
	}
	text := strings.Join(columns[:min(len(columns), 10)], ", ")
	if len(columns) > 10 {
		text += fmt.Sprintf(" and %d more", len(columns)-10)
	}
	with := "the public rows"
	fix := "bring both files to the same units and names, leave the columns out with --drop, or say --accept-differences"
	if s.reading.Ranges != nil {
		with = "the declared ranges"
		fix = "bring the columns to the units and names that are declared, mend --ranges, or say --accept-differences"
	}
	return wrong(name, "is unlike "+with+" in column "+text,
		"most of its values there are outside of "+with+", so teachers could not use them; "+ownerNotice, fix)
}
