package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/texts"
)

const (
	clipAt        = 3       // standard deviations
	maxEncoded    = 1 << 29 // numbers in one encoded matrix: 2 GiB
	maxCategories = 100     // features of one categorical column
)

// Encoder turns the columns of a table into features. It is fitted on public rows alone and encodes each row
// separately, so encoding has no privacy cost.
//
// A column is numeric if its public values are numbers (also with a decimal comma) or dates. Dates become
// days. With at least 20 public values, up to 5 % may be other texts, which count as missing. Other columns
// are categorical. Ids, names of persons, free text and row numbers of pandas are left out unless the user
// keeps them.
//
// A numeric column becomes one feature, (value - mean)/sd, clipped to [-3, 3]. The mean and sd are public. A
// missing value or a value that is not a number becomes 0. A categorical column becomes one feature for each
// of the 100 most frequent public categories. The feature of the row's category is 1, and all other features
// are 0. If public values are missing, the column gets one more feature, which is 1 for a missing value. A
// column with one distinct public value has at most the feature for missing values.
//
// A column of texts ([CSVOptions].Text) becomes at most 200 features, which package internal/texts computes
// from the words of public texts. Other words are ignored.
type Encoder struct {
	columns  []encodedColumn
	dim      int
	notes    []ColumnNote // nil if read from JSON
	repeated []string     // nil if read from JSON
}

type encodedColumn struct {
	name       string
	at         int            // index of the first feature
	width      int            // number of features, 0 if the column is left out
	categories map[string]int // feature index of each category, nil if numeric
	mean, sd   float64        // if numeric
	missing    int            // index of the feature that marks missing values, -1 if there is none
	form       numberForm     // if numeric
	text       *texts.Space   // if texts
}

func fitEncoder(public *Table, keep []string) (*Encoder, error) {
	e := &Encoder{}
	for i, c := range public.Columns {
		var f encodedColumn
		var j columnUse
		var err error
		if public.text != "" && c.Name == public.text {
			f, j, err = fitTexts(c)
		} else {
			f, j, err = fitColumn(c, keep, i == 0)
		}
		if err != nil {
			return nil, failed(public.Name, fmt.Sprintf("has a column %q that cannot be encoded", c.Name), err)
		}
		e.add(f)
		e.notes = append(e.notes, j.describe(c.Name, f))
		if j.repeat {
			e.repeated = append(e.repeated, c.Name)
		}
	}
	if e.dim == 0 {
		return nil, wrong(public.Name, "has no column that varies over the public rows", "features are fitted on public rows alone", "")
	}
	return e, nil
}

func (e *Encoder) add(f encodedColumn) {
	f.at = e.dim
	for v := range f.categories {
		f.categories[v] += f.at
	}
	if f.missing >= 0 {
		f.missing += f.at
	}
	e.dim += f.width
	e.columns = append(e.columns, f)
}

func fitTexts(c Column) (f encodedColumn, j columnUse, err error) {
	f = encodedColumn{name: c.Name, missing: -1}
	if f.text, err = texts.Fit(c.Values); err == nil {
		f.width = f.text.Dim()
	}
	return f, columnUse{is: isTexts}, err
}

func fitColumn(c Column, keep []string, first bool) (encodedColumn, columnUse, error) {
	f := encodedColumn{name: c.Name, missing: -1}
	count := make(map[string]int, len(c.Values)/4)
	missing := 0
	for _, v := range c.Values {
		if isMissing(v) {
			missing++
			continue
		}
		count[v]++
	}
	j := inspect(c, first, count)
	if slices.Contains(keep, c.Name) {
		j = j.keep()
	}
	for v, k := range j.odd {
		delete(count, v)
		missing += k
	}
	switch {
	case j.is == isEmpty, j.leftOut():
		return f, j, nil
	case j.is != isCategory:
		f.form = j.form
		varies, err := f.fitNumbers(count, len(c.Values)-missing)
		if err != nil {
			return f, j, err
		}
		if varies {
			f.width = 1
		}
	case len(count) > 1:
		f.categories = indices(frequent(count, maxCategories))
		f.width = len(f.categories)
	}
	if f.sd == 0 {
		f.form = numberForm{} // no number has to be parsed
	}
	if missing > 0 {
		f.markMissing()
	}
	return f, j, nil
}

