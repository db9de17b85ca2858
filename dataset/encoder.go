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

	"github.com/pate-go/pate/internal/mathx"
)

const (
	clipAt        = 3       // standard deviations
	maxEncoded    = 1 << 29 // numbers in one encoded matrix, 2 GiB
	maxCategories = 100     // of one column; the most frequent are kept
)

// Encoder turns the columns of a table into features. It is fitted on public rows and never changes
// afterwards, so encoding is row by row and costs no privacy.
//
// A column is numeric if all its non-missing public values are numbers (including integer codes), numbers
// with a decimal comma, or dates, which become days; otherwise it is categorical. Ids, free text and the row
// numbers that pandas writes are left out unless they are kept by name: they do not help a model. A numeric
// column becomes (value - mean)/sd with the public mean and standard deviation, clipped to [-3, 3], also if
// infinite; a missing value, and a value that is not a number, becomes 0 and is marked as missing, if the
// column has a feature for that. A categorical column becomes one
// feature per public category, 1 for the category of the row and otherwise 0; a value that is missing or not
// in public rows is 0 in all. A column with missing public values gets one more feature, 1 where the value is
// missing. A column that is constant in public rows is left out.
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
	categories map[string]int // value -> feature, from at on; nil if numeric
	mean, sd   float64        // if numeric
	missing    int            // feature that marks missing values, -1 if there is none
	form       numberForm     // if numeric
}

// fitEncoder fits an encoding to public rows. It does not read their labels. Columns named in keep become
// features even if they look like ids or free text.
func fitEncoder(public *Table, keep []string) (*Encoder, error) {
	e := &Encoder{}
	for i, c := range public.Columns {
		f, j, err := fitColumn(c, keep, i == 0)
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

// add appends a column whose feature indices count from 0.
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

func fitColumn(c Column, keep []string, first bool) (encodedColumn, columnUse, error) {
	f := encodedColumn{name: c.Name, missing: -1}
	count := map[string]int{}
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
		f.form = numberForm{} // no number is parsed
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
	weight := make(map[float64]float64, len(count))
	for text, k := range count {
		v, err := f.form.parse(text)
		if errors.Is(err, strconv.ErrSyntax) {
			return false, err
		}
		if !mathx.IsFinite(v) {
			return false, fmt.Errorf("value %q is not finite", text)
		}
		weight[v] += float64(k)
	}
	if len(weight) < 2 {
		return false, nil
	}
	values := slices.Sorted(maps.Keys(weight)) // fixes the order of summation, which the order of the map would change
	for _, v := range values {
		f.mean += v * (weight[v] / float64(n))
	}
	var variance float64
	for _, v := range values {
		variance += (v - f.mean) * (v - f.mean) * (weight[v] / float64(n))
	}
	f.sd = math.Sqrt(variance)
	if !mathx.IsFinite(variance) || f.sd == 0 {
		return false, fmt.Errorf("its values, %g to %g, have no finite standard deviation above 0", values[0], values[len(values)-1])
	}
	return true, nil
}

// frequent returns the most frequent values, sorted; of equally frequent values those that sort first.
func frequent(count map[string]int, most int) []string {
	values := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	values = values[:min(most, len(values))]
	slices.Sort(values)
	return values
}

// needed returns the names of the columns that become features.
func (e *Encoder) needed() []string {
	names := make([]string, 0, len(e.columns))
	for _, c := range e.columns {
		if c.width > 0 {
			names = append(names, c.name)
		}
	}
	return names
}

func (e *Encoder) Dim() int { return e.dim }

// Columns returns the names of the columns that the encoder was fitted on.
func (e *Encoder) Columns() []string {
	names := make([]string, len(e.columns))
	for i, f := range e.columns {
		names[i] = f.name
	}
	return names
}

// Names returns a name for each feature: "age", "sex=Female", "job missing".
func (e *Encoder) Names() []string {
	names := make([]string, e.dim)
	for _, f := range e.columns {
		if f.sd > 0 {
			names[f.at] = f.name
		}
		for v, at := range f.categories {
			names[at] = f.name + "=" + v
		}
		if f.missing >= 0 {
			names[f.missing] = f.name + " missing"
		}
	}
	return names
}

// Encode returns a row of Dim features for each row of t, whose columns must be the columns the encoder was
// fitted on.
func (e *Encoder) Encode(t *Table) (blas32.General, error) {
	if len(t.Columns) != len(e.columns) {
		return blas32.General{}, fmt.Errorf("dataset: table %q has %d feature columns, the encoder was fitted on %d",
			t.Name, len(t.Columns), len(e.columns))
	}
	if t.Len() > maxEncoded/e.dim {
		return blas32.General{}, wrong(t.Name,
			fmt.Sprintf("has %d rows of %d encoded features, more than fit in memory", t.Len(), e.dim), "", "drop columns with many categories")
	}
	x := blas32.General{Rows: t.Len(), Cols: e.dim, Stride: e.dim, Data: make([]float32, t.Len()*e.dim)}
	for j, c := range t.Columns {
		f := e.columns[j]
		if f.name != c.Name {
			return blas32.General{}, fmt.Errorf("dataset: table %q has column %q where the encoder was fitted on %q", t.Name, c.Name, f.name)
		}
		if f.width == 0 {
			continue
		}
		for i, v := range c.Values {
			f.encode(x.Data[i*e.dim:(i+1)*e.dim], v)
		}
	}
	return x, nil
}

// encode writes the features of one cell. No cell is an error: a private row must not decide whether there is
// a result.
func (f *encodedColumn) encode(dst []float32, v string) {
	switch missing := isMissing(v); {
	case missing && f.missing >= 0:
		dst[f.missing] = 1
	case missing:
	case f.categories != nil:
		if at, known := f.categories[v]; known {
			dst[at] = 1
		}
	case f.sd > 0:
		number, err := f.form.parse(v)
		if errors.Is(err, strconv.ErrSyntax) || math.IsNaN(number) {
			if f.missing >= 0 {
				dst[f.missing] = 1
			}
			return
		}
		dst[f.at] = clip((number - f.mean) / f.sd) // a number beyond float64 is infinite
	}
}

func clip(v float64) float32 { return float32(max(-clipAt, min(clipAt, v))) }
