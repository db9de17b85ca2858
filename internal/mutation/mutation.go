package mutation

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Mutation is one deliberate mistake.
type Mutation struct {
	ID   string   // group/name
	File string   // below the root of the module, with slashes
	Old  string   // the right text, which occurs once in File
	New  string   // the wrong text
	Why  string   // what would go wrong
	Test []string // arguments of go test: packages, and -run with a pattern
}

//go:embed mutations/*.txt
var texts embed.FS

// All returns every mutation, in the order of the files and their lines.
func All() ([]Mutation, error) {
	entries, err := texts.ReadDir("mutations")
	if err != nil {
		return nil, fmt.Errorf("mutation: %w", err)
	}
	var all []Mutation
	for _, e := range entries {
		text, err := texts.ReadFile(path.Join("mutations", e.Name()))
		if err != nil {
			return nil, fmt.Errorf("mutation: %w", err)
		}
		list, err := parse(strings.TrimSuffix(e.Name(), ".txt"), text)
		if err != nil {
			return nil, fmt.Errorf("mutation: %s: %w", e.Name(), err)
		}
		all = append(all, list...)
	}
	return all, nil
}

// parse reads blocks of "field: text" lines, separated by empty lines. Lines that
// start with # are comments. A block of "test:" alone sets the tests of the blocks
// behind it that name none, and one of "file:" alone their file.
func parse(group string, text []byte) ([]Mutation, error) {
	var list []Mutation
	var m, rest Mutation // rest holds what later blocks inherit
	flush := func() error {
		block := m
		m = Mutation{}
		if block.ID == "" {
			if block.Old != "" || block.New != "" || block.Why != "" {
				return errors.New("a mutation without id")
			}
			if block.File != "" {
				rest.File = block.File
			}
			if block.Test != nil {
				rest.Test = block.Test
			}
			return nil
		}
		block.ID = group + "/" + block.ID
		if block.File == "" {
			block.File = rest.File
		}
		if block.Test == nil {
			block.Test = rest.Test
		}
		if block.File == "" || block.Old == "" || block.Old == block.New || block.Why == "" || block.Test == nil {
			return fmt.Errorf("%s is not complete", block.ID)
		}
		list = append(list, block)
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		if strings.TrimSpace(line) == "" {
			if err := flush(); err != nil {
				return nil, err
			}
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			m.ID = value
		case "file":
			m.File = value
		case "old":
			m.Old = value
		case "new":
			m.New = value
		case "why":
			m.Why = value
		case "test":
			m.Test = strings.Fields(value)
		default:
			return nil, fmt.Errorf("unknown field %q", field)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return list, nil
}

// Source returns the mutated text of the file.
func (m Mutation) Source(root string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.File)))
	if err != nil {
		return nil, fmt.Errorf("mutation: %s: %w", m.ID, err)
	}
	if n := bytes.Count(source, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("mutation: %s: the text %q occurs %d times in %s, and must occur once", m.ID, m.Old, n, m.File)
	}
	return bytes.Replace(source, []byte(m.Old), []byte(m.New), 1), nil
}
