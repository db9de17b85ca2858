package table_test

import (
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

// TestTextThatIsTooWide: columns move together where that makes a line fit 80 columns.
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
