package sql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func sample(dialect string) flags {
	return flags{dialect: dialect, part: "all", classes: 3,
		count: count{Table: "lake.votes", Query: "q", Teacher: "t", Vote: "vote", Pool: "pool", Teachers: 5, File: "counts.csv"}}
}

// TestNamesAndLiterals: a name stands as it is, or quoted; a quote inside one ends nothing.
func TestNamesAndLiterals(t *testing.T) {
	duck := findDialect("duckdb")
	spark := findDialect("spark")
	big := findDialect("bigquery")
	snow := findDialect("snowflake")
	require.Equal(t, "votes", duck.table("votes"))
	require.Equal(t, `main."my votes"`, duck.table("main.my votes"))
	require.Equal(t, `"order"`, duck.column("order"))
	require.Equal(t, `"a""; drop table x; --"`, duck.column(`a"; drop table x; --`))
	require.Equal(t, "`a``b\\`", spark.column("a`b\\"))
	require.Equal(t, "`a\\\\\\`b`", big.column("a\\`b"))
	require.Equal(t, `'it''s'`, duck.literal("it's"))
	require.Equal(t, `'it\'s \\'`, spark.literal(`it's \`))
	require.Equal(t, `'\\\''`, snow.literal(`\'`))
}

// TestEveryDialectHasEveryCheck: the five questions on which the claim rests, and the two
// of the pool, are asked before anything is counted, in the export itself.
func TestEveryDialectHasEveryCheck(t *testing.T) {
	for _, d := range dialects() {
		f := sample(d.Dialect)
		f.part = "export"
		text, err := f.text()
		require.NoError(t, err)
		for _, want := range []string{"voted twice", "more than 5 teachers", "none of the classes", "without a query or a teacher", "not in the pool", "twice in the pool", "pool is null",
			"MIN(problem)", "verdict.ok", "ORDER BY pool.q", "c2", "lake.votes"} {
			require.Contains(t, text, want, d.Dialect)
		}
		require.NotContains(t, text, "c3")
		f.Pool, f.part = "", "all"
		text, err = f.text()
		require.NoError(t, err)
		require.Contains(t, text, "Queries on which nobody voted", d.Dialect)
		require.NotContains(t, text, "%!", d.Dialect)
		require.Contains(t, text, "--counts --teachers 5 --classes 3", d.Dialect)
	}
}

// TestRefused: what makes no SQL is said.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*flags){
		"--table is needed": func(f *flags) { f.Table = "" },
		"--teachers":        func(f *flags) { f.Teachers = 0 },
		"--classes 1":       func(f *flags) { f.classes = 1 },
		"--file":            func(f *flags) { f.File = "a'b" },
		"a//b":              func(f *flags) { f.File = "a//b" },
		"a--b":              func(f *flags) { f.File = "a--b" },
		"FROM (SELECT 1)":   func(f *flags) { f.dialect, f.File = "snowflake", "x FROM (SELECT 1); DROP TABLE votes; --" },
		"control character": func(f *flags) { f.Vote = "a\nb" },
		"leave --classes":   func(f *flags) { f.names = "a,b" },
		"--first-class":     func(f *flags) { f.first = -1 },
		"twice":             func(f *flags) { f.classes, f.names = 0, "a,a" },
	} {
		f := sample("duckdb")
		change(&f)
		_, err := f.text()
		require.ErrorContains(t, err, want)
	}
}
