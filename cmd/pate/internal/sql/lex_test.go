package sql

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

type token struct{ kind, text string }

type grammar struct {
	names    string // the quote of names
	texts    string // the quotes of texts
	doubled  string // quotes that two of stand for one
	escaped  string // quotes inside which a backslash takes the next character as it is
	comments []string
}

var grammars = map[string]grammar{
	"duckdb":    {names: `"`, texts: `'`, doubled: `"'`, comments: []string{"--"}},
	"postgres":  {names: `"`, texts: `'`, doubled: `"'`, comments: []string{"--"}},
	"spark":     {names: "`", texts: `'"`, doubled: "`", escaped: `'"`, comments: []string{"--"}},
	"bigquery":  {names: "`", texts: `'"`, escaped: "`'\"", comments: []string{"--", "#"}},
	"snowflake": {names: `"`, texts: `'`, doubled: `"'`, escaped: `'`, comments: []string{"--", "//"}},
}

func (g grammar) lex(text string) (out []token) {
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		start := text[:size]
		switch {
		case g.comment(text):
			_, text, _ = strings.Cut(text, "\n")
		case strings.HasPrefix(text, "/*"):
			_, text, _ = strings.Cut(text[2:], "*/")
		case strings.Contains(g.names+g.texts, start):
			inside, rest, ended := g.inside(text[size:], start)
			kind := "text"
			if strings.Contains(g.names, start) {
				kind = "name"
			}
			if !ended {
				kind = "open"
			}
			out, text = append(out, token{kind, inside}), rest
		case r == '@': // a file of Snowflake
			n := 1
			for n < len(text) && !g.comment(text[n:]) && (word(rune(text[n])) || strings.Contains("~./-", text[n:n+1])) {
				n++
			}
			out, text = append(out, token{"@", text[:n]}), text[n:]
		case word(r):
			n := strings.IndexFunc(text, func(r rune) bool { return !word(r) })
			if n < 0 {
				n = len(text)
			}
			out, text = append(out, token{"name", text[:n]}), text[n:]
		default:
			if strings.TrimSpace(start) != "" {
				out = append(out, token{start, start})
			}
			text = text[size:]
		}
	}
	return out
}

func word(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func (g grammar) comment(text string) bool {
	for _, begins := range g.comments {
		if strings.HasPrefix(text, begins) {
			return true
		}
	}
	return false
}

func (g grammar) inside(text, quote string) (inside, rest string, ended bool) {
	var b strings.Builder
	for text != "" {
		switch {
		case text[:1] == `\` && strings.Contains(g.escaped, quote) && len(text) > 1:
			b.WriteByte(text[1])
			text = text[2:]
		case text[:1] == quote && strings.HasPrefix(text[1:], quote) && strings.Contains(g.doubled, quote):
			b.WriteString(quote)
			text = text[2:]
		case text[:1] == quote:
			return b.String(), text[1:], true
		default:
			b.WriteByte(text[0])
			text = text[1:]
		}
	}
	return b.String(), "", false
}

func TestLexer(t *testing.T) {
	for _, c := range []struct {
		dialect, text string
		want          []token
	}{
		{"bigquery", "SELECT `a\\` AS q, `; DROP` x", []token{{"name", "SELECT"}, {"name", "a` AS q, "}, {";", ";"}, {"name", "DROP"}, {"open", " x"}}},
		{"snowflake", "a//b\nc 'x\\''", []token{{"name", "a"}, {"name", "c"}, {"text", "x'"}}},
		{"duckdb", `"a""b" 'c\' -- d`, []token{{"name", `a"b`}, {"text", `c\`}}},
	} {
		require.Equal(t, c.want, grammars[c.dialect].lex(c.text))
	}
}

// FuzzNames: in the whole script each name, class and file is the token that a plain one
// is, in every dialect, and reads back as what it was.
func FuzzNames(f *testing.F) {
	f.Add("votes", "it's", `a\`, "counts.csv", "; DROP TABLE votes; -- ")
	f.Add(`a"b.c`, `\`, "q`", "x FROM (SELECT 1); DROP TABLE votes; --", "`")
	f.Add("a/*b", "x' --", "#", "x--y//z", `\'`)
	f.Add("0", "x", "#", "/z", "a")
	f.Fuzz(func(t *testing.T, table, class, column, file, teacher string) {
		for _, d := range dialects() {
			x := sample(d.Dialect)
			x.classes, x.names = 0, "other,word"
			plain := x
			x.Table, x.Query, x.Teacher, x.File, x.names = table, column, teacher, file, `other,"`+strings.ReplaceAll(class, `"`, `""`)+`"`
			text, err := x.text()
			if err != nil {
				continue
			}
			plain.Table = "t" + strings.Repeat(".t", strings.Count(table, "."))
			want, err := plain.text()
			require.NoError(t, err)
			kinds := func(tokens []token) (out []string) {
				for _, k := range tokens {
					out = append(out, k.kind)
				}
				return out
			}
			read := grammars[d.Dialect].lex(text)
			require.Equal(t, kinds(grammars[d.Dialect].lex(want)), kinds(read), "%s: %s", d.Dialect, text)
			for _, name := range []string{column, teacher} {
				require.Contains(t, read, token{"name", name}, d.Dialect)
			}
			require.Contains(t, read, token{"text", strings.TrimSpace(class)}, d.Dialect)
		}
	})
}

func sample(dialect string) flags {
	return flags{dialect: dialect, part: "all", classes: 3,
		count: count{Table: "lake.votes", Query: "q", Teacher: "t", Vote: "vote", Pool: "pool", Teachers: 5, File: "counts.csv"}}
}

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

func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*flags){
		"--table is required": func(f *flags) { f.Table = "" },
		"--teachers":          func(f *flags) { f.Teachers = 0 },
		"--classes 1":         func(f *flags) { f.classes = 1 },
		"--file":              func(f *flags) { f.File = "a'b" },
		"a//b":                func(f *flags) { f.File = "a//b" },
		"a--b":                func(f *flags) { f.File = "a--b" },
		"FROM (SELECT 1)":     func(f *flags) { f.dialect, f.File = "snowflake", "x FROM (SELECT 1); DROP TABLE votes; --" },
		"control character":   func(f *flags) { f.Vote = "a\nb" },
		"omit --classes":      func(f *flags) { f.names = "a,b" },
		"--first-class":       func(f *flags) { f.first = -1 },
		"twice":               func(f *flags) { f.classes, f.names = 0, "a,a" },
	} {
		f := sample("duckdb")
		change(&f)
		_, err := f.text()
		require.ErrorContains(t, err, want)
	}
}
