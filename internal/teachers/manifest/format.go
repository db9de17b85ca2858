package manifest

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Schema is the version of the format.
const Schema = "pate.manifest/1"

// Head is what a manifest says of the whole. A manifest is one JSON object:
//
//	{"schema":"pate.manifest/1","unit":"patient","salt_id":"0123456789abcdef",
//	 "teachers":4,"classes":10,"votes":"64 hexadecimal digits",
//	 "silos":[{"name":"hospital-a","units":["32 hexadecimal digits",...]},...]}
//
// Each silo is one teacher. Its units are in ascending order, each once. What `pate train` writes has no
// silos, because the size of a share is private, and
//
//	"class_names":["no","yes"],"queries":1000,"relation":"add_remove","training":{...}
type Head struct {
	Unit     string // what one id is: "patient", "record"
	SaltID   string // [Salt.ID]
	Teachers int    // of the whole ensemble, 0: not stated
	Classes  int    // 0: not stated
	Votes    string // [Salt.Votes] of the votes that the silos' teachers gave; "": not stated
	// ClassNames are the names of the classes, in the order of their numbers. Nil: not stated.
	ClassNames []string
	Queries    int       // public rows that were asked, 0: not stated
	Relation   string    // "add_remove"; "": not stated
	Training   *Training // nil: the teachers were trained elsewhere
}

// Check refuses what no manifest says.
func (h Head) Check() error {
	if err := checkName("unit", h.Unit); err != nil {
		return err
	}
	if !isHex(h.SaltID, 8) {
		return errors.New(`manifest: "salt_id" must be 16 hexadecimal digits`)
	}
	if h.Votes != "" && !isHex(h.Votes, 32) {
		return errors.New(`manifest: "votes" must be 64 hexadecimal digits`)
	}
	if h.Teachers < 0 || h.Classes < 0 || h.Teachers > maxSilos || h.Classes > maxSilos {
		return fmt.Errorf("manifest: %d teachers and %d classes", h.Teachers, h.Classes)
	}
	return h.checkTraining()
}

// isHex reports whether text is size bytes in lower-case hexadecimal.
func isHex(text string, size int) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == size && hex.EncodeToString(raw) == text
}

const maxSilos = 1 << 20

// CheckSilo refuses what is no name of a silo.
func CheckSilo(name string) error { return checkName("silo", name) }

// Write writes a manifest of silos.
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

// writer writes a manifest piece by piece. It reports errors of writing at the end.
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
	fmt.Fprintf(out.w, "{\"schema\":%q,\"unit\":%s,\"salt_id\":%q", Schema, quote(head.Unit), head.SaltID)
	if head.Teachers > 0 {
		fmt.Fprintf(out.w, ",\"teachers\":%d", head.Teachers)
	}
	if head.Classes > 0 {
		fmt.Fprintf(out.w, ",\"classes\":%d", head.Classes)
	}
	if head.Votes != "" {
		fmt.Fprintf(out.w, ",\"votes\":%q", head.Votes)
	}
	if err := out.training(head); err != nil {
		return nil, err
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
	b, _ := json.Marshal(text) // a string never fails
	return string(b)
}

// SiloInfo is what a manifest says of one silo, except for its units.
type SiloInfo struct {
	Name  string
	Units int
}

// Read reads a manifest and visits the units of its silos in order. Memory is bounded, apart from the names
// of silos. Read refuses everything that does not match [Head]: an unknown, repeated or missing key,
// anything after the end, hashes that do not ascend.
func Read(r io.Reader, visit func(silo SiloInfo, unit Hash) error) (Head, []SiloInfo, error) {
	p := newParser(r)
	var head Head
	var silos []SiloInfo
	schema := ""
	seen := p.object(func(key string) {
		switch key {
		case "schema":
			schema = p.text()
		case "unit":
			head.Unit = p.text()
		case "salt_id":
			head.SaltID = p.text()
		case "teachers":
			head.Teachers = p.number()
		case "classes":
			head.Classes = p.number()
		case "votes":
			head.Votes = p.text()
		case "class_names":
			head.ClassNames = p.names()
		case "queries":
			head.Queries = p.number()
		case "relation":
			head.Relation = p.text()
		case "training":
			head.Training = p.training()
		case "silos":
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
		default:
			p.fail(fmt.Errorf("unknown key %q", key))
		}
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

// silo reads one silo. The name of a silo must come before its units.
func (p *parser) silo(visit func(SiloInfo, Hash) error) (s SiloInfo) {
	seen := p.object(func(key string) {
		switch key {
		case "name":
			s.Name = p.text()
			if p.err == nil {
				p.fail(CheckSilo(s.Name))
			}
		case "units":
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
		default:
			p.fail(fmt.Errorf("unknown key %q in a silo", key))
		}
	})
	if !seen["name"] || !seen["units"] {
		p.fail(errors.New("a silo has a name and units"))
	}
	return s
}

// unit reads the hash of one unit.
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
