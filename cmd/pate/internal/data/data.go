// Package data is `pate data`: the data sets that commands know by name.
package data

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/unpack"
)

const schemaData = "pate.data/1"

// set is what is known of a data set on this machine.
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
	Matches *bool  `json:"matches,omitempty"` // absent where it was not hashed
}

// New returns the command.
func New(g *shell.Globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "data",
		Short: "Which data are read; sets by name: where they are, verify",
		Long:  long,
		Example: `  pate data ls
  pate data verify`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	ls := &cobra.Command{
		Use: "ls", Short: "Where each set is, and how to get it", Example: "  pate data ls\n  pate data ls --format json", Args: cobra.NoArgs,
		Long: "Where each data set is on this machine, its licence, and how to get it.",
		RunE: func(*cobra.Command, []string) error { return list(g, false) },
	}
	verify := &cobra.Command{
		Use: "verify", Short: "Compare the files with their recorded SHA-256", Example: "  pate data verify\n  pate data verify --format json", Args: cobra.NoArgs,
		Long: "Compare the unpacked bytes of every file that is here with the SHA-256 that was\nrecorded for it. One that differs ends in exit code 5.",
		RunE: func(*cobra.Command, []string) error { return list(g, true) },
	}
	cmd.AddCommand(ls, verify)
	return cmd
}

// list looks for all sets, and hashes their files if asked to.
func list(g *shell.Globals, hash bool) error {
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
			found := file{Path: path, SHA256: f.SHA256}
			if hash {
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
	if g.ParsedFormat() == table.JSON {
		return shell.WriteJSON(g.Stdout, struct {
			Schema string `json:"schema"`
			Sets   []set  `json:"sets"`
		}{schemaData, sets})
	}
	t := table.Table{Header: []string{"name", "where", "checked", "licence", "how to get it"}, Left: []bool{true, true, true, true, true}}
	for _, s := range sets {
		where, checked := s.Where, ""
		if where == "" {
			where = "not here"
		}
		for _, f := range s.Files {
			if f.Matches != nil {
				checked = "whole"
				if !*f.Matches {
					checked = "DIFFERS"
				}
			}
		}
		t.Rows = append(t.Rows, []string{s.Name, where, checked, s.Licence, s.Install})
	}
	return t.Write(g.Stdout, g.ParsedFormat())
}
