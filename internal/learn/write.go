package learn

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
)

// Write renders t. Text is at most 80 columns wide where the numbers allow it, LaTeX
// is the body of a document that loads amsmath and amssymb.
func (t Trace) Write(w io.Writer, f table.Format) error {
	switch f {
	case table.JSON:
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false) // formulas have < and >
		enc.SetIndent("", "  ")
		if err := enc.Encode(t); err != nil {
			return fmt.Errorf("learn: %w", err)
		}
		return nil
	case table.CSV:
		return t.csv(w)
	}
	var p page
	switch f {
	case table.Text:
		p = &textPage{}
	case table.Markdown:
		p = &markdownPage{}
	case table.LaTeX:
		p = &latexPage{}
	default:
		return fmt.Errorf("learn: cannot write format %q", f)
	}
	if err := t.compose(p); err != nil {
		return err
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// page is one way to set a trace.
type page interface {
	title(text string)
	heading(text string)
	words(text string)
	formula(f Formula)
	table(t table.Table) error
	String() string
}

// part is a step, a closing section or a mistake, as it is written.
type part struct {
	number, heading, words string
	formula                *Formula
	numbers                *[]Number
	index                  string
}

func (t *Trace) parts() (all []part) {
	for i := range t.Steps {
		s := &t.Steps[i]
		all = append(all, part{fmt.Sprintf("%d. ", i+1), s.Name, s.Words, s.Formula, &s.Numbers, s.Index})
	}
	closing := func(heading string, s *Section) {
		all = append(all, part{"", heading, s.Words, s.Formula, &s.Numbers, s.Index})
	}
	closing(releasedHeading, &t.Released)
	closing(costHeading, &t.Cost)
	for i := range t.Mistakes {
		m := &t.Mistakes[i]
		all = append(all, part{"", "What would go wrong if " + m.If, m.Words, nil, &m.Numbers, ""})
	}
	return all
}

func (t Trace) compose(p page) error {
	p.title(t.Title)
	p.words(fmt.Sprintf("One run of %s with seed %d. It shows private data and noise: for teaching, not releasable.", t.Mechanism, t.Seed))
	for _, x := range t.parts() {
		p.heading(x.number + x.heading)
		p.words(x.words)
		if x.formula != nil {
			p.formula(*x.formula)
		}
		for _, tab := range tables(*x.numbers, x.index) {
			if err := p.table(tab); err != nil {
				return err
			}
		}
	}
	return nil
}

// tables returns the vectors of numbers side by side, then the scalars below each other.
func tables(numbers []Number, index string) []table.Table {
	if index == "" {
		index = "class"
	}
	var vectors, scalars table.Table
	for _, n := range numbers {
		if len(n.Values) == 1 {
			scalars.Header, scalars.Left = []string{"number", "value"}, []bool{true}
			scalars.Rows = append(scalars.Rows, []string{n.Name, n.text(0)})
			continue
		}
		if vectors.Header == nil {
			vectors.Header = []string{index}
			for i := range n.Values {
				vectors.Rows = append(vectors.Rows, []string{strconv.Itoa(i)})
			}
		}
		vectors.Header = append(vectors.Header, n.Name)
		for i := range n.Values {
			vectors.Rows[i] = append(vectors.Rows[i], n.text(i))
		}
	}
	var out []table.Table
	for _, t := range []table.Table{vectors, scalars} {
		if t.Header != nil {
			out = append(out, t)
		}
	}
	return out
}

// csv writes one row for each value: step, number, index (empty for a scalar), value.
func (t Trace) csv(w io.Writer) error {
	out := table.Table{Header: []string{"step", "number", "index", "value"}}
	for _, p := range t.parts() {
		for _, n := range *p.numbers {
			for i, x := range n.Values {
				index := ""
				if len(n.Values) > 1 {
					index = strconv.Itoa(i)
				}
				out.Rows = append(out.Rows, []string{p.heading, n.Name, index, strconv.FormatFloat(x, 'g', -1, 64)})
			}
		}
	}
	return out.Write(w, table.CSV)
}

// text prints value i.
func (n Number) text(i int) string {
	if n.claim {
		return shortUp(n.Values[i])
	}
	return short(n.Values[i])
}

// short prints a number to six digits.
func short(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// shortUp prints like short, rounded up; what float64 itself adds to a sum is not shown.
func shortUp(x float64) string {
	if x == math.Trunc(x) {
		return short(x)
	}
	return short(number.Up(x-math.Abs(x)*0x1p-40, 6))
}

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

// markdownPage writes formulas as TeX between dollars, which GitHub, Jupyter and Pandoc set.
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
