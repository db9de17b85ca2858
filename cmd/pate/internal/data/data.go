// Package data is `pate data`: the data sets that commands know by name.
package data

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/unpack"
)

const schemaData = "pate.data/1"

type set struct {
	Name    string `json:"name"`
	Where   string `json:"where"` // a folder, "embedded", or "" if it is not here
	Licence string `json:"licence"`
	Install string `json:"install,omitempty"`
	Files   []file `json:"files,omitempty"`
}

type file struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Matches *bool  `json:"matches,omitempty"` // absent where no hash is recorded
}

func New(g *shell.Globals) *cobra.Command {
	return shell.Parent("data", "data", shell.Command("ls", "", cobra.NoArgs, func(*cobra.Command, []string) error { return list(g) }))
}

// list looks for all sets and hashes their files.
func list(g *shell.Globals) error {
	var sets []set
	var wrong []string
	for _, k := range namedsets.All() {
		s := set{Name: k.Name, Where: "embedded", Licence: k.Licence, Install: k.Install}
		for _, f := range k.Files {
			path, err := k.Find(f)
			if errors.Is(err, fs.ErrNotExist) {
				s.Where, s.Files = "", nil
				break
			}
			if err != nil {
				return shell.FaultError(err, "data")
			}
			s.Where = filepath.Dir(path)
			found := file{Path: path}
			if found.SHA256, err = unpack.Sum(path); err != nil {
				return err
			}
			if f.SHA256 != "" {
				matches := found.SHA256 == f.SHA256
				found.Matches = &matches
				if !matches {
					wrong = append(wrong, path)
				}
			}
			s.Files = append(s.Files, found)
		}
		sets = append(sets, s)
	}
	if err := print(g, sets); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return &shell.CommandError{Code: shell.ExitCheckFailed, What: fmt.Errorf("%s is not the file that was recorded", wrong[0]),
			Why: "its SHA-256 differs, so results cannot be compared with others", Fix: "get it again", Topic: "data"}
	}
	return nil
}

func print(g *shell.Globals, sets []set) error {
	report := struct {
		Schema string `json:"schema"`
		Sets   []set  `json:"sets"`
	}{schemaData, sets}
	return g.Print(report, func(table.Format) table.Table {
		t := table.Table{Header: []string{"name", "where", "sha256", "licence", "how to get it"}, Left: []bool{true, true, true, true, true}}
		for _, s := range sets {
			sums := ""
			for _, f := range s.Files {
				sums += f.SHA256[:12] + " "
				if f.Matches != nil && !*f.Matches {
					sums += "DIFFERS "
				}
			}
			t.Rows = append(t.Rows, []string{s.Name, cmp.Or(s.Where, "not here"), strings.TrimSpace(sums), s.Licence, s.Install})
		}
		return t
	})
}
