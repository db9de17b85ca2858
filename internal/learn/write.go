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

// Write renders t in the format f. Text has at most 80 columns if the numbers permit. LaTeX output is the
// body of a document that loads amsmath and amssymb.
func (t Trace) Write(w io.Writer, f table.Format) error {
	switch f {
	case table.JSON:
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false) // formulas contain < and >
		enc.SetIndent("", "  ")
		if err := enc.Encode(t); err != nil {
			return fmt.Errorf("learn: %w", err)
		}
		return nil
	case table.CSV:
		return t.csv(w)
	}
	p, known := pages()[f]
	if !known {
		return fmt.Errorf("learn: cannot write format %q", f)
	}
	text, err := t.compose(f, p)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

type page struct {
	title, heading, words, table func(text string) string
	formula                      func(f Formula) string
}

func pages() map[table.Format]page {
	escape := strings.NewReplacer("*", `\*`, "_", `\_`, "<", "&lt;").Replace
	return map[table.Format]page{
		table.Text: {
			title:   func(text string) string { return text + "\n" },
			heading: func(text string) string { return "\n" + wrap(text, "", "   ") },
			words:   func(text string) string { return wrap(text, "   ", "   ") },
			formula: func(f Formula) string { return "\n     " + strings.ReplaceAll(f.Text, ";  ", "\n     ") + "\n" },
			table: func(text string) string {
				return "\n     " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n     ") + "\n"
			},
		},
		table.Markdown: {
			title:   func(text string) string { return "# " + text + "\n" },
			heading: func(text string) string { return "\n## " + text + "\n" },
			words:   func(text string) string { return "\n" + escape(text) + "\n" },
			formula: func(f Formula) string { return "\n$$" + f.TeX + "$$\n" },
			table:   func(text string) string { return "\n" + text },
		},
		table.LaTeX: {
			title:   func(text string) string { return `\section*{` + table.EscapeLaTeX(text) + "}\n" },
			heading: func(text string) string { return "\n" + `\subsection*{` + table.EscapeLaTeX(text) + "}\n" },
			words:   func(text string) string { return table.EscapeLaTeX(text) + "\n" },
			formula: func(f Formula) string { return `\[` + f.TeX + `\]` + "\n" },
			table:   func(text string) string { return "\n\\begin{center}\n" + text + "\\end{center}\n" },
		},
	}
}

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

func (t Trace) compose(f table.Format, p page) (string, error) {
	var b strings.Builder
	b.WriteString(p.title(t.Title))
	b.WriteString(p.words(fmt.Sprintf("One run of %s with seed %d. It shows private data and noise: for teaching, not releasable.",
		t.Mechanism, t.Seed)))
	for _, x := range t.parts() {
		b.WriteString(p.heading(x.number+x.heading) + p.words(x.words))
		if x.formula != nil {
			b.WriteString(p.formula(*x.formula))
		}
		for _, tab := range tables(*x.numbers, x.index) {
			var text strings.Builder
			if err := tab.Write(&text, f); err != nil {
				return "", err
			}
			b.WriteString(p.table(text.String()))
		}
	}
	return b.String(), nil
}

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

func (n Number) text(i int) string {
	if n.claim {
		return shortUp(n.Values[i])
	}
	return short(n.Values[i])
}

func short(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// shortUp formats a number with six digits, rounded up. Rounding errors below 2^-40 of x do not raise the
// last digit.
func shortUp(x float64) string {
	if x == math.Trunc(x) {
		return short(x)
	}
	return short(number.Up(x-math.Abs(x)*0x1p-40, 6))
}

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

type Trace struct {
	Schema     string    `json:"schema"`
	Mechanism  string    `json:"mechanism"`
	Title      string    `json:"title"`
	Seed       uint64    `json:"seed"`
	Releasable bool      `json:"releasable"` // always false, because a trace shows votes and noise
	Steps      []Step    `json:"steps"`
	Released   Section   `json:"released"` // what is released and what is not
	Cost       Section   `json:"cost"`
	Mistakes   []Mistake `json:"mistakes"` // consequences of misconceptions
}

// Schema is the version of the JSON encoding of a [Trace].
const Schema = "pate.explain/1"

type Step struct {
	Name    string   `json:"name"` // an imperative, such as "Draw the noise"
	Words   string   `json:"words"`
	Formula *Formula `json:"formula,omitempty"`
	Numbers []Number `json:"numbers,omitempty"`
	Index   string   `json:"index,omitempty"` // index of the vectors; "" means classes
}

type Section struct {
	Words   string   `json:"words"`
	Formula *Formula `json:"formula,omitempty"`
	Numbers []Number `json:"numbers,omitempty"`
	Index   string   `json:"index,omitempty"` // index of the vectors; "" means classes
}

type Mistake struct {
	If      string   `json:"if"` // completes "What would go wrong if ..."
	Words   string   `json:"words"`
	Numbers []Number `json:"numbers,omitempty"`
}

type Formula struct {
	Text string `json:"text"`
	TeX  string `json:"tex"`
}

// Number is a named scalar or vector.
type Number struct {
	Name   string    `json:"name"`
	Values []float64 `json:"values"`

	claim bool // print rounded up
}

func claim(name string, epsilon float64) Number {
	return Number{Name: name, Values: []float64{epsilon}, claim: true}
}

func scalar[T int | int64 | float64](name string, x T) Number {
	return Number{Name: name, Values: []float64{float64(x)}}
}

func vector[T int | int64 | float64](name string, xs []T) Number {
	n := Number{Name: name}
	for _, x := range xs {
		n.Values = append(n.Values, float64(x))
	}
	return n
}

func addRow(columns []Number, values ...float64) {
	for i, x := range values {
		columns[i].Values = append(columns[i].Values, x)
	}
}
