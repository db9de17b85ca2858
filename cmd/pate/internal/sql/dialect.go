package sql

import (
	"regexp"
	"slices"
	"strings"
)

// dialect is how a database writes what differs between databases. What differs in whole
// statements is in count.sql.
type dialect struct {
	Dialect   string // its name
	quote     string // around names that are not plain words
	backslash bool   // does \ escape in literals
	inNames   bool   // does it escape in names, too
	bits      bool   // are BIT_OR and BIT_COUNT there for numbers
	// Materialized is the word that has a common table computed once, if there is one.
	Materialized string
	// Raise and RaiseEnd stand around the text of an expression that fails with it.
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

// findDialect returns the dialect of a name.
func findDialect(name string) dialect {
	all := dialects()
	return all[slices.IndexFunc(all, func(d dialect) bool { return d.Dialect == name })]
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are words that a column of votes may well be called, and that databases keep
// for themselves.
var reserved = map[string]bool{"class": true, "group": true, "index": true, "label": true, "order": true, "row": true, "table": true,
	"user": true, "value": true, "key": true, "select": true, "from": true, "where": true, "column": true}

// column returns a name as the database writes it. A plain word stands as it is, so that
// the database folds its case as it does elsewhere.
func (d dialect) column(name string) string {
	if plainName.MatchString(name) && !reserved[strings.ToLower(name)] {
		return name
	}
	return quoted(name, d.quote, d.inNames)
}

// table returns the name of a table, whose parts dots separate.
func (d dialect) table(name string) string {
	parts := strings.Split(name, ".")
	for i, p := range parts {
		parts[i] = d.column(p)
	}
	return strings.Join(parts, ".")
}

// literal returns a text as the database writes it.
func (d dialect) literal(text string) string { return quoted(text, "'", d.backslash) }

// quoted returns a text in quotes, of which none inside ends it.
func quoted(text, quote string, backslash bool) string {
	if backslash {
		return quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(text) + quote
	}
	return quote + strings.ReplaceAll(text, quote, quote+quote) + quote
}

// fileName is a name that is one word in every dialect, in a comment and for a shell, except
// where -- or // begins a comment.
var fileName = regexp.MustCompile(`^[A-Za-z0-9._/][A-Za-z0-9._/-]*$`)

func (d dialect) writes(file string) bool {
	stage := d.Dialect == "snowflake" // writes it behind @~/ and without quotes
	return fileName.MatchString(file) && !strings.Contains(file, "--") && !strings.Contains(file, "//") && !(stage && file[0] == '/')
}
