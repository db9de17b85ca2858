package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
)

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
