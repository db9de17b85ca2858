package manifest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/pate-go/pate/teachers/votes"
)

const Schema = "pate.manifest/1"

// Head describes the ensemble. A manifest is one JSON object:
//
//	{"schema":"pate.manifest/1","unit":"patient","salt_id":"0123456789abcdef",
//	 "teachers":4,"classes":10,"votes":"64 hexadecimal digits",
//	 "silos":[{"name":"hospital-a","units":["32 hexadecimal digits",...]},...]}
//
// Each silo is one teacher. The units of a silo ascend and are distinct. `pate train` writes no silos,
// because partition sizes are private. In place of "silos" it writes
//
//	"class_names":["no","yes"],"queries":1000,"relation":"add_remove","training":{...}
type Head struct {
	Unit     string // privacy unit, such as "patient" or "record"
	SaltID   string // [Salt.ID]
	Teachers int    // number in the whole ensemble, or 0 if not stated
	Classes  int    // or 0 if not stated
	Votes    string // [Salt.Votes] of the ensemble's votes, or "" if not stated
	// ClassNames holds the class names in the order of the class numbers, or is nil if not stated.
	ClassNames []string
	Queries    int       // number of public rows voted on, or 0 if not stated
	Relation   string    // "add_remove" or "replace_one", or "" if not stated
	Training   *Training // nil if the teachers were trained elsewhere
}

// Training describes how `pate train` made the votes. No field depends on private rows.
type Training struct {
	Program  string `json:"program"`  // version and commit
	Learner  string `json:"learner"`  // with all its parameters
	Features string `json:"features"` // features of rows
	Command  string `json:"command"`  // command line that repeats the training
	Public   string `json:"public"`   // SHA-256 of the public rows as read
}

const maxSilos = 1 << 20

func (h Head) Check() error {
	if err := checkName("unit", h.Unit); err != nil {
		return err
	}
	switch {
	case !isHex(h.SaltID, 8):
		return errors.New(`manifest: "salt_id" must be 16 hexadecimal digits`)
	case h.Votes != "" && !isHex(h.Votes, 32):
		return errors.New(`manifest: "votes" must be 64 hexadecimal digits`)
	case h.Teachers < 0 || h.Classes < 0 || h.Teachers > maxSilos || h.Classes > maxSilos:
		return fmt.Errorf("manifest: %d teachers and %d classes", h.Teachers, h.Classes)
	case h.Queries < 0:
		return fmt.Errorf("manifest: %d queries", h.Queries)
	case h.ClassNames != nil && (len(h.ClassNames) > votes.MaxClasses || h.Classes != 0 && h.Classes != len(h.ClassNames)):
		return fmt.Errorf("manifest: %d class names of %d classes", len(h.ClassNames), h.Classes)
	case h.Relation != "" && h.Relation != "add_remove" && h.Relation != "replace_one":
		return fmt.Errorf("manifest: relation %q", h.Relation)
	}
	for _, name := range h.ClassNames {
		if name == "" || len(name) > maxToken/8 || !utf8.ValidString(name) {
			return errors.New("manifest: a class name is empty, too long or not UTF-8")
		}
	}
	t := h.Training
	if t == nil {
		return nil
	}
	for _, text := range []string{t.Program, t.Learner, t.Features, t.Command} {
		if len(quote(text)) > maxToken {
			return fmt.Errorf("manifest: a text of the training has more than %d bytes", maxToken)
		}
	}
	if !isHex(t.Public, 32) {
		return errors.New(`manifest: "public" must be 64 hexadecimal digits`)
	}
	return nil
}

func isHex(text string, size int) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == size && hex.EncodeToString(raw) == text
}

func CheckSilo(name string) error { return checkName("silo", name) }

// Beside returns the path of the manifest for a votes file.
func Beside(votes string) string { return votes + ".manifest.json" }

// Load reads a manifest file. It returns the number of units of each silo, but not the units.
func Load(path string) (Head, []SiloInfo, error) {
	return opener(openFile).read(context.Background(), path, func(SiloInfo, Hash) error { return nil })
}

func Write(w io.Writer, head Head, silos ...Silo) error {
	out, err := newWriter(w, head)
	if err != nil {
		return err
	}
	for _, s := range silos {
		if err := CheckSilo(s.Name); err != nil {
			return err
		}
		out.silo(s.Name)
		for _, h := range s.Hashes {
			out.unit(h)
		}
	}
	return out.end()
}

type writer struct {
	w     *bufio.Writer
	silos int
	units int
}

func newWriter(w io.Writer, head Head) (*writer, error) {
	if err := head.Check(); err != nil {
		return nil, err
	}
	out := &writer{w: bufio.NewWriter(w)}
	for _, part := range []struct {
		before, key string
		stated      bool
		value       any
	}{
		{"{", "schema", true, Schema}, {",", "unit", true, head.Unit}, {",", "salt_id", true, head.SaltID},
		{",", "teachers", head.Teachers > 0, head.Teachers}, {",", "classes", head.Classes > 0, head.Classes},
		{",", "votes", head.Votes != "", head.Votes}, {",\n", "class_names", head.ClassNames != nil, head.ClassNames},
		{",\n", "queries", head.Queries > 0, head.Queries}, {",\n", "relation", head.Relation != "", head.Relation},
		{",\n", "training", head.Training != nil, head.Training},
	} {
		if !part.stated {
			continue
		}
		text, err := json.Marshal(part.value)
		if err != nil {
			return nil, fmt.Errorf("manifest: %w", err)
		}
		fmt.Fprintf(out.w, "%s%q:%s", part.before, part.key, text)
	}
	out.w.WriteString(",\"silos\":[")
	return out, nil
}