func (f *encodedColumn) markMissing() {
	f.missing = f.width
	f.width++
}

func indices(values []string) map[string]int {
	at := make(map[string]int, len(values))
	for i, v := range values {
		at[v] = i
	}
	return at
}

func (f *encodedColumn) fitNumbers(count map[string]int, n int) (varies bool, err error) {
	type weighted struct{ value, weight float64 }
	all := make([]weighted, 0, len(count))
	for text, k := range count {
		v, err := f.form.parse(text)
		if errors.Is(err, strconv.ErrSyntax) {
			return false, err
		}
		if !mathx.IsFinite(v) {
			return false, fmt.Errorf("value %q is not finite", text)
		}
		all = append(all, weighted{v, float64(k)})
	}
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.value, b.value) }) // not in the order of the map
	values := all[:0]
	for _, v := range all {
		if last := len(values) - 1; last >= 0 && values[last].value == v.value {
			values[last].weight += v.weight
		} else {
			values = append(values, v)
		}
	}
	if len(values) < 2 {
		return false, nil
	}
	for _, v := range values {
		f.mean += v.value * (v.weight / float64(n))
	}
	var variance float64
	for _, v := range values {
		variance += (v.value - f.mean) * (v.value - f.mean) * (v.weight / float64(n))
	}
	f.sd = math.Sqrt(variance)
	if !mathx.IsFinite(variance) || f.sd == 0 {
		return false, fmt.Errorf("its values, %g to %g, have no finite standard deviation above 0", values[0].value, values[len(values)-1].value)
	}
	return true, nil
}

func frequent(count map[string]int, most int) []string {
	values := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	values = values[:min(most, len(values))]
	slices.Sort(values)
	return values
}

