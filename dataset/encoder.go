package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/fault"
	"github.com/pate-go/pate/internal/mathx"
)

const (
	clipAt     = 3       // standard deviations
	maxEncoded = 1 << 29 // numbers in one encoded matrix, 2 GiB
)

// encoderOptions say how columns become numbers.
type encoderOptions struct {
	MaxCategories int // most categories of one column, the most frequent are kept; default 100
	// Keep are names of columns that become features even where they look like ids or free
	// text.
	Keep []string
}

// Encoder turns the columns of a table into features. It is fitted on public
// rows and never changes afterwards, so encoding is row by row and costs no
// privacy.
//
// A column is numeric if every public value that is not missing is a number,
// integer codes included, a number with a decimal comma, or a date, which counts days; else
// it is categorical. Ids, free text and the row numbers that pandas writes are left out
// unless they are kept by name: they cannot help. A numeric column becomes
// (value - mean)/sd with the public mean and standard deviation, clipped to
// [-3, 3], infinite ones too; a missing value, and one that is no number, becomes 0. A categorical
// column becomes one column per public category, 1 for the row's own; a value not
// seen in public, or missing, is 0 everywhere. A column that had missing values in
// public gets one more, 1 where the value is missing. A column without variation
// in public is left out.
type Encoder struct {
	columns  []encodedColumn
	dim      int
	notes    []ColumnNote // nil if read from JSON
	repeated []string     // likewise
}

type encodedColumn struct {
	name       string
	at         int            // first feature
	width      int            // features, 0 if the column is left out
	categories map[string]int // value -> feature; nil if numeric
	mean, sd   float64        // if numeric
	missing    int            // feature that marks missing values, -1 if there is none
	form       numberForm     // if numeric
}

// fitEncoder learns an encoding from public rows. Their labels are not read.
func fitEncoder(public *Table, opt encoderOptions) (*Encoder, error) {
	if opt.MaxCategories < 0 {
		return nil, fmt.Errorf("dataset: MaxCategories is %d", opt.MaxCategories)
	}
	if opt.MaxCategories == 0 {
		opt.MaxCategories = 100
	}
	e := &Encoder{}
	for i, c := range public.Columns {
		f, j, err := fitColumn(c, opt, i == 0)
		if err != nil {
			return nil, &fault.Error{File: public.Name, What: fmt.Sprintf("has a column %q that cannot be encoded", c.Name), Err: err}
		}
		f.place(e.dim)
		e.dim += f.width
		e.columns = append(e.columns, f)
		e.notes = append(e.notes, j.describe(c.Name, f))
		if j.repeat {
			e.repeated = append(e.repeated, c.Name)
		}
	}
	if e.dim == 0 {
		return nil, &fault.Error{File: public.Name, What: "has no column that varies over the public rows", Why: "features are fitted on public rows alone"}
	}
	return e, nil
}

// fitColumn sets everything but the place of the features: width counts them;
// categories and missing count from 0 until place is called.
func fitColumn(c Column, opt encoderOptions, first bool) (encodedColumn, columnUse, error) {
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
	if slices.Contains(opt.Keep, c.Name) {
		j = j.keep()
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
		values := frequent(count, opt.MaxCategories)
		f.categories = make(map[string]int, len(values))
		for i, v := range values {
			f.categories[v] = i
		}
		f.width = len(values)
	}
	if f.sd == 0 {
		f.form = numberForm{} // no number is read
	}
	if missing > 0 {
		f.missing = f.width
		f.width++
	}
	return f, j, nil
}

// fitNumbers finds mean and standard deviation over values with multiplicities.
func (f *encodedColumn) fitNumbers(count map[string]int, n int) (varies bool, err error) {
	values := make([]float64, 0, len(count))
	weight := make(map[float64]float64, len(count))
	for text, k := range count {
		v, err := f.form.finite(text)
		if err != nil {
			return false, err
		}
		if weight[v] == 0 {
			values = append(values, v)
		}
		weight[v] += float64(k)
	}
	if len(values) < 2 {
		return false, nil
	}
	slices.Sort(values) // one order of summation, whatever the order of the map
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

func (n numberForm) finite(text string) (float64, error) {
	v, err := n.parse(text)
	if errors.Is(err, strconv.ErrSyntax) {
		return 0, err
	}
	if !mathx.IsFinite(v) {
		return 0, fmt.Errorf("value %q is not finite", text)
	}
	return v, nil
}

// frequent returns the most frequent values, sorted; of equally frequent ones those
// that sort first are kept.
func frequent(count map[string]int, most int) []string {
	values := make([]string, 0, len(count))
	for v := range count {
		values = append(values, v)
	}
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	values = values[:min(most, len(values))]
	slices.Sort(values)
	return values
}

func (f *encodedColumn) place(at int) {
	f.at = at
	for v := range f.categories {
		f.categories[v] += at
	}
	if f.missing >= 0 {
		f.missing += at
	}
}

// needed returns the names of the columns that features are made of.
func (e *Encoder) needed() []string {
	names := make([]string, 0, len(e.columns))
	for _, c := range e.columns {
		if c.width > 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// Dim returns the number of features.
func (e *Encoder) Dim() int { return e.dim }

// Columns returns the names of the columns that the encoder was fitted on.
func (e *Encoder) Columns() []string {
	names := make([]string, len(e.columns))
	for i, f := range e.columns {
		names[i] = f.name
	}
	return names
}

// Names says what each feature is: "age", "sex=Female", "job missing".
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

// Encode returns one row of Dim features for each row of t, whose columns must be
// those the encoder was fitted on.
func (e *Encoder) Encode(t *Table) (blas32.General, error) {
	if len(t.Columns) != len(e.columns) {
		return blas32.General{}, fmt.Errorf("dataset: table %q has %d feature columns, the encoder was fitted on %d", t.Name, len(t.Columns), len(e.columns))
	}
	if t.Len() > maxEncoded/e.dim {
		return blas32.General{}, &fault.Error{File: t.Name, What: fmt.Sprintf("has %d rows of %d encoded features, more than fit in memory", t.Len(), e.dim),
			Fix: "drop columns with many categories"}
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

// encode writes the features of one cell. No cell is an error: a private row must not
// decide whether there is a result.
func (f *encodedColumn) encode(dst []float32, v string) {
	if isMissing(v) {
		if f.missing >= 0 {
			dst[f.missing] = 1
		}
		return
	}
	if f.categories != nil {
		if at, known := f.categories[v]; known {
			dst[at] = 1
		}
		return
	}
	if f.sd == 0 {
		return
	}
	number, err := f.form.parse(v)
	if errors.Is(err, strconv.ErrSyntax) || math.IsNaN(number) {
		return // no number where public rows have numbers: not known
	}
	// A number beyond float64 is infinite, and is clipped as every extreme value is.
	dst[f.at] = float32(max(-clipAt, min(clipAt, (number-f.mean)/f.sd)))
}
