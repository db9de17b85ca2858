package dpsgd

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
)

// ownFlags name private rows of the user and how they are used.
type ownFlags struct {
	private      string // the argument
	public       string
	publicLabels string
	accept       bool
	size         int
	rows         int
}

// check refuses flags that do not go together.
func (f *ownFlags) check(given func(string) bool) error {
	if f.private == "" {
		for _, name := range []string{"public", "public-labels", "accept-differences"} {
			if given(name) {
				return fmt.Errorf("--%s is for PRIVATE, the file of private rows: pate dpsgd PRIVATE --public PUBLIC", name)
			}
		}
		return shell.CheckUnits(given, f.size, f.rows)
	}
	for _, name := range []string{"data", "split", "quick"} {
		if given(name) {
			return fmt.Errorf("--%s is for one file that is cut in two, and not for %s", name, f.private)
		}
	}
	if f.public == "" {
		return errors.New("--public is required beside PRIVATE: columns, scales and classes come from public rows, as anything fitted on " +
			"private ones would have to be charged")
	}
	return shell.CheckUnits(given, f.size, f.rows)
}

// task reads the data: one file that is cut in two, or private and public files. The schema is nil for one
// file.
func (f *dpsgdFlags) task(g *shell.Globals) (dataset.Task, *dataset.Schema, error) {
	if f.own.private == "" {
		task, err := f.data.Task()
		return task, nil, err
	}
	pair := f.data.Pair(f.own.public, f.own.publicLabels, f.unitName, f.own.accept)
	task, schema, _, err := shell.PrivateTask(g, &pair, f.own.private, true)
	return task, schema, err
}

// where names the data for an identity.
func (f *dpsgdFlags) where() (string, error) {
	if f.own.private == "" {
		return f.data.Where()
	}
	var paths []string
	for _, path := range []string{f.own.private, f.own.public} {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("where is %s: %w", path, err)
		}
		paths = append(paths, path)
	}
	text, err := json.Marshal(paths)
	return string(text), err
}

// sayUnits prints the public number of units and the use of their rows.
func (f *ownFlags) sayUnits(g *shell.Globals, cfg recipe.Config) {
	if f.private != "" {
		shell.SayRecords(g, cfg)
	}
	if cfg.Task.Grouped {
		shell.SayRows(g, cfg)
	}
}
