package dataset

import (
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pate-go/pate/fault"
)

type row struct {
	line  int
	cells []string // valid until the next row is read
}

// rowReader reads the rows of a CSV file. It splits most rows without quotes itself. Package encoding/csv
// parses all other rows.
type rowReader struct {
	path  string
	plain io.Reader
	comma rune
	width int // required number of cells of a row; 0 before the first row

	buffer []byte
	text   string // bytes that were read and belong to no row yet
	end    error  // error of plain after text, io.EOF at the end
	line   int    // line of the last row
	lines  int    // number of lines before text
	cells  []string

	one    strings.Reader // row with quotes
	quoted *csv.Reader    // reads one
}

const chunkBytes = 1 << 17

func newRowReader(plain io.Reader, path string, opt CSVOptions) (*rowReader, error) {
	r := &rowReader{path: path, plain: plain, comma: opt.Comma, buffer: make([]byte, chunkBytes)}
	for len(r.text) < chunkBytes/2 && r.end == nil {
		r.fill()
	}
	r.text = strings.TrimPrefix(r.text, "\ufeff")
	switch {
	case r.comma != 0:
	case opt.Header == HeaderNo || len(opt.Names) > 0:
		r.comma = ',' // the first line may be a private row, so nothing is derived from it
	default:
		r.comma = separator(r.text)
	}
	if strings.ContainsRune("\"\r\n\ufffd", r.comma) || !utf8.ValidRune(r.comma) {
		return nil, fmt.Errorf("dataset: %q cannot separate cells", r.comma)
	}
	r.quoted = csv.NewReader(&r.one)
	r.quoted.Comma = r.comma
	r.quoted.FieldsPerRecord, r.quoted.ReuseRecord = -1, true
	// Spaces before an opening quote are common. If spaces separate cells, trimming would remove empty cells.
	r.quoted.TrimLeadingSpace = r.comma != '\t' && r.comma != ' '
	return r, nil
}

func separator(head string) rune {
	head, _, _ = strings.Cut(head[:min(len(head), 1<<16)], "\n")
	for _, c := range ",;\t" {
		if strings.ContainsRune(head, c) {
			return c
		}
	}
	return ','
}

func (r *rowReader) fill() {
	kept := copy(r.buffer, r.text)
	if kept == len(r.buffer) {
		r.buffer = append(r.buffer, r.buffer...)
	}
	n, err := r.plain.Read(r.buffer[kept:])
	r.text, r.end = string(r.buffer[:kept+n]), err // one copy for all rows in it
}

// record returns the next CSV record: the fewest lines with an even number of quotes.
func (r *rowReader) record() (text string, quoted bool, err error) {
	r.line = r.lines + 1
	for at, open := 0, false; ; {
		n := strings.IndexByte(r.text[at:], '\n') + 1
		last := n == 0
		switch {
		case last && r.end == nil && len(r.text) <= maxRecord:
			r.fill()
			continue
		case last && r.end != nil && !errors.Is(r.end, io.EOF):
			return "", false, failed(r.path, "cannot be read", r.end)
		case r.text == "":
			return "", false, io.EOF
		case last:
			n = len(r.text) - at
		}
		if at+n > maxRecord+1 || last && at+n > maxRecord {
			err := fmt.Errorf("a row is longer than %d bytes (a quote that is never closed?)", maxRecord)
			return "", false, failed(r.path, "cannot be read", err)
		}
		if quotes := strings.Count(r.text[at:at+n], `"`); quotes > 0 {
			quoted, open = true, open != (quotes%2 == 1)
		}
		at, r.lines = at+n, r.lines+1
		if !open || n == 0 {
			text, r.text = r.text[:at], r.text[at:]
			return text, quoted, nil
		}
	}
}

func (r *rowReader) next() (row, error) {
	record, quoted, err := r.record()
	for err == nil && (record == "\n" || record == "\r\n" || record == "\r") {
		record, quoted, err = r.record()
	}
	if err != nil {
		return row{}, err
	}
	cells := r.cells[:0]
	if quoted || r.comma > unicode.MaxASCII || r.quoted.TrimLeadingSpace && unicode.IsSpace(r.comma) {
		if cells, err = r.unquote(record); err != nil {
			return row{}, err
		}
	} else {
		record = strings.TrimSuffix(strings.TrimSuffix(record, "\n"), "\r")
		cells = cut(cells, record, byte(r.comma))
	}
	r.cells = cells
	if r.width > 0 && len(cells) != r.width {
		return row{}, &fault.Error{File: r.path, Row: r.line, Fix: "fix the row",
			What: fmt.Sprintf("has %d cells, the first row has %d", len(cells), r.width),
			Why:  "each row is an example, and each column is a feature, the label or the unit; a missing value is an empty cell"}
	}
	for i, c := range cells {
		if c != "" && (c[0]-'!' > '~'-'!' || c[len(c)-1]-'!' > '~'-'!') { // most cells need no trimming
			cells[i] = strings.TrimSpace(c)
		}
	}
	return row{line: r.line, cells: cells}, nil
}

// cut appends the cells of a record that has no quotes.
func cut(cells []string, record string, comma byte) []string {
	const ones, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	start, at, text := 0, 0, []byte(record)
	for ; at+8 <= len(text); at += 8 {
		// The highest bit of each byte of ends is set where the byte of x is 0.
		x := binary.LittleEndian.Uint64(text[at:]) ^ uint64(comma)*ones
		for ends := ^(x&low + low | x | low); ends != 0; ends &= ends - 1 {
			end := at + bits.TrailingZeros64(ends)/8
			cells, start = append(cells, record[start:end]), end+1
		}
	}
	for ; at < len(text); at++ {
		if text[at] == comma {
			cells, start = append(cells, record[start:at]), at+1
		}
	}
	return append(cells, record[start:])
}

func (r *rowReader) unquote(record string) ([]string, error) {
	r.one.Reset(record)
	cells, err := r.quoted.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return nil, &fault.Error{File: r.path, Row: r.line, Err: parse.Err, Fix: "fix the quotes",
			What: fmt.Sprintf("is not valid CSV at line %d, character %d", r.line+parse.Line-parse.StartLine, parse.Column),
			Why:  `a cell that holds a quote, a separator or a line break stands in quotes, and a quote in it is doubled ("")`}
	}
	if err != nil {
		return nil, failed(r.path, "cannot be read", err)
	}
	return cells, nil
}
