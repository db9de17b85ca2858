// Package sql is the command `pate votes sql`, which writes SQL that counts votes inside a database. The SQL
// first checks the votes, because epsilon is wrong if a teacher votes twice on a query.
package sql

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/template"
	"github.com/pate-go/pate/teachers/votes"
)

type flags struct {
	count
	dialect, names, part string
	classes, first       int
}

func New(g *shell.Globals) *cobra.Command {
	var f flags
	cmd := shell.Command("sql", "format seed delta", shell.Needs(cobra.NoArgs, "dialect", "table", "teachers"),
		func(*cobra.Command, []string) error {
			text, err := f.text()
			if err != nil {
				return shell.UsageError("votes", err)
			}
			_, err = fmt.Fprint(g.Stdout, text)
			return err
		})
	shell.Declare(cmd.Flags(), "sql", shell.To{"dialect": &f.dialect, "table": &f.Table, "query-column": &f.Query,
		"teacher-column": &f.Teacher,
		"vote-column":    &f.Vote, "pool-table": &f.Pool, "pool-column": &f.PoolQuery, "teachers": &f.Teachers, "classes": &f.classes,
		"first-class": &f.first, "class-names": &f.names, "part": &f.part, "file": &f.File})
	return cmd
}

func (f flags) text() (string, error) {
	c := f.count
	c.dialect = findDialect(f.dialect)
	c.PoolQuery = cmp.Or(c.PoolQuery, c.Query)
	for i, value := range []string{c.Table, c.Query, c.Teacher, c.Vote} {
		if value == "" {
			return "", fmt.Errorf("--%s is required", []string{"table", "query-column", "teacher-column", "vote-column"}[i])
		}
	}
	for _, name := range []string{c.Table, c.Query, c.Teacher, c.Vote, c.Pool, c.PoolQuery} {
		if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("the name %q contains a control character", name)
		}
	}
	if err := cmp.Or(
		shell.If(!c.writes(c.File), "--file %q: in %s a name has letters and digits, with . _ / - between them", c.File, c.Dialect),
		shell.If(c.Teachers < 1, "--teachers is required: the number is public, and the checks compare the votes with it"),
	); err != nil {
		return "", err
	}
	if err := f.nameClasses(&c); err != nil {
		return "", err
	}
	return c.part(f.part)
}

func (f flags) nameClasses(c *count) error {
	switch {
	case f.names != "" && (f.classes != 0 || f.first != 0):
		return errors.New("omit --classes and --first-class: --class-names replaces both")
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
		return fmt.Errorf("--classes %d: must be from 2 to %d, or give --class-names", f.classes, maxClasses)
	case f.first < 0:
		return fmt.Errorf("--first-class %d: must not be negative", f.first)
	}
	for i := range f.classes {
		c.Classes = append(c.Classes, strconv.Itoa(f.first+i))
	}
	return nil
}

const maxClasses = 1000

//go:embed count.sql
var source string

type count struct {
	dialect
	Table, Query, Teacher, Vote string // table and columns of the votes, one row per vote
	Pool, PoolQuery             string // public queries, or "" if only the queries voted on are known
	Teachers                    int
	Classes                     []string // as in the vote column: numbers or words
	Words                       bool     // classes are words
	File                        string   // file that the export writes
}

func (c count) part(name string) (string, error) {
	t, err := template.Text("", source, template.Funcs{"column": c.column, "table": c.table})
	if err != nil {
		return "", err
	}
	text, err := t.Fill(name, struct {
		count
		Values    []string
		Masks     []mask
		ClassFlag string
	}{c, c.values(), c.masks(), c.classFlag()})
	return text + "\n", err
}

func (c count) values() []string {
	out := make([]string, len(c.Classes))
	for i, name := range c.Classes {
		out[i] = name
		if c.Words {
			out[i] = c.literal(name)
		}
	}
	return out
}

// mask selects the teachers First <= index < End.
type mask struct{ First, End int }

const (
	bitsEach = 62
	maxMasks = 16 // per query
)

func (c count) masks() []mask {
	if !c.bits || c.Teachers > maxMasks*bitsEach {
		return nil
	}
	var masks []mask
	for first := 0; first < c.Teachers; first += bitsEach {
		masks = append(masks, mask{first, min(c.Teachers, first+bitsEach)})
	}
	return masks
}

func (c count) classFlag() string {
	if !c.Words {
		return fmt.Sprintf("--classes %d", len(c.Classes))
	}
	return "--class-names '" + strings.ReplaceAll(strings.Join(c.Classes, ","), "'", `'\''`) + "'"
}

// dialect describes the SQL syntax of a database. Whole statements that differ between databases are in
// count.sql.
type dialect struct {
	Dialect      string // name
	quote        string // quote character for names
	backslash    bool   // \ escapes in literals
	inNames      bool   // \ escapes in names too
	bits         bool   // BIT_OR and BIT_COUNT exist for numbers
	Materialized string
	// Raise and RaiseEnd surround an error text in an SQL expression that fails with this text.
	Raise, RaiseEnd string
}

func dialects() []dialect {
	return []dialect{
		{Dialect: "duckdb", quote: `"`, Materialized: "MATERIALIZED ", bits: true, Raise: "error(", RaiseEnd: ")"},
		{Dialect: "postgres", quote: `"`, Materialized: "MATERIALIZED ", Raise: "CAST(", RaiseEnd: " AS INTEGER)"},
		{Dialect: "spark", quote: "`", backslash: true, Raise: "raise_error(", RaiseEnd: ")"},
		{Dialect: "bigquery", quote: "`", backslash: true, inNames: true, Raise: "ERROR(", RaiseEnd: ")"},
		{Dialect: "snowflake", quote: `"`, backslash: true, Raise: "CAST(", RaiseEnd: " AS INTEGER)"},
	}
}

func findDialect(name string) dialect {
	all := dialects()
	return all[slices.IndexFunc(all, func(d dialect) bool { return d.Dialect == name })]
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

var reserved = map[string]bool{"class": true, "group": true, "index": true, "label": true, "order": true, "row": true, "table": true,
	"user": true, "value": true, "key": true, "select": true, "from": true, "where": true, "column": true}

func (d dialect) column(name string) string {
	if plainName.MatchString(name) && !reserved[strings.ToLower(name)] {
		return name
	}
	return quoted(name, d.quote, d.inNames)
}

func (d dialect) table(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = d.column(p)
	}
	return strings.Join(parts, ".")
}

func (d dialect) literal(text string) string { return quoted(text, "'", d.backslash) }

func quoted(text, quote string, backslash bool) string {
	if backslash {
		return quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(text) + quote
	}
	return quote + strings.ReplaceAll(text, quote, quote+quote) + quote
}

var fileName = regexp.MustCompile(`^[A-Za-z0-9._/][A-Za-z0-9._/-]*$`)

func (d dialect) writes(file string) bool {
	stage := d.Dialect == "snowflake" // writes the name after @~/ and without quotes
	return fileName.MatchString(file) && !strings.Contains(file, "--") && !strings.Contains(file, "//") && !(stage && file[0] == '/')
}
