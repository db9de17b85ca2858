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

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/texts"
)

type columnJSON struct {
	Name       cell         `json:"name"`
	Mean       float64      `json:"mean,omitempty"`
	SD         float64      `json:"sd,omitempty"`
	Comma      bool         `json:"decimal_comma,omitempty"`
	Date       string       `json:"date,omitempty"`       // layout of package time
	Categories []cell       `json:"categories,omitempty"` // in the order of their features
	Missing    bool         `json:"missing,omitempty"`    // a feature marks missing values
	Text       *texts.Space `json:"text,omitempty"`
}

const (
	maxLayout   = 64      // bytes of a date layout
	maxFeatures = 1 << 24 // features of a schema read from JSON
)

type cell string

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

func converted[To, From ~string](in []From) (out []To) {
	for _, t := range in {
		out = append(out, To(t))
	}
	return out
}

// MarshalJSON returns everything that encoding depends on: means, deviations and frequent values of public
// rows. The result contains nothing of private rows.
func (e *Encoder) MarshalJSON() ([]byte, error) {
	columns := make([]columnJSON, len(e.columns))
	for i, f := range e.columns {
		c := columnJSON{Name: cell(f.name), Mean: f.mean, SD: f.sd, Missing: f.missing >= 0, Comma: f.form.comma, Date: f.form.date, Text: f.text}
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

// UnmarshalJSON reads the result of MarshalJSON. For any other text, UnmarshalJSON returns an error and
// does not change e.
func (e *Encoder) UnmarshalJSON(text []byte) error {
	const notEncoder = "dataset: not an encoder"
	var columns []columnJSON
	if err := json.Unmarshal(text, &columns); err != nil {
		return fmt.Errorf(notEncoder+": %w", err)
	}
	var read Encoder
	for _, c := range columns {
		f, err := c.column()
		if err != nil {
			return fmt.Errorf(notEncoder+": column %q %w", c.Name, err)
		}
		read.add(f)
	}
	if read.dim == 0 {
		return errors.New(notEncoder + ": it makes no features")
	}
	*e = read
	return nil
}

func (c columnJSON) column() (encodedColumn, error) {
	f := encodedColumn{name: string(c.Name), mean: c.Mean, sd: c.SD, missing: -1, width: len(c.Categories)}
	f.form = numberForm{comma: c.Comma, date: c.Date}
	if f.text = c.Text; f.text != nil {
		f.width = f.text.Dim()
		if c.SD != 0 || c.Mean != 0 || c.Categories != nil || c.Missing {
			return f, errors.New("is of texts and of something else")
		}
	}
	switch numeric := c.SD != 0; {
	case (c.Comma || c.Date != "") && !numeric, c.Comma && c.Date != "", len(c.Date) > maxLayout:
		return f, errors.New("has a form of numbers without numbers, or two")
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
		f.markMissing()
	}
	return f, nil
}

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

// EncodeByName is like [Encoder.Encode], but finds the columns of the table by name. The table may have
// further columns. A missing column is an [*fault.Error].
func (e *Encoder) EncodeByName(t *Table) (blas32.General, error) {
	if t.stored != nil {
		t = t.Rows(upTo(t.Len()))
	}
	picked, missing, twice := e.pick(t)
	for i, f := range e.columns {
		if slices.ContainsFunc(e.columns[:i], func(g encodedColumn) bool { return g.name == f.name }) {
			twice = append(twice, strconv.Quote(f.name))
		}
	}
	switch {
	case len(missing) > 0:
		return blas32.General{}, wrong(t.Name, "has no column "+missing[0],
			fmt.Sprintf("rows are encoded from %d columns of given names", len(e.columns)),
			"name the columns in a header as those of the training")
	case len(twice) > 0:
		return blas32.General{}, twoColumns(t.Name, twice[0])
	}
	return e.Encode(picked)
}

type schemaJSON struct {
	Kind     Kind     `json:"kind"`
	Image    Shape    `json:"image,omitzero"`
	Classes  []cell   `json:"classes,omitempty"`
	Features int      `json:"features"`
	Encoder  *Encoder `json:"encoder,omitempty"`
	Scale    scale    `json:"scale,omitzero"`
	Columns  []cell   `json:"columns,omitempty"` // columns of tables without a header
	Label    string   `json:"label,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	Header   Header   `json:"header,omitempty"`
	Comma    string   `json:"separator,omitempty"`
	Missing  []cell   `json:"missing,omitempty"` // cells that are missing values, in addition to the usual cells
}

// MarshalJSON returns means, deviations and frequent values of public rows, and names of columns and classes.
// It contains nothing of private rows.
func (s *Schema) MarshalJSON() ([]byte, error) {
	csv := s.reading.CSV
	out := schemaJSON{Kind: s.Kind, Features: s.Features, Encoder: s.Encoder, Label: csv.Label, Unit: csv.Unit, Header: csv.Header,
		Image: s.Image, Scale: s.scale, Classes: converted[cell](s.Classes), Columns: converted[cell](s.bare), Missing: converted[cell](csv.Missing)}
	if csv.Comma != 0 {
		out.Comma = string(csv.Comma)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the result of MarshalJSON. Any other text is an error and does not change s.
func (s *Schema) UnmarshalJSON(text []byte) error {
	var in schemaJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("dataset: not a schema: %w", err)
	}
	read := Schema{Kind: in.Kind, Features: in.Features, Encoder: in.Encoder, Image: in.Image, scale: in.Scale,
		Classes: converted[string](in.Classes), bare: converted[string](in.Columns)}
	read.reading.CSV.Label, read.reading.CSV.Unit, read.reading.CSV.Header = in.Label, in.Unit, in.Header
	read.reading.CSV.Missing = converted[string](in.Missing)
	for _, c := range in.Comma {
		read.reading.CSV.Comma = c
	}
	if err := read.check(); err != nil {
		return fmt.Errorf("dataset: not a schema: %w", err)
	}
	*s = read
	return nil
}

func (s *Schema) check() error {
	img := s.Image
	side := func(n int) bool { return n >= 1 && n <= 1<<12 }
	switch {
	case s.Features < 1 || s.Features > maxFeatures:
		return fmt.Errorf("%d features", s.Features)
	case s.Encoder != nil && (s.Encoder.Dim() != s.Features || s.Image != (Shape{}) || s.scale.Mean != nil):
		return fmt.Errorf("%d features of a table that is encoded to %d, or is also something else", s.Features, s.Encoder.Dim())
	case img != (Shape{}) && (!side(img.Rows) || !side(img.Cols) || img.Channels < 0 || img.Channels > 3 || img.Pixels() != s.Features):
		return fmt.Errorf("%d features of images of %dx%d", s.Features, img.Rows, img.Cols)
	case len(s.scale.Mean) != len(s.scale.SD),
		len(s.scale.Mean) != s.Features && (s.scale.Mean != nil || s.Encoder == nil && img == (Shape{})):
		return fmt.Errorf("%d features and %d means", s.Features, len(s.scale.Mean))
	case s.Classes != nil && (ClassRule{Names: s.Classes}).Validate() != nil:
		return fmt.Errorf("%d classes", len(s.Classes))
	}
	for j, sd := range s.scale.SD {
		if !(sd >= 0) || !mathx.IsFinite(sd) || !mathx.IsFinite(s.scale.Mean[j]) {
			return fmt.Errorf("mean %v and deviation %v of column %d", s.scale.Mean[j], sd, j+1)
		}
	}
	return nil
}
