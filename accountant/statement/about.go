package statement

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	aboutSchema = "pate.about/1" // the JSON form of About
	maxAbout    = 1 << 16        // bytes of the file of an About
	maxField    = 500            // letters of one field
)

// About is what the ledger does not hold: whose data they are, and what for. It is printed as given, and
// nobody checks it. Every field may be empty.
type About struct {
	DataSet    string `json:"data_set,omitempty"`
	Controller string `json:"controller,omitempty"` // who decides about the data
	Purpose    string `json:"purpose,omitempty"`
	Contact    string `json:"contact,omitempty"`
	Date       string `json:"date,omitempty"` // of the statement, YYYY-MM-DD
}

// ParseAbout reads an About from JSON:
//
//	{"schema": "pate.about/1", "data_set": "admissions 2019 to 2024", "controller": "St. Mary's",
//	 "purpose": "triage of referrals", "contact": "privacy@example.org", "date": "2026-03-01"}
//
// The schema may be left out. Unknown fields, fields beyond 500 letters and a date that is none are
// refused. Characters that steer a terminal or the order of letters, such as line ends, become replacement
// characters.
func ParseAbout(text []byte) (About, error) {
	var in struct {
		Schema *string `json:"schema"`
		About
	}
	switch {
	case len(text) > maxAbout:
		return About{}, fmt.Errorf("statement: it is longer than %d bytes", maxAbout)
	case !utf8.Valid(text):
		return About{}, errors.New("statement: it is not text in UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return About{}, fmt.Errorf("statement: there is no field %s; the fields are data_set, controller, purpose, contact and date", Plain(name))
		}
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field == "" {
			return About{}, errors.New("statement: it is no JSON object")
		} else if errors.As(err, &kind) {
			return About{}, fmt.Errorf("statement: %s is no text", kind.Field)
		}
		return About{}, fmt.Errorf("statement: it is no JSON: %w", err)
	}
	if _, end := d.Token(); end != io.EOF {
		return About{}, errors.New("statement: something follows the object")
	}
	if in.Schema != nil && *in.Schema != aboutSchema {
		return About{}, fmt.Errorf("statement: its schema is %q, this version reads %q", Plain(*in.Schema), aboutSchema)
	}
	a := in.About
	for _, f := range a.fields() {
		*f.value = Plain(strings.TrimSpace(*f.value))
		if utf8.RuneCountInString(*f.value) > maxField {
			return About{}, fmt.Errorf("statement: %s has more than %d letters", f.name, maxField)
		}
	}
	if a.Date != "" {
		if _, err := time.Parse(time.DateOnly, a.Date); err != nil {
			return About{}, fmt.Errorf("statement: date %q is not a day as 2026-03-01", a.Date)
		}
	}
	return a, nil
}

type aboutField struct {
	name, title string
	value       *string
}

func (a *About) fields() []aboutField {
	return []aboutField{
		{"data_set", "Data set", &a.DataSet}, {"controller", "Controller", &a.Controller}, {"purpose", "Purpose", &a.Purpose},
		{"contact", "Contact", &a.Contact}, {"date", "Date", &a.Date},
	}
}
