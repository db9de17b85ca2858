package dpsgd

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

func (f *ownFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.public, "public", "", "public rows, with PRIVATE; they define columns, scales and classes, and labelled ones score")
	flags.StringVar(&f.publicLabels, "public-labels", "", "with PRIVATE: labels of public NPY or idx rows, if there are any")
	flags.BoolVar(&f.accept, "accept-differences", false, "with PRIVATE: train though the private rows are unlike the public ones in some column")
	shell.UnitFlags(flags, &f.size, &f.rows)
}

func (f *ownFlags) complete(cmd *cobra.Command) {
	files := shell.Files("csv", "tsv", "gz", "npy", "parquet")
	shell.Complete(cmd, map[string]shell.Values{"public": files, "public-labels": shell.Files("npy", "csv", "txt")})
	shell.CompleteArgs(cmd, files)
}

// ownNames returns the flags of add.
func ownNames() []string {
	return []string{"public", "public-labels", "accept-differences", "size", "rows-per-unit"}
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
