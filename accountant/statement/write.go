package statement

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// WriteMarkdown writes the statement as a page of Markdown.
func (s *Statement) WriteMarkdown(w io.Writer) error {
	s = s.printed()
	var b strings.Builder
	escape := strings.NewReplacer("\\", "\\\\", "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`", "#", `\#`, "[", `\[`, "]", `\]`, "~", `\~`, "\n", " ")
	verdict, alarm := s.verdict()
	if verdict = escape.Replace(verdict); alarm {
		verdict = "**" + verdict + "**"
	}
	fmt.Fprintf(&b, "# %s\n\n%s\n", escape.Replace(s.title()), verdict)
	for i, part := range s.sections() {
		fmt.Fprintf(&b, "\n## %d. %s\n", i+1, escape.Replace(part.Title))
		for _, text := range part.Text {
			fmt.Fprintf(&b, "\n%s\n", escape.Replace(text))
		}
		if len(part.Rows) > 0 {
			fmt.Fprintf(&b, "\n| %s |\n|%s\n", strings.Join(part.Header, " | "), strings.Repeat(" --- |", len(part.Header)))
			for _, row := range part.Rows {
				cells := make([]string, len(row))
				for j, cell := range row {
					cells[j] = escape.Replace(cell)
				}
				fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
			}
		}
		if len(part.List) > 0 {
			b.WriteByte('\n')
		}
		for _, item := range part.List {
			fmt.Fprintf(&b, "- %s\n", escape.Replace(item))
		}
		for _, text := range part.After {
			fmt.Fprintf(&b, "\n%s\n", escape.Replace(text))
		}
		if part.Code != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.NewReplacer("\n", " ", "```", "").Replace(part.Code))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

//go:embed page.html
var pageSource string

type page struct {
	Title, Verdict string
	Alarm          bool
	Sections       []section
}

// WriteHTML writes the statement as one self-contained HTML page that prints on
// one sheet.
func (s *Statement) WriteHTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"next": func(i int) int { return i + 1 }}).Parse(pageSource)
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	s = s.printed()
	p := page{Title: s.title(), Sections: s.sections()}
	p.Verdict, p.Alarm = s.verdict()
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}
