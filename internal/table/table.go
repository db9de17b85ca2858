// Package table renders a table of results as aligned text, CSV, Markdown or LaTeX.
package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Format is a value of the --format flag.
type Format string

const (
	Text     Format = "table"
	JSON     Format = "json"
	CSV      Format = "csv"
	Markdown Format = "md"
	LaTeX    Format = "latex"
)

// Formats lists the values of the --format flag.
func Formats() []string {
	return []string{string(Text), string(JSON), string(CSV), string(Markdown), string(LaTeX)}
}

// ParseFormat returns the format with the given name.
func ParseFormat(name string) (Format, error) {
	if slices.Contains(Formats(), name) {
		return Format(name), nil
	}
	return "", fmt.Errorf("table: format %q is not one of %s", name, strings.Join(Formats(), ", "))
}

// Table holds a header and rows of equal length. All formats escape control characters. In CSV, cells that
// look like formulas get an apostrophe. Markdown shows HTML as text.
type Table struct {
	Header []string
	Rows   [][]string
	Left   []bool // columns that are aligned to the left; all other columns are aligned to the right
}

// Write renders t in any format except JSON.
func (t Table) Write(w io.Writer, f Format) error {
	for i, row := range t.Rows {
		if len(row) != len(t.Header) {
			return fmt.Errorf("table: row %d has %d cells, the header %d", i, len(row), len(t.Header))
		}
	}
	var b strings.Builder
	t = t.printable(f)
	switch f {
	case Text:
		t.text(&b)
	case CSV:
		c := csv.NewWriter(&b)
		for _, row := range append([][]string{t.Header}, t.Rows...) {
			cells := make([]string, len(row))
			for j, cell := range row {
				cells[j] = inert(cell)
			}
			if err := c.Write(cells); err != nil {
				return fmt.Errorf("table: %w", err)
			}
		}
		c.Flush() // writes to memory and cannot fail
	case Markdown:
		t.markdown(&b)
	case LaTeX:
		t.latex(&b)
	default:
		return fmt.Errorf("table: cannot write format %q", f)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Table) left(column int) bool { return column < len(t.Left) && t.Left[column] }

const columns = 80

func (t Table) text(b *strings.Builder) {
	widths := make([]int, len(t.Header))
	all := append([][]string{t.Header}, t.Rows...)
	for _, row := range all {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	wide := 0
	for _, w := range widths {
		wide += w
	}
	gap := "  "
	if between := len(widths) - 1; wide+2*between > columns && wide+between <= columns {
		gap = " "
	}
	for _, row := range all {
		var line strings.Builder
		for j, cell := range row {
			if j > 0 {
				line.WriteString(gap)
			}
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if t.left(j) {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

var beginningOfTag = regexp.MustCompile(`<([A-Za-z/!?])`)

func (t Table) markdown(b *strings.Builder) {
	line := func(cells []string) {
		for _, c := range cells {
			b.WriteString("| " + strings.ReplaceAll(beginningOfTag.ReplaceAllString(c, "&lt;$1"), "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(t.Header)
	for j := range t.Header {
		b.WriteString(map[bool]string{true: "| :--- ", false: "| ---: "}[t.left(j)])
	}
	b.WriteString("|\n")
	for _, row := range t.Rows {
		line(row)
	}
}

// EscapeLaTeX returns LaTeX code that prints the text.
func EscapeLaTeX(text string) string {
	return strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`,
		"{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">", `\textgreater{}`,
		"±", `$\pm$`, "ε", `$\varepsilon$`, "δ", `$\delta$`, "σ", `$\sigma$`, "×", `$\times$`).Replace(text)
}

func (t Table) latex(b *strings.Builder) {
	b.WriteString(`\begin{tabular}{`)
	for j := range t.Header {
		b.WriteString(map[bool]string{true: "l", false: "r"}[t.left(j)])
	}
	b.WriteString("}\n\\hline\n")
	line := func(cells []string) {
		escaped := make([]string, len(cells))
		for j, c := range cells {
			escaped[j] = EscapeLaTeX(c)
		}
		b.WriteString(strings.Join(escaped, " & ") + " \\\\\n")
	}
	line(t.Header)
	b.WriteString("\\hline\n")
	for _, row := range t.Rows {
		line(row)
	}
	b.WriteString("\\hline\n\\end{tabular}\n")
}

// Printable escapes every unprintable character as in a Go string. Such characters could control a terminal,
// or hide or reorder other characters.
func Printable(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if piece := rest[:size]; unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(piece)
		} else {
			b.WriteString(strings.Trim(strconv.Quote(piece), `"`))
		}
		rest = rest[size:]
	}
	return b.String()
}

// Harmless reports whether text is safe as a name in files for spreadsheets, terminals and browsers. The text
// must be UTF-8 without control and bidirectional characters, and must not begin like a formula.
func Harmless(text string) bool {
	obeyed := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
	return utf8.ValidString(text) && strings.IndexFunc(text, obeyed) < 0 && inert(text) == text
}

func inert(cell string) string {
	first, size := utf8.DecodeRuneInString(cell)
	if size == len(cell) || !strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20", first) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}

func (t Table) printable(f Format) Table {
	each := func(cells []string) []string {
		out := slices.Clone(cells)
		for j, cell := range cells {
			if f != CSV || !Harmless(cell) {
				out[j] = Printable(cell)
			}
		}
		return out
	}
	out := Table{Header: each(t.Header), Left: t.Left}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, each(row))
	}
	return out
}
