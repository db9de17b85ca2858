package statement

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pate-go/pate/accountant/ledger"
)

// errNotReleased means that no ledger has committed a file.
var errNotReleased = errors.New("not released")

// File is a released file.
type File struct {
	Name   string // name on the page; the file is not opened
	SHA256 [sha256.Size]byte
}

// Released is a committed outcome.
type Released struct {
	SHA256  string `json:"sha256"`         // SHA-256 of the file in hexadecimal
	Name    string `json:"name,omitempty"` // empty unless Options lists the file
	Run     string `json:"run,omitempty"`
	Entries string `json:"entries"` // entries that were charged for the file, such as "3" or "3-5"
	entries []int64
}

// mostReleased is the largest number of outcomes without a file name on a page.
const mostReleased = 100

// outcomes collects the committed outcomes of a ledger. After mostReleased outcomes it keeps only
// Options.Files.
type outcomes struct {
	list   []Released
	at     map[[sha256.Size]byte]int
	wanted map[[sha256.Size]byte]File
	found  map[[sha256.Size]byte]bool // by the hash of a wanted file
	runs   map[int64]string           // run of an entry
	more   int64                      // number of commits that are not listed
}

func newOutcomes(files []File) *outcomes {
	o := &outcomes{at: map[[sha256.Size]byte]int{}, wanted: map[[sha256.Size]byte]File{},
		found: map[[sha256.Size]byte]bool{}, runs: map[int64]string{}}
	for _, f := range files {
		o.wanted[f.SHA256] = f
	}
	return o
}

func (o *outcomes) entry(e ledger.Entry) error {
	if e.Run != "" && len(o.runs) < 10*mostReleased {
		o.runs[e.Number] = e.Run
	}
	return nil
}

func (o *outcomes) commit(entry int64, hash [sha256.Size]byte) {
	i, listed := o.at[hash]
	if !listed {
		file, wanted := o.wanted[hash]
		if !wanted && len(o.list) >= mostReleased {
			o.more++
			return
		}
		one := Released{SHA256: hex.EncodeToString(hash[:]), Run: o.runs[entry]}
		if wanted {
			one.Name, one.SHA256 = Plain(file.Name), hex.EncodeToString(file.SHA256[:])
			o.found[file.SHA256] = true
		}
		i = len(o.list)
		o.at[hash], o.list = i, append(o.list, one)
	}
	o.list[i].entries = append(o.list[i].entries, entry)
}

func (o *outcomes) released() []Released {
	for i := range o.list {
		o.list[i].Entries = spanOf(o.list[i].entries)
	}
	return o.list
}

func spanOf(entries []int64) string {
	var parts []string
	for i := 0; i < len(entries); {
		j := i
		for j+1 < len(entries) && entries[j+1] == entries[j]+1 {
			j++
		}
		part := strconv.FormatInt(entries[i], 10)
		if j > i {
			part += "-" + strconv.FormatInt(entries[j], 10)
		}
		if parts = append(parts, part); len(parts) == 10 && j+1 < len(entries) {
			return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", len(entries)-j-1)
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

const (
	aboutSchema = "pate.about/1" // JSON schema of About
	maxAbout    = 1 << 16        // largest file in bytes
	maxField    = 500            // largest field in letters
)

// About describes the data and their purpose. Its contents cannot be verified. Every field may be empty.
type About struct {
	DataSet    string `json:"data_set,omitempty"`
	Controller string `json:"controller,omitempty"` // the body that decides about the data
	Purpose    string `json:"purpose,omitempty"`
	Contact    string `json:"contact,omitempty"`
	Date       string `json:"date,omitempty"` // date of the statement, YYYY-MM-DD
}

// ParseAbout reads an About from JSON:
//
//	{"schema": "pate.about/1", "data_set": "admissions 2019 to 2024", "controller": "St. Mary's",
//	 "purpose": "triage of referrals", "contact": "privacy@example.org", "date": "2026-03-01"}
//
// The schema is optional. Unknown fields, fields of more than 500 letters and an invalid date are errors.
// Characters that control a terminal or the order of letters are replaced.
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
			return About{}, fmt.Errorf("statement: unknown field %s; the fields are data_set, controller, purpose, contact and date", Plain(name))
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
	}
	if a.Date != "" {
		if _, err := time.Parse(time.DateOnly, a.Date); err != nil {
			return About{}, fmt.Errorf("statement: date %q is not a day such as 2026-03-01", a.Date)
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
