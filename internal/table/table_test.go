package table_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/internal/testkit"
)

func TestWriteRendersEveryFormat(t *testing.T) {
	tab := table.Table{
		Header: []string{"method", "ε"},
		Left:   []bool{true},
		Rows:   [][]string{{"pate|x", "2"}, {"dp_sgd", "1.25"}},
	}
	want := map[table.Format]string{
		table.Text:     "method     ε\npate|x     2\ndp_sgd  1.25\n",
		table.CSV:      "method,ε\npate|x,2\ndp_sgd,1.25\n",
		table.Markdown: "| method | ε |\n| :--- | ---: |\n| pate\\|x | 2 |\n| dp_sgd | 1.25 |\n",
		table.LaTeX: "\\begin{tabular}{lr}\n\\hline\nmethod & $\\varepsilon$ \\\\\n\\hline\n" +
			"pate|x & 2 \\\\\ndp\\_sgd & 1.25 \\\\\n\\hline\n\\end{tabular}\n",
	}
	for format, text := range want {
		t.Run(string(format), func(t *testing.T) {
			var b strings.Builder
			require.NoError(t, tab.Write(&b, format))
			require.Equal(t, text, b.String())
		})
	}
}

func TestWriteRefusesRaggedRowsAndUnknownFormats(t *testing.T) {
	var b strings.Builder
	require.ErrorContains(t, table.Table{Header: []string{"a"}, Rows: [][]string{{"1", "2"}}}.Write(&b, table.Text), "row 0 has 2 cells")
	require.ErrorContains(t, table.Table{}.Write(&b, table.JSON), "cannot write")
	require.ErrorContains(t, testkit.Err(table.ParseFormat("yaml")), "yaml")
	require.Empty(t, b.String())
}

func TestEscapeLaTeX(t *testing.T) {
	require.Equal(t, `50\% of \$x\_1\$ \textless{} \{y\}\textasciicircum{}2 \& \textbackslash{}\#\textasciitilde{}\textgreater{} $\sigma$ $\pm$ 1`,
		table.EscapeLaTeX("50% of $x_1$ < {y}^2 & \\#~> σ ± 1"))
}

func TestTextThatIsTooWide(t *testing.T) {
	cell := strings.Repeat("x", 38)
	for between, want := range map[string]string{
		"ab":     cell + "  ab  " + cell[:36],
		"abcd":   cell + " abcd " + cell[:36],
		"abcdef": cell + "  abcdef  " + cell[:36],
	} {
		var b strings.Builder
		row := []string{cell, between, cell[:36]}
		require.NoError(t, table.Table{Header: row}.Write(&b, table.Text))
		require.Equal(t, want+"\n", b.String())
	}
}

func TestCellsOfStrangersDoNoHarm(t *testing.T) {
	for cell, want := range map[string]string{
		`=HYPERLINK("http://x","y")`: `'=HYPERLINK("http://x","y")`,
		"@SUM(A1)":                   "'@SUM(A1)",
		"+1+2":                       "'+1+2",
		"-1+2":                       "'-1+2",
		"\uff1d1":                    "'\uff1d1",
		"\t=1":                       `\t=1`,
		"\r=1":                       `\r=1`,
		"\x1b[31mred\x1b[0m":         `\x1b[31mred\x1b[0m`,
		"two\nlines":                 `two\nlines`,
		"right\u202eleft":            `right\u202eleft`,
		"\xff":                       `\xff`,
		"-1":                         "-1",
		"+2.5e-3":                    "+2.5e-3",
		"-Inf":                       "-Inf",
		"-":                          "-",
		"é, ≤50K \ufffd":             "é, ≤50K \ufffd",
		"a=b":                        "a=b",
		"":                           "",
	} {
		tab := table.Table{Header: []string{"label", "n"}, Rows: [][]string{{cell, "1"}}}
		var b strings.Builder
		require.NoError(t, tab.Write(&b, table.CSV))
		rows := testkit.Must(csv.NewReader(strings.NewReader(b.String())).ReadAll())
		require.Equal(t, [][]string{{"label", "n"}, {want, "1"}}, rows)
		for _, f := range []table.Format{table.Text, table.Markdown, table.LaTeX} {
			b.Reset()
			require.NoError(t, tab.Write(&b, f))
			require.NotContains(t, b.String(), "\x1b")
			require.NotContains(t, b.String(), "\u202e")
		}
	}
	var b strings.Builder
	require.NoError(t, table.Table{Header: []string{"a", "b"}, Rows: [][]string{{"<script>x</script> |", "a < b <= c"}}}.Write(&b, table.Markdown))
	require.Contains(t, b.String(), `| &lt;script>x&lt;/script> \| | a < b <= c |`)
}

func TestHarmlessNames(t *testing.T) {
	for _, name := range []string{"", "-", "+", "-1", "+2.5", "<=50K", "a=b", "nach Hause", "Überweisung", "oui\u00a0?", "می\u200cخواهم"} {
		require.True(t, table.Harmless(name), name)
	}
	for _, name := range []string{"=HYPERLINK(1)", "@SUM(A1)", "+1+2", "-x", "\uff1d1", "\x1b[2J", "a\nb", "\t=1", "right\u202eleft", "\xff", "\u009b2J"} {
		require.False(t, table.Harmless(name), name)
	}
}
