package learn

import (
	"strings"
	"unicode/utf8"

	"github.com/pate-go/pate/internal/table"
)

// textPage is a terminal of 80 columns.
type textPage struct{ strings.Builder }

func (p *textPage) title(text string) { p.WriteString(text + "\n") }

func (p *textPage) heading(text string) { p.WriteString("\n" + wrap(text, "", "   ")) }

func (p *textPage) words(text string) { p.WriteString(wrap(text, "   ", "   ")) }

func (p *textPage) formula(f Formula) {
	p.WriteString("\n")
	for _, line := range strings.Split(f.Text, ";  ") {
		p.WriteString("     " + line + "\n")
	}
}

func (p *textPage) table(t table.Table) error {
	var b strings.Builder
	if err := t.Write(&b, table.Text); err != nil {
		return err
	}
	p.WriteString("\n")
	for line := range strings.Lines(b.String()) {
		p.WriteString("     " + line)
	}
	return nil
}

// wrap breaks text between words.
func wrap(text, first, other string) string {
	const width = 80
	var b strings.Builder
	line := first
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line, empty = other, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	b.WriteString(line + "\n")
	return b.String()
}

// markdownPage writes formulas as TeX between dollars, which GitHub, Jupyter and
// Pandoc set.
type markdownPage struct{ strings.Builder }

func (p *markdownPage) title(text string) { p.WriteString("# " + text + "\n") }

func (p *markdownPage) heading(text string) { p.WriteString("\n## " + text + "\n") }

func (p *markdownPage) words(text string) {
	p.WriteString("\n" + strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;").Replace(text) + "\n")
}

func (p *markdownPage) formula(f Formula) { p.WriteString("\n$$" + f.TeX + "$$\n") }

func (p *markdownPage) table(t table.Table) error {
	p.WriteString("\n")
	return t.Write(p, table.Markdown)
}

// latexPage is the body of a document.
type latexPage struct{ strings.Builder }

func (p *latexPage) title(text string) { p.WriteString(`\section*{` + table.EscapeLaTeX(text) + "}\n") }

func (p *latexPage) heading(text string) {
	p.WriteString("\n" + `\subsection*{` + table.EscapeLaTeX(text) + "}\n")
}

func (p *latexPage) words(text string) { p.WriteString(table.EscapeLaTeX(text) + "\n") }

func (p *latexPage) formula(f Formula) { p.WriteString(`\[` + f.TeX + `\]` + "\n") }

func (p *latexPage) table(t table.Table) error {
	p.WriteString("\n\\begin{center}\n")
	if err := t.Write(p, table.LaTeX); err != nil {
		return err
	}
	p.WriteString("\\end{center}\n")
	return nil
}
