// Package sql is the command `pate votes sql`: the SQL that counts votes where they lie, with the
// checks without which the counts would protect nobody.
package sql

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/teachers/votes"
)

// flags are the flags as they were typed.
type flags struct {
	count
	dialect, names, part string
	classes, first       int
}

// New returns the command.
func New(g *shell.Globals) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:  "sql",
		Args: shell.Wants(cobra.NoArgs, func(cmd *cobra.Command, _ []string) []string { return shell.Unset(cmd, "dialect", "table", "teachers") }),
		RunE: func(*cobra.Command, []string) error {
			text, err := f.text()
			if err != nil {
				return shell.UsageError("votes", err)
			}
			_, err = fmt.Fprint(g.Stdout, text)
			return err
		},
	}
	names, parts := dialectNames(), []string{"all", "checks", "counts", "numbers", "export"}
	fs := cmd.Flags()
	fs.StringVar(&f.dialect, "dialect", "", strings.Join(names, "|")+" (required)")
	fs.StringVar(&f.Table, "table", "", "the votes, a row for each (required)")
	fs.StringVar(&f.Query, "query-column", "query", "column of the public row")
	fs.StringVar(&f.Teacher, "teacher-column", "teacher", "column of the teacher")
	fs.StringVar(&f.Vote, "vote-column", "vote", "column of the class")
	fs.StringVar(&f.Pool, "pool-table", "", "the public queries, a row for each")
	fs.StringVar(&f.PoolQuery, "pool-column", "", "its column (default that of --query-column)")
	fs.IntVar(&f.Teachers, "teachers", 0, "number of teachers: public (required)")
	fs.IntVar(&f.classes, "classes", 0, "number of classes; public, never guessed from votes")
	fs.IntVar(&f.first, "first-class", 0, "number of the first class; 1 if votes count classes from 1")
	fs.StringVar(&f.names, "class-names", "", "public names of all classes; with commas, in place of --classes")
	fs.StringVar(&f.part, "part", "all", strings.Join(parts, "|"))
	fs.StringVar(&f.File, "file", "counts.csv", "name of the file that the export writes")
	text := shell.Anything()
	shell.Complete(cmd, map[string]shell.Values{"dialect": shell.Words(names...), "part": shell.Words(parts...),
		"table": text, "query-column": text, "teacher-column": text, "vote-column": text, "pool-table": text, "pool-column": text,
		"class-names": text, "file": text})
	shell.Without(cmd, "format", "seed", "delta")
	return cmd
}

// text returns the SQL.
func (f flags) text() (string, error) {
	c := f.count
	c.dialect = findDialect(f.dialect)
	if c.PoolQuery == "" {
		c.PoolQuery = c.Query
	}
	for _, n := range []struct{ flag, value string }{{"table", c.Table}, {"query-column", c.Query}, {"teacher-column", c.Teacher},
		{"vote-column", c.Vote}} {
		if n.value == "" {
			return "", fmt.Errorf("--%s is needed", n.flag)
		}
	}
	for _, name := range []string{c.Table, c.Query, c.Teacher, c.Vote, c.Pool, c.PoolQuery} {
		if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("%q holds a control character, and is no name", name)
		}
	}
	if !c.writes(c.File) {
		return "", fmt.Errorf("--file %q: %s takes a name of letters and digits, with . _ / - between them", c.File, c.Dialect)
	}
	if c.Teachers < 1 {
		return "", errors.New("--teachers is needed: how many there are is public, and the checks compare with it")
	}
	if err := f.nameClasses(&c); err != nil {
		return "", err
	}
	return c.part(f.part)
}

// nameClasses fills the classes from --class-names, or from their number.
func (f flags) nameClasses(c *count) error {
	switch {
	case f.names != "" && (f.classes != 0 || f.first != 0):
		return errors.New("--class-names: leave --classes and --first-class out")
	case f.names != "":
		names, err := csv.NewReader(strings.NewReader(f.names)).Read()
		if err != nil {
			return fmt.Errorf("--class-names %q: must be names with commas between them: %w", f.names, err)
		}
		if err := votes.CheckClassNames(names); err != nil {
			return fmt.Errorf("--class-names: %w", err)
		}
		c.Classes, c.Words = names, true
		return nil
	case f.classes < 2 || f.classes > maxClasses:
		return fmt.Errorf("--classes %d: must be 2 to %d, or give --class-names", f.classes, maxClasses)
	case f.first < 0:
		return fmt.Errorf("--first-class %d: must not be negative", f.first)
	}
	for i := range f.classes {
		c.Classes = append(c.Classes, strconv.Itoa(f.first+i))
	}
	return nil
}

// maxClasses bounds the columns of the counts: databases take few more than a thousand.
const maxClasses = 1000