func (e *Encoder) needed() []string {
	names := make([]string, 0, len(e.columns))
	for _, c := range e.columns {
		if c.width > 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// SquaredNorm returns the expected squared length of an encoded row. A column of texts contributes
// texts.Length squared. Every other feature contributes 1, the mean square in numeric columns.
func (e *Encoder) SquaredNorm() int {
	sum := e.dim
	for _, c := range e.columns {
		if c.text != nil {
			sum += texts.Length*texts.Length - c.width
		}
	}
	return sum
}

func (e *Encoder) texts() string {
	for _, c := range e.columns {
		if c.text != nil {
			return c.name
		}
	}
	return ""
}

func (e *Encoder) Dim() int { return e.dim }

func (e *Encoder) Columns() []string {
	names := make([]string, len(e.columns))
	for i, f := range e.columns {
		names[i] = f.name
	}
	return names
}

// Names returns the name of each feature: "age", "sex=Female", "job missing".
func (e *Encoder) Names() []string {
	names := make([]string, e.dim)
	for _, f := range e.columns {
		if f.sd > 0 {
			names[f.at] = f.name
		}
		for v, at := range f.categories {
			names[at] = f.name + "=" + v
		}
		if f.text != nil {
			for i := range f.width {
				names[f.at+i] = f.name + " " + strconv.Itoa(i+1)
			}
		}
		if f.missing >= 0 {
			names[f.missing] = f.name + " missing"
		}
	}
	return names
}

// Encode returns a row of Dim() features for each row of t. The table t must have the fitted columns.
func (e *Encoder) Encode(t *Table) (blas32.General, error) {
	if len(t.Columns) != len(e.columns) {
		return blas32.General{}, fmt.Errorf("dataset: table %q has %d feature columns, the encoder was fitted on %d",
			t.Name, len(t.Columns), len(e.columns))
	}
	for j, f := range e.columns {
		if name := t.Columns[j].Name; name != f.name {
			return blas32.General{}, fmt.Errorf("dataset: table %q has column %q where the encoder was fitted on %q", t.Name, name, f.name)
		}
	}
	return e.encodeRows(t, upTo(t.Len()))
}

func (e *Encoder) encodeRows(t *Table, rows []int) (blas32.General, error) {
	if err := e.fits(t.Name, len(rows)); err != nil {
		return blas32.General{}, err
	}
	x, cells := dense.New(len(rows), e.dim), make([]string, len(e.columns))
	for i, from := range rows {
		t.read(from, cells)
		for j := range e.columns {
			if f := &e.columns[j]; f.width > 0 {
				_, _ = f.encode(dense.Row(x, i), cells[j])
			}
		}
	}
	return x, nil
}

func (e *Encoder) fits(name string, rows int) error {
	if rows > maxEncoded/e.dim {
		return wrong(name, fmt.Sprintf("has %d rows of %d encoded features, more than fit in memory", rows, e.dim), "",
			"drop columns with many categories")
	}
	return nil
}

var errMissing = errors.New("a missing value")

// encode writes the features of one cell. For a numeric column, encode returns the parsed number and any
// parse error. A missing value and a category without a feature are errors, too. The caller must not refuse a
// cell, because a refusal could reveal private rows.
func (f *encodedColumn) encode(dst []float32, v string) (number float64, err error) {
	switch {
	case isMissing(v):
		if err = errMissing; f.missing >= 0 {
			dst[f.missing] = 1
		}
	case f.text != nil:
		f.text.Encode(dst[f.at:f.at+f.width], v)
	case f.categories != nil:
		at, known := f.categories[v]
		if !known {
			return 0, strconv.ErrSyntax
		}
		dst[at] = 1
	case f.sd > 0:
		number, err = f.form.parse(v)
		if err != nil && errors.Is(err, strconv.ErrSyntax) || math.IsNaN(number) {
			if f.missing >= 0 {
				dst[f.missing] = 1
			}
			return number, err
		}
		dst[f.at] = clip((number - f.mean) / f.sd) // a number too large for float64 is infinite and is clipped
	}
	return number, err
}

func clip(v float64) float32 { return float32(max(-clipAt, min(clipAt, v))) }

type encodedRows struct {
	of     *Schema
	cells  []int       // index of the cell of each encoded column in a row, or -1
	blocks [][]float32 // of whole rows
	counts []likeness  // of each column compared with public rows
}

const blockNumbers = 1 << 16

func (s *Schema) encodedRows(t *Table, features []int) *encodedRows {
	picked, err := s.align(t)
	if err != nil {
		return nil
	}
	e := &encodedRows{of: s, counts: make([]likeness, len(s.usual))}
	for _, c := range picked.Columns {
		at := slices.IndexFunc(t.Columns, func(other Column) bool { return other.Name == c.Name })
		if at >= 0 {
			at = features[at]
		}
		e.cells = append(e.cells, at)
	}
	return e
}

func (e *encodedRows) add(cells []string) {
	dim, last := e.of.Encoder.dim, len(e.blocks)-1
	if last >= maxEncoded/max(dim, blockNumbers) {
		return // the number of rows is refused when it is known
	}
	if last < 0 || len(e.blocks[last]) > cap(e.blocks[last])-dim {
		e.blocks, last = append(e.blocks, make([]float32, 0, max(dim, blockNumbers))), last+1
	}
	block := e.blocks[last]
	e.blocks[last] = block[:len(block)+dim]
	row := e.blocks[last][len(block):]
	for j, at := range e.cells {
		if at < 0 {
			continue
		}
		v, f := cells[at], &e.of.Encoder.columns[j]
		number, err := f.encode(row, v)
		if j < len(e.counts) && e.of.usual[j].name != "" {
			e.counts[j].add(&e.of.usual[j], v, number, err)
		}
	}
}
