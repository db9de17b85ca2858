package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/pate-go/pate/teachers/votes"
)

// Training says how `pate train` made the votes. Nothing in it depends on private rows.
type Training struct {
	Program  string `json:"program"`  // version and commit
	Learner  string `json:"learner"`  // with all its parameters
	Features string `json:"features"` // what rows became
	Command  string `json:"command"`  // repeats the training
	Public   string `json:"public"`   // SHA-256 of the public rows as they were read
}

// Beside returns where the manifest of a votes file stands.
func Beside(votes string) string { return votes + ".manifest.json" }

// Load reads the manifest in a file, without its units.
func Load(path string) (Head, []SiloInfo, error) {
	return opener(openFile).read(context.Background(), path, func(SiloInfo, Hash) error { return nil })
}

func (h Head) checkTraining() error {
	if h.Queries < 0 {
		return fmt.Errorf("manifest: %d queries", h.Queries)
	}
	if h.ClassNames != nil && (len(h.ClassNames) > votes.MaxClasses || h.Classes != 0 && h.Classes != len(h.ClassNames)) {
		return fmt.Errorf("manifest: %d class names of %d classes", len(h.ClassNames), h.Classes)
	}
	for _, name := range h.ClassNames {
		if name == "" || len(name) > maxToken/8 || !utf8.ValidString(name) {
			return errors.New("manifest: a class name is empty, too long or not UTF-8")
		}
	}
	if h.Relation != "" && h.Relation != "add_remove" && h.Relation != "replace_one" {
		return fmt.Errorf("manifest: relation %q", h.Relation)
	}
	if t := h.Training; t != nil {
		for _, text := range []string{t.Program, t.Learner, t.Features, t.Command} {
			if len(quote(text)) > maxToken {
				return fmt.Errorf("manifest: a text of the training has more than %d bytes", maxToken)
			}
		}
	}
	if t := h.Training; t != nil && !isHex(t.Public, 32) {
		return errors.New(`manifest: "public" must be 64 hexadecimal digits`)
	}
	return nil
}

// training writes what is stated of class names, queries, relation and training.
func (o *writer) training(h Head) error {
	for _, part := range []struct {
		key    string
		stated bool
		value  any
	}{{"class_names", h.ClassNames != nil, h.ClassNames}, {"queries", h.Queries > 0, h.Queries}, {"relation", h.Relation != "", h.Relation}, {"training", h.Training != nil, h.Training}} {
		if !part.stated {
			continue
		}
		text, err := json.Marshal(part.value)
		if err != nil {
			return fmt.Errorf("manifest: %w", err)
		}
		fmt.Fprintf(o.w, ",\n%q:%s", part.key, text)
	}
	return nil
}

// names reads an array of strings.
func (p *parser) names() []string {
	names := []string{}
	p.array(func() {
		names = append(names, p.text())
		if len(names) > votes.MaxClasses {
			p.fail(fmt.Errorf("more than %d class names", votes.MaxClasses))
		}
	})
	return names
}

// training reads an object of strings, which must all be there.
func (p *parser) training() *Training {
	var t Training
	fields := map[string]*string{"program": &t.Program, "learner": &t.Learner, "features": &t.Features, "command": &t.Command, "public": &t.Public}
	seen := p.object(func(key string) {
		field, known := fields[key]
		if !known {
			p.fail(fmt.Errorf("unknown key %q in the training", key))
			return
		}
		*field = p.text()
	})
	if p.err == nil && len(seen) != len(fields) {
		p.fail(errors.New("a key of the training is missing"))
	}
	return &t
}
