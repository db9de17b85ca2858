package statement

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	aboutSchema = "pate.about/1" // JSON schema of About
	maxAbout    = 1 << 16        // largest file in bytes
	maxField    = 2000           // largest field in letters
)

// About holds facts from the owner of the data that are not in a ledger. The facts cannot be verified. Every
// field may be empty.
type About struct {
	DataSet    string `json:"data_set,omitempty"`
	Controller string `json:"controller,omitempty"` // the body that decides about the data
	Purpose    string `json:"purpose,omitempty"`
	Contact    string `json:"contact,omitempty"`
	Date       string `json:"date,omitempty"` // date of publication, YYYY-MM-DD

	Region        string `json:"region,omitempty"`        // where the people live, or whose laws apply
	Actors        string `json:"actors,omitempty"`        // holders of the private data, and why they are trusted
	Plans         string `json:"plans,omitempty"`         // further releases from the same data, and their budget
	Tuning        string `json:"tuning,omitempty"`        // preprocessing and tuning before the first charge
	Justification string `json:"justification,omitempty"` // why this epsilon and this unit
	Utility       string `json:"utility,omitempty"`       // accuracy on public or released data, and for whom
	Retention     string `json:"retention,omitempty"`     // when keys and private files are destroyed
	// Releases, Source and Access each have one of two values. An empty Source means "static", and an empty
	// Access means "non-interactive".
	Releases string `json:"releases,omitempty"` // "one" or "many"; by default "many" if a ledger can be charged again
	Source   string `json:"source,omitempty"`   // "static" or "dynamic" (new data arrive)
	Access   string `json:"access,omitempty"`   // "non-interactive" or "interactive"
}

// ParseAbout reads an About from JSON:
//
//	{"schema": "pate.about/1", "data_set": "admissions 2019 to 2024", "controller": "St. Mary's",
//	 "purpose": "triage of referrals", "contact": "privacy@example.org", "date": "2026-03-01"}
//
// The schema is optional. ParseAbout rejects unknown fields and values, fields of more than 2,000 letters,
// and invalid dates. Characters that control a terminal or the order of letters are replaced.
func ParseAbout(text []byte) (About, error) {
	var in struct {
		Schema *string `json:"schema"`
		About
	}
	switch {
	case len(text) > maxAbout:
		return About{}, fmt.Errorf("statement: the file is longer than %d bytes", maxAbout)
	case !utf8.Valid(text):
		return About{}, errors.New("statement: the file is not text in UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			var names []string
			for _, f := range (&About{}).fields() {
				names = append(names, f.name)
			}
			return About{}, fmt.Errorf("statement: unknown field %s; the fields are %s", Plain(name), strings.Join(names, ", "))
		}
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) && kind.Field == "" {
			return About{}, errors.New("statement: not a JSON object")
		} else if errors.As(err, &kind) {
			return About{}, fmt.Errorf("statement: the field %s is not a string", kind.Field)
		}
		return About{}, fmt.Errorf("statement: the file is not JSON: %w", err)
	}
	if _, end := d.Token(); end != io.EOF {
		return About{}, errors.New("statement: there is text after the object")
	}
	if in.Schema != nil && *in.Schema != aboutSchema {
		return About{}, fmt.Errorf("statement: the schema is %q, but this version reads %q", Plain(*in.Schema), aboutSchema)
	}
	a := in.About
	for _, f := range a.fields() {
		*f.value = Plain(strings.TrimSpace(*f.value))
		if utf8.RuneCountInString(*f.value) > maxField {
			return About{}, fmt.Errorf("statement: %s has more than %d letters", f.name, maxField)
		}
		if len(f.values) > 0 && *f.value != "" && !slices.Contains(f.values, *f.value) {
			return About{}, fmt.Errorf("statement: %s is %q, not one of %s", f.name, *f.value, strings.Join(f.values, ", "))
		}
	}
	if a.Date != "" {
		if _, err := time.Parse(time.DateOnly, a.Date); err != nil {
			return About{}, fmt.Errorf("statement: date %q is not a day such as 2026-03-01", a.Date)
		}
	}
	return a, nil
}

// Write writes facts in the form that ParseAbout reads.
func (a About) Write(w io.Writer) error {
	text, err := json.MarshalIndent(struct {
		Schema string `json:"schema"`
		About
	}{aboutSchema, a}, "", "  ")
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

type aboutField struct {
	name, title string
	value       *string
	values      []string // allowed values; nil for free text
}

func (a *About) fields() []aboutField {
	return []aboutField{
		{"data_set", "Data set", &a.DataSet, nil}, {"controller", "Controller", &a.Controller, nil}, {"purpose", "Purpose", &a.Purpose, nil},
		{"contact", "Contact", &a.Contact, nil}, {"date", "Date", &a.Date, nil}, {"region", "Region", &a.Region, nil},
		{"actors", "Actors and trust", &a.Actors, nil}, {"plans", "Further releases", &a.Plans, nil},
		{"tuning", "Preprocessing and tuning", &a.Tuning, nil}, {"justification", "Why this ε", &a.Justification, nil},
		{"utility", "Utility", &a.Utility, nil}, {"retention", "Retention", &a.Retention, nil},
		{"releases", "Releases", &a.Releases, []string{"one", "many"}}, {"source", "Data source", &a.Source, []string{"static", "dynamic"}},
		{"access", "Access", &a.Access, []string{"non-interactive", "interactive"}},
	}
}