func (o *writer) silo(name string) {
	if o.silos > 0 {
		o.w.WriteString("]},")
	}
	fmt.Fprintf(o.w, "\n{\"name\":%s,\"units\":[", quote(name))
	o.silos, o.units = o.silos+1, 0
}

func (o *writer) unit(h Hash) {
	var line [2*len(Hash{}) + 4]byte
	b := line[:0]
	if o.units > 0 {
		b = append(b, ',')
	}
	b = hex.AppendEncode(append(b, "\n\""...), h[:])
	o.w.Write(append(b, '"'))
	o.units++
}

func (o *writer) end() error {
	if o.silos > 0 {
		o.w.WriteString("]}")
	}
	o.w.WriteString("]}\n")
	if err := o.w.Flush(); err != nil {
		return fmt.Errorf("manifest: writing: %w", err)
	}
	return nil
}

func quote(text string) string {
	b, _ := json.Marshal(text) // a string can always be marshalled
	return string(b)
}

type SiloInfo struct {
	Name  string
	Units int
}

// Read reads a manifest and calls visit with each unit, in order. The memory is bounded, except for silo
// names. Read refuses any deviation from the format of [Head]: unknown, repeated or missing keys, data after
// the end, and units that do not ascend.
func Read(r io.Reader, visit func(silo SiloInfo, unit Hash) error) (Head, []SiloInfo, error) {
	p := newParser(r)
	var head Head
	var silos []SiloInfo
	schema := ""
	seen := p.object("", map[string]any{
		"schema": &schema, "unit": &head.Unit, "salt_id": &head.SaltID, "teachers": &head.Teachers, "classes": &head.Classes,
		"votes": &head.Votes, "class_names": &head.ClassNames, "queries": &head.Queries, "relation": &head.Relation,
		"training": func() { head.Training = p.training() },
		"silos": func() {
			names := map[string]bool{}
			p.array(func() {
				s := p.silo(visit)
				if names[s.Name] {
					p.fail(fmt.Errorf("silo %q twice", s.Name))
				}
				names[s.Name] = true
				if silos = append(silos, s); len(silos) > maxSilos {
					p.fail(fmt.Errorf("more than %d silos", maxSilos))
				}
			})
		},
	})
	p.finish()
	for _, key := range []string{"schema", "unit", "salt_id", "silos"} {
		if !seen[key] {
			p.fail(fmt.Errorf("no key %q", key))
		}
	}
	if schema != Schema {
		p.fail(fmt.Errorf("schema %q is not %q", schema, Schema))
	}
	if p.err != nil {
		return Head{}, nil, fmt.Errorf("manifest: %w", p.err)
	}
	if err := head.Check(); err != nil {
		return Head{}, nil, err
	}
	return head, silos, nil
}

func (p *parser) silo(visit func(SiloInfo, Hash) error) (s SiloInfo) {
	seen := p.object(" in a silo", map[string]any{
		"name": func() {
			s.Name = p.text()
			if p.err == nil {
				p.fail(CheckSilo(s.Name))
			}
		},
		"units": func() {
			if s.Name == "" {
				p.fail(errors.New("a silo must give its name before its units"))
			}
			var last Hash
			p.array(func() {
				unit := p.unit()
				if s.Units > 0 && bytes.Compare(unit[:], last[:]) <= 0 {
					p.fail(fmt.Errorf("silo %q: the units do not ascend", s.Name))
				}
				last = unit
				s.Units++
				if p.err == nil {
					p.fail(visit(s, unit))
				}
			})
		},
	})
	if len(seen) != 2 {
		p.fail(errors.New("a silo has a name and units"))
	}
	return s
}

func (p *parser) unit() (h Hash) {
	quoted := p.raw()
	if p.err != nil {
		return h
	}
	digits := quoted[1 : len(quoted)-1]
	if len(digits) != 2*len(h) {
		p.fail(fmt.Errorf("a unit of %d characters, not %d hexadecimal digits", len(digits), 2*len(h)))
		return h
	}
	_, err := hex.Decode(h[:], digits)
	if err != nil || bytes.ContainsAny(digits, "ABCDEF") {
		p.fail(errors.New("a unit is not written in lower-case hexadecimal digits"))
	}
	return h
}

func (p *parser) training() *Training {
	var t Training
	fields := map[string]any{"program": &t.Program, "learner": &t.Learner, "features": &t.Features, "command": &t.Command, "public": &t.Public}
	if seen := p.object(" in the training", fields); p.err == nil && len(seen) != len(fields) {
		p.fail(errors.New("a field of the training is missing"))
	}
	return &t
}
