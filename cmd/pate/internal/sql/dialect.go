package sql

import (
	"fmt"
	"regexp"
	"strings"
)

// dialect says how a database writes what differs between databases.
type dialect struct {
	name      string
	quote     string // around names that are not plain words
	backslash bool   // does \ escape in literals
	inNames   bool   // does it escape in names, too
	// materialized is the word that has a common table computed once, if there is one.
	materialized string
	bits         bool // are BIT_OR and BIT_COUNT there for numbers
	// raise returns an expression that fails with a text. The text must depend on a row:
	// a constant would be evaluated, and fail, before any row is read.
	raise func(text string) string
	// export wraps a query into what writes it as CSV without a header, in order.
	export func(query, file string) string
	// how says how to run it, where that is not plain.
	how string
}

func dialects() []dialect {
	call := func(function string) func(string) string {
		return func(text string) string { return fmt.Sprintf("%s(%s)", function, text) }
	}
	cast := func(text string) string { return fmt.Sprintf("CAST(%s AS INTEGER)", text) }
	return []dialect{
		{name: "duckdb", quote: `"`, materialized: "MATERIALIZED ", bits: true, raise: call("error"),
			export: func(query, file string) string {
				return fmt.Sprintf("COPY (\n%s\n) TO '%s' (FORMAT csv, HEADER false);", query, file)
			}},
		{name: "postgres", quote: `"`, materialized: "MATERIALIZED ", raise: cast, how: "psql -qAt -v ON_ERROR_STOP=1 -f THIS.sql > %s",
			export: func(query, _ string) string {
				return fmt.Sprintf("COPY (\n%s\n) TO STDOUT WITH (FORMAT csv);", query)
			}},
		{name: "spark", quote: "`", backslash: true, raise: call("raise_error"), how: "one file, %s/part-*.csv",
			export: func(query, file string) string {
				return fmt.Sprintf("INSERT OVERWRITE LOCAL DIRECTORY '%s' USING csv\nSELECT /*+ COALESCE(1) */ * FROM (\n%s\n);", file, query)
			}},
		{name: "bigquery", quote: "`", backslash: true, inNames: true, raise: call("ERROR"), how: "put your bucket in place of BUCKET; an ordered export is one file",
			export: func(query, file string) string {
				return fmt.Sprintf("EXPORT DATA OPTIONS(uri='gs://BUCKET/*-%s', format='CSV', header=false, overwrite=true) AS\n%s;", file, query)
			}},
		{name: "snowflake", quote: `"`, backslash: true, raise: cast, how: "then GET @~/%s file://.",
			export: func(query, file string) string {
				return fmt.Sprintf("COPY INTO @~/%s FROM (\n%s\n) FILE_FORMAT=(TYPE=CSV COMPRESSION=NONE) SINGLE=TRUE OVERWRITE=TRUE;", file, query)
			}},
	}
}

func findDialect(name string) (dialect, bool) {
	for _, d := range dialects() {
		if d.name == name {
			return d, true
		}
	}
	return dialect{}, false
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
	stage := d.name == "snowflake" // writes it behind @~/ and without quotes
	return fileName.MatchString(file) && !strings.Contains(file, "--") && !strings.Contains(file, "//") && !(stage && file[0] == '/')
}
