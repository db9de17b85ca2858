package template

import (
	"errors"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
)

type inside struct{ Words string }

type values struct {
	*inside
	N     int
	Rows  [][2]string
	Empty []int
	Map   map[string]any
	Raw   Markup
}

var given = values{&inside{`<a href='x'>"&+`}, 2, [][2]string{{"a", "b"}, {"c", "d"}}, nil, map[string]any{"k": 1.5}, "<b>"}

// TestTheLanguageIsPartOfTextTemplate compares every construct with text/template.
func TestTheLanguageIsPartOfTextTemplate(t *testing.T) {
	funcs := Funcs{"plus": func(i, j int) int { return i + j }}
	const text = `{{.Words}} {{.N}} {{$.N}} {{.Map.k}} {{plus .N 1}} {{printf "%03d" .N}} {{print .N "x"}} {{len .Rows}} {{.Raw}}
{{if .Empty}}no{{else if eq .N 3 2}}two{{else}}no{{end}} {{if not (gt .N 2)}}at most 2{{end}} {{with .Map}}{{.k}}{{end}}{{with .Empty}}no{{end}}
{{range $i, $r := .Rows}}{{if $i}}; {{end}}{{index $r 1}}{{end}}{{range .Empty}}no{{else}}none{{end}}{{range $r := .Rows}}{{$x := index $r 0}}{{$x}}{{end}}
{{range .Rows}}{{template "cell" .}}{{end}}{{define "cell"}}<{{index . 0}}>{{end}}{{/* a comment */}}`
	mine, err := Text("t", text, funcs)
	require.NoError(t, err)
	got, err := mine.Fill("t", given)
	require.NoError(t, err)
	var want strings.Builder
	require.NoError(t, template.Must(template.New("t").Funcs(template.FuncMap(funcs)).Parse(text)).Execute(&want, given))
	require.Equal(t, want.String(), got)
}

func TestValuesAreEscaped(t *testing.T) {
	page, err := HTML("t", `<p>{{.Words}}{{.Raw}}`, nil)
	require.NoError(t, err)
	text, err := page.Fill("t", given)
	require.NoError(t, err)
	require.Equal(t, `<p>&lt;a href=&#39;x&#39;&gt;&#34;&amp;&#43;<b>`, text)
}

func TestWhatIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"{{.Nothing}}": ".Nothing", "{{.Map.nothing}}": ".nothing", "{{.N.Deep}}": "int", "{{wrong}}": "broken",
		`{{template "none" .}}`: "none", "{{.N | print}}": "not supported", "{{.N 1}}": "not supported", "{{break}}": "outside",
		"{{if .N}}": "EOF", "{{plus .N}}": "not defined", "{{gt .N}}": "too few",
	} {
		page, err := Text("t", text, Funcs{"wrong": func() (int, error) { return 0, errors.New("broken") }})
		if err == nil {
			_, err = page.Fill("t", given)
		}
		require.ErrorContains(t, err, says, text)
	}
}
