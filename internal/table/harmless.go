package table

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces every character that is not shown as itself by its escape in Go: a terminal would obey
// some, and others hide or turn their neighbours.
func Printable(text string) string {
	shown := func(r rune) bool { return unicode.IsPrint(r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !shown(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if piece := rest[:size]; shown(r) && (r != utf8.RuneError || size > 1) {
			b.WriteString(piece)
		} else {
			b.WriteString(strings.Trim(strconv.Quote(piece), `"`))
		}
		rest = rest[size:]
	}
	return b.String()
}

// Harmless reports whether text may be a name in files for spreadsheets, terminals and browsers: it is
// UTF-8 without control and bidirectional characters, and does not begin as a formula.
func Harmless(text string) bool {
	obeyed := func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }
	return utf8.ValidString(text) && strings.IndexFunc(text, obeyed) < 0 && inert(text) == text
}

// inert returns a printable cell of CSV that no spreadsheet takes for a formula. Numbers stay as they are.
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

func (t Table) printable() Table {
	each := func(cells []string) []string {
		out := make([]string, len(cells))
		for j, cell := range cells {
			out[j] = Printable(cell)
		}
		return out
	}
	out := Table{Header: each(t.Header), Left: t.Left}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, each(row))
	}
	return out
}
