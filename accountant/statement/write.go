package statement

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// WriteMarkdown writes the statement as a page of Markdown.
func (s *Statement) WriteMarkdown(w io.Writer) error {
	s = s.printed()
	var b bytes.Buffer
	escape := strings.NewReplacer("\\", "\\\\", "|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;", "`", "\\`",
		"#", `\#`, "[", `\[`, "]", `\]`, "~", `\~`, "\n", " ")
	verdict, alarm := s.verdict()
	if verdict = escape.Replace(verdict); alarm {
		verdict = "**" + verdict + "**"
	}
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", escape.Replace(s.title()), verdict)
	for _, row := range s.about() {
		fmt.Fprintf(&b, "- %s: %s\n", row[0], escape.Replace(row[1]))
	}
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
		for _, text := range part.After {
			fmt.Fprintf(&b, "\n%s\n", escape.Replace(text))
		}
		if len(part.List) > 0 {
			b.WriteByte('\n')
		}
		for _, item := range part.List {
			fmt.Fprintf(&b, "- %s\n", escape.Replace(item))
		}
		if len(part.Code) > 0 {
			b.WriteString("\n```\n")
			for _, command := range part.Code {
				b.WriteString(strings.NewReplacer("\n", " ", "```", "").Replace(command) + "\n")
			}
			b.WriteString("```\n")
		}
	}
	comment, err := s.comment()
	if err != nil {
		return err
	}
	b.WriteString("\n" + comment)
	_, err = w.Write(seal(b.Bytes()))
	return err
}

//go:embed page.html
var pageSource string

type page struct {
	Title, Verdict string
	Alarm          bool
	About          [][2]string
	Sections       []section
}

// WriteHTML writes the statement as one self-contained HTML page that prints on one sheet.
func (s *Statement) WriteHTML(w io.Writer) error {
	t, err := template.New("page").Funcs(template.FuncMap{"next": func(i int) int { return i + 1 }}).Parse(pageSource)
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	s = s.printed()
	p := page{Title: s.title(), About: s.about(), Sections: s.sections()}
	p.Verdict, p.Alarm = s.verdict()
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	comment, err := s.comment()
	if err != nil {
		return err
	}
	b.WriteString(comment)
	_, err = w.Write(seal(b.Bytes()))
	return err
}

// WriteJSON writes the statement as one JSON object.
func (s *Statement) WriteJSON(w io.Writer) error {
	data, err := json.MarshalIndent(struct {
		*Statement
		Record record `json:"record"`
	}{s, s.record()}, "", "  ")
	if err != nil {
		return fmt.Errorf("statement: %w", err)
	}
	_, err = w.Write(seal(append(data, '\n')))
	return err
}
