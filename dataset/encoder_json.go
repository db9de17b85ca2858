package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/fault"
)

// errEncoder is matched by every error about JSON that is not an [Encoder].
var errEncoder = errors.New("dataset: not an encoder")

// columnJSON is a column of an encoder in JSON. A column is numeric if it has a
// deviation, categorical if it has categories, and otherwise makes no feature but
// that of missing values.
type columnJSON struct {
	Name       cell    `json:"name"`
	Mean       float64 `json:"mean,omitempty"`
	SD         float64 `json:"sd,omitempty"`
	Comma      bool    `json:"decimal_comma,omitempty"`
	Date       string  `json:"date,omitempty"`       // the layout of numbers that are dates, as package time has it
	Categories []cell  `json:"categories,omitempty"` // in the order of their features
	Missing    bool    `json:"missing,omitempty"`    // whether a feature marks missing values
}

// cell is bytes of a table. JSON knows Unicode alone, and files in other encodings are
// read too: their text is an object with base64.
type cell string

// maxLayout bounds the layout of a date.
const maxLayout = 64

type otherCell struct {
	Base64 []byte `json:"base64"`
}

func (c cell) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(c)) {
		return json.Marshal(otherCell{[]byte(c)})
	}
	return json.Marshal(string(c))
}

func (c *cell) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("{")) {
		var other otherCell
		err := json.Unmarshal(text, &other)
		*c = cell(other.Base64)
		return err
	}
	return json.Unmarshal(text, (*string)(c))
}

// MarshalJSON returns everything that encoding depends on. It holds means, deviations and
// frequent values of public rows, and nothing of private ones.
func (e *Encoder) MarshalJSON() ([]byte, error) {
	columns := make([]columnJSON, len(e.columns))
	for i, f := range e.columns {
		c := columnJSON{Name: cell(f.name), Mean: f.mean, SD: f.sd, Missing: f.missing >= 0}
		c.Comma, c.Date = f.form.comma, f.form.date
		if f.categories != nil {
			c.Categories = make([]cell, len(f.categories))
			for v, at := range f.categories {
				c.Categories[at-f.at] = cell(v)
			}
		}
		columns[i] = c
	}
	return json.Marshal(columns)
}

// UnmarshalJSON reads what MarshalJSON wrote. Anything else is an error that matches
// [errEncoder], and e stays as it was.
func (e *Encoder) UnmarshalJSON(text []byte) error {
	var columns []columnJSON
	if err := json.Unmarshal(text, &columns); err != nil {
		return fmt.Errorf("%w: %w", errEncoder, err)
	}
	var read Encoder
	for _, c := range columns {
		f, err := c.column()
		if err != nil {
			return fmt.Errorf("%w: column %q %w", errEncoder, c.Name, err)
		}
		f.place(read.dim)
		read.dim += f.width
		read.columns = append(read.columns, f)
	}
	if read.dim == 0 {
		return fmt.Errorf("%w: it makes no features", errEncoder)
	}
	*e = read
	return nil
}

// column has its features where [fitColumn] leaves them.
func (c columnJSON) column() (encodedColumn, error) {
	f := encodedColumn{name: string(c.Name), mean: c.Mean, sd: c.SD, missing: -1, width: len(c.Categories)}
	numeric := c.SD != 0
	switch {
	case (c.Comma || c.Date != "") && !numeric, c.Comma && c.Date != "", len(c.Date) > maxLayout:
		return f, errors.New("has a form of numbers without numbers, or two")
	}
	f.form = numberForm{comma: c.Comma, date: c.Date}
	switch {
	case c.SD < 0, math.IsInf(c.SD, 0), !numeric && c.Mean != 0:
		return f, fmt.Errorf("has mean %v and deviation %v", c.Mean, c.SD)
	case numeric && len(c.Categories) > 0:
		return f, errors.New("is both numeric and categorical")
	case numeric:
		f.width = 1
	case len(c.Categories) > 0:
		f.categories = make(map[string]int, len(c.Categories))
		for i, text := range c.Categories {
			v := string(text)
			if _, twice := f.categories[v]; twice || isMissing(v) {
				return f, fmt.Errorf("has the category %q twice, or it stands for a missing value", v)
			}
			f.categories[v] = i
		}
	}
	if c.Missing {
		f.missing = f.width
		f.width++
	}
	return f, nil
}

// EncodeByName does what [Encoder.Encode] does of a table in which the columns that the
// encoder was fitted on stand in any order, among others. What does not fit is an
// [*fault.Error].
func (e *Encoder) EncodeByName(t *Table) (blas32.General, error) {
	picked := *t
	picked.Columns = make([]Column, len(e.columns))
	seen := make(map[string]bool, len(e.columns))
	for i, f := range e.columns {
		at := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == f.name })
		if at < 0 && f.width == 0 { // nothing is made of it
			picked.Columns[i] = Column{Name: f.name}
			continue
		}
		if at < 0 {
			return blas32.General{}, &fault.Error{File: t.Name, What: fmt.Sprintf("has no column %q", f.name),
				Why: fmt.Sprintf("rows are encoded from %d columns of given names", len(e.columns)), Fix: "name the columns in a header as those of the training"}
		}
		twice := slices.ContainsFunc(t.Columns[at+1:], func(c Column) bool { return c.Name == f.name })
		if twice || seen[f.name] {
			return blas32.General{}, &fault.Error{File: t.Name, What: fmt.Sprintf("has more than one column %q", f.name),
				Why: "columns are found by their names", Fix: "give each column a name of its own"}
		}
		seen[f.name] = true
		picked.Columns[i] = t.Columns[at]
	}
	return e.Encode(&picked)
}
