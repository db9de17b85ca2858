package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
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

// pick returns the columns that the encoder was fitted on from a table in which they stand
// in any order, among others; and the names, quoted, of those that the table does not have
// or has twice. A column of which nothing is made may be missing.
func (e *Encoder) pick(t *Table) (picked *Table, missing, twice []string) {
	out := *t
	out.Columns = make([]Column, len(e.columns))
	for i, f := range e.columns {
		named := func(c Column) bool { return c.Name == f.name }
		switch at := slices.IndexFunc(t.Columns, named); {
		case at < 0 && f.width == 0:
			out.Columns[i] = Column{Name: f.name}
		case at < 0:
			missing = append(missing, strconv.Quote(f.name))
		case slices.ContainsFunc(t.Columns[at+1:], named):
			twice = append(twice, strconv.Quote(f.name))
		default:
			out.Columns[i] = t.Columns[at]
		}
	}
	return &out, missing, twice
}

// EncodeByName does what [Encoder.Encode] does of a table in which the columns that the
// encoder was fitted on stand in any order, among others. What does not fit is an
// [*fault.Error].
func (e *Encoder) EncodeByName(t *Table) (blas32.General, error) {
	picked, missing, twice := e.pick(t)
	for i, f := range e.columns {
		if slices.ContainsFunc(e.columns[:i], func(g encodedColumn) bool { return g.name == f.name }) {
			twice = append(twice, strconv.Quote(f.name))
		}
	}
	switch {
	case len(missing) > 0:
		return blas32.General{}, &fault.Error{File: t.Name, What: "has no column " + missing[0],
			Why: fmt.Sprintf("rows are encoded from %d columns of given names", len(e.columns)), Fix: "name the columns in a header as those of the training"}
	case len(twice) > 0:
		return blas32.General{}, &fault.Error{File: t.Name, What: "has more than one column " + twice[0],
			Why: "columns are found by their names", Fix: "give each column a name of its own"}
	}
	return e.Encode(picked)
}

// errSchema is matched by every error about JSON that is not a [Schema].
var errSchema = errors.New("dataset: not a schema")

// schemaJSON is everything that reading new rows depends on. It is public, as a Schema is.
type schemaJSON struct {
	Kind     Kind     `json:"kind"`
	Image    *Shape   `json:"image,omitempty"`
	Classes  []cell   `json:"classes,omitempty"`
	Features int      `json:"features"`
	Encoder  *Encoder `json:"encoder,omitempty"`
	Scale    *scale   `json:"scale,omitempty"`
	Columns  []cell   `json:"columns,omitempty"` // of tables without a header
	Label    string   `json:"label,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	Header   Header   `json:"header,omitempty"`
	Comma    string   `json:"separator,omitempty"`
}

// maxFeatures bounds the columns of a schema that is read.
const maxFeatures = 1 << 24

// MarshalJSON holds means, deviations and frequent values of public rows, the names of
// columns and classes, and nothing of private rows.
func (s *Schema) MarshalJSON() ([]byte, error) {
	out := schemaJSON{Kind: s.Kind, Features: s.Features, Encoder: s.Encoder, Label: s.reading.CSV.Label, Unit: s.reading.CSV.Unit, Header: s.reading.CSV.Header}
	for _, c := range s.Classes {
		out.Classes = append(out.Classes, cell(c))
	}
	for _, c := range s.bare {
		out.Columns = append(out.Columns, cell(c))
	}
	if s.Image != (Shape{}) {
		out.Image = &s.Image
	}
	if s.scale.Mean != nil {
		out.Scale = &s.scale
	}
	if s.reading.CSV.Comma != 0 {
		out.Comma = string(s.reading.CSV.Comma)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote. Anything else is an error that matches
// [errSchema], and s stays as it was.
func (s *Schema) UnmarshalJSON(text []byte) error {
	var in schemaJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("%w: %w", errSchema, err)
	}
	read := Schema{Kind: in.Kind, Features: in.Features, Encoder: in.Encoder}
	read.reading.CSV.Label, read.reading.CSV.Unit, read.reading.CSV.Header = in.Label, in.Unit, in.Header
	for _, c := range in.Comma {
		read.reading.CSV.Comma = c
	}
	for _, c := range in.Classes {
		read.Classes = append(read.Classes, string(c))
	}
	for _, c := range in.Columns {
		read.bare = append(read.bare, string(c))
	}
	if in.Image != nil {
		read.Image = *in.Image
	}
	if in.Scale != nil {
		read.scale = *in.Scale
	}
	if err := read.check(); err != nil {
		return fmt.Errorf("%w: %w", errSchema, err)
	}
	*s = read
	return nil
}

// check reports parts that do not fit together.
func (s *Schema) check() error {
	side := func(n int) bool { return n >= 1 && n <= 1<<12 }
	switch {
	case s.Features < 1 || s.Features > maxFeatures:
		return fmt.Errorf("%d features", s.Features)
	case s.Encoder != nil && (s.Encoder.Dim() != s.Features || s.Image != (Shape{}) || s.scale.Mean != nil):
		return fmt.Errorf("%d features of a table that is encoded to %d, or is also something else", s.Features, s.Encoder.Dim())
	case s.Image != (Shape{}) && (!side(s.Image.Rows) || !side(s.Image.Cols) || s.Image.Channels < 0 || s.Image.Channels > 3 || s.Image.Pixels() != s.Features):
		return fmt.Errorf("%d features of images of %dx%d", s.Features, s.Image.Rows, s.Image.Cols)
	case s.Encoder == nil && s.Image == (Shape{}) && (len(s.scale.Mean) != s.Features || len(s.scale.SD) != s.Features):
		return fmt.Errorf("%d features and %d means", s.Features, len(s.scale.Mean))
	case s.Classes != nil && (ClassRule{Names: s.Classes}).Validate() != nil:
		return fmt.Errorf("%d classes", len(s.Classes))
	}
	for j, sd := range s.scale.SD {
		if !(sd >= 0) || !finite(sd) || !finite(s.scale.Mean[j]) {
			return fmt.Errorf("mean %v and deviation %v of column %d", s.scale.Mean[j], sd, j+1)
		}
	}
	return nil
}
