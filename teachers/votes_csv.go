package teachers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
)

// csvText is where the lines of a CSV file are.
type csvText struct {
	form    *csvForm
	rows    int
	width   int
	start   int64   // offset of the first line of votes
	offsets []int64 // of all of them, if asked for
}

// csvForm is what the lines of a CSV file have in common.
type csvForm struct {
	sep     byte
	width   int // cells of a line
	headers int // lines before the votes: 0 or 1
	counts  bool
	lines   bool // each line is a teacher or class
}

// csvLane is how far one has come in a CSV file.
type csvLane struct {
	form *csvForm
	line int // 1-based
	col  int
}

// numberedCells is from how many cells on a first line of 0, 1, 2, ... is taken
// for column numbers: fewer may well be votes.
const numberedCells = 5

// maxCSVCell bounds the bytes of one cell, a name in the header included.
const maxCSVCell = 4096

func (t csvText) lane(in *votesInput, line int) lane {
	ln := lane{in: in, offset: t.start, csv: csvLane{form: t.form, line: 1 + t.form.headers + line}}
	if line > 0 {
		ln.offset = t.offsets[line]
	}
	return ln
}

// layCSV finds separator, header, width and number of lines. Blank lines at the
// end are none, unless a line has one cell: there they are abstentions.
func layCSV(ctx context.Context, d *desk, in *votesInput, opt VotesOptions, offsets bool) (csvText, error) {
	t := csvText{form: &csvForm{counts: opt.Counts, lines: opt.Transpose}}
	head, err := d.at(in, 0, 1<<16)
	if err != nil {
		return t, err
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		t.start, head = 3, head[3:]
	}
	t.form.sep = csvSeparator(head)
	first, err := lookAt(d, in, t.form.sep, t.start)
	if err != nil {
		return t, err
	}
	header := opt.Header == HeaderYes || opt.Header == HeaderAuto && first.words
	if opt.Header == HeaderAuto && first.numbered && first.cells >= numberedCells {
		return t, &VotesError{File: in.name, What: "row 1 is 0, 1, 2, ...: column numbers or votes", Why: "a header of numbers cannot be told from votes", Fix: "say --header yes or --header no"}
	}
	if header {
		t.form.headers, t.start = 1, first.next
		names := first.cells
		if first, err = lookAt(d, in, t.form.sep, t.start); err != nil {
			return t, err
		}
		if first.cells != names && t.start < in.size {
			return t, &VotesError{File: in.name, What: fmt.Sprintf("has %d names in its header and %d cells in row 2", names, first.cells), Why: "every column is a column of votes", Fix: "remove the column that is none, or fix the header"}
		}
	}
	t.width, t.form.width = first.cells, first.cells
	if err := t.oddFirst(d, in, first); err != nil {
		return t, err
	}
	if err := t.countLines(ctx, d, in, offsets); err != nil {
		return t, err
	}
	if t.rows == 0 {
		return t, &VotesError{File: in.name, What: "has no votes", Why: "a header alone is no matrix", Fix: "check that the right file is given"}
	}
	return t, nil
}

// oddFirst refuses a first row that differs from the two after it: it would
// else be they who are blamed.
func (t csvText) oddFirst(d *desk, in *votesInput, first csvLine) error {
	second, err := lookAt(d, in, t.form.sep, first.next)
	if err != nil || second.cells == first.cells {
		return err
	}
	third, err := lookAt(d, in, t.form.sep, second.next)
	if err != nil || third.next == second.next || third.cells != second.cells {
		return err
	}
	odd := csvForm{width: second.cells, counts: t.form.counts, lines: t.form.lines}
	return odd.ragged(in, 1+t.form.headers, first.cells)
}

// csvSeparator looks at the first line, as far as it is there.
func csvSeparator(head []byte) byte {
	head, _, _ = bytes.Cut(head, []byte("\n"))
	for _, c := range []byte(",;\t") {
		if bytes.IndexByte(head, c) >= 0 {
			return c
		}
	}
	return ','
}

// csvLine is one line looked at from afar.
type csvLine struct {
	cells    int
	words    bool // a cell is neither empty nor a number
	numbered bool // the cells are 0, 1, 2, ...
	next     int64
}

func lookAt(d *desk, in *votesInput, sep byte, offset int64) (csvLine, error) {
	line := csvLine{numbered: true}
	for {
		w, err := d.at(in, offset, deskBytes)
		if err != nil {
			return line, err
		}
		last := offset+int64(len(w)) == in.size
		p := 0
		for {
			end, closed := cellEnd(w, p, sep)
			if !closed && !last {
				if end-p > maxCSVCell {
					return line, longCell(in)
				}
				break
			}
			cell := trimCell(w[p:end])
			if !line.words && len(cell) > 0 {
				_, err := strconv.ParseFloat(string(cell), 64)
				line.words = errors.Is(err, strconv.ErrSyntax)
			}
			if line.numbered {
				line.numbered = string(cell) == strconv.Itoa(line.cells)
			}
			line.cells++
			p = min(end+1, len(w))
			if !closed || w[end] == '\n' {
				line.next = offset + int64(p)
				return line, nil
			}
		}
		offset += int64(p)
	}
}

// countLines counts the lines from t.start on, and keeps where they begin.
func (t *csvText) countLines(ctx context.Context, d *desk, in *votesInput, offsets bool) error {
	lines, blank, any := 0, true, false
	begin := t.start
	end := func() error {
		if offsets {
			if lines == MaxTeachers {
				return &VotesError{File: in.name, What: fmt.Sprintf("has more than %d rows", MaxTeachers), Why: "transposed, each row is a teacher", Fix: "do not say that the file is transposed"}
			}
			t.offsets = append(t.offsets, begin)
		}
		lines++
		if !blank || t.width == 1 {
			t.rows = lines
		}
		return nil
	}
	for offset := t.start; offset < in.size; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("teachers: reading votes: %w", err)
		}
		w, err := d.at(in, offset, deskBytes)
		if err != nil {
			return err
		}
		for rest := w; len(rest) > 0; {
			line, after, found := bytes.Cut(rest, []byte{'\n'})
			blank = blank && isBlank(line)
			any = any || len(line) > 0
			if !found {
				break
			}
			if err := end(); err != nil {
				return err
			}
			blank, any, rest = true, false, after
			begin = offset + int64(len(w)-len(rest))
		}
		offset += int64(len(w))
	}
	if any {
		return end()
	}
	return nil
}

func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\r' {
			return false
		}
	}
	return true
}

// fillCSV reads the next len(dst) cells of a lane.
func fillCSV[C cell](d *desk, ln *lane, dst []C, dom domain) (bad int, err error) {
	for len(dst) > 0 {
		w, err := d.at(ln.in, ln.offset, 8*len(dst)+2*maxCSVCell)
		if err != nil {
			return bad, err
		}
		used, n, b, err := parseCells(dst, w, ln, dom)
		if err != nil {
			return bad, err
		}
		bad += b
		dst = dst[n:]
		ln.offset += int64(used)
	}
	return bad, nil
}

// parseCells reads whole cells from w, which begins where a cell begins, until
// dst is full or w holds no whole cell more.
func parseCells[C cell](dst []C, w []byte, ln *lane, dom domain) (used, n, bad int, err error) {
	last := ln.offset+int64(len(w)) == ln.in.size
	form, at := ln.csv.form, &ln.csv
	sep, width := form.sep, form.width
	digits := byte(min(10, dom.limit)) // how many digits alone are a vote
	p := 0
	for n < len(dst) {
		// Most cells are one digit.
		if p+1 < len(w) && w[p]-'0' < digits {
			if w[p+1] == sep && at.col < width-1 {
				dst[n] = C(w[p] - '0')
				n, p, at.col = n+1, p+2, at.col+1
				continue
			}
			if w[p+1] == '\n' && at.col == width-1 {
				dst[n] = C(w[p] - '0')
				n, p, at.col, at.line = n+1, p+2, 0, at.line+1
				continue
			}
		}
		end, closed := cellEnd(w, p, sep)
		if end-p > maxCSVCell {
			return p, n, bad, longCell(ln.in)
		}
		if !closed && !last {
			return p, n, bad, nil
		}
		ends := !closed || w[end] == '\n'
		if ends != (at.col == width-1) {
			cells := at.col + 1
			if !ends {
				if cells, err = restOfLine(w[end:], cells, sep, last); err != nil {
					return p, n, bad, &VotesError{File: ln.in.name, What: fmt.Sprintf("row %d has %d %s, %v", at.line, width, form.noun(width), err), Fix: "fix the row"}
				}
			} else if cells == 1 && isBlank(w[p:end]) {
				cells = 0
			}
			return p, n, bad, form.ragged(ln.in, at.line, cells)
		}
		v := dom.text(trimCell(w[p:end]))
		if v < dom.low {
			bad++
		}
		dst[n] = C(v)
		n, p, at.col = n+1, min(end+1, len(w)), at.col+1
		if ends {
			at.col, at.line = 0, at.line+1
		}
	}
	return p, n, bad, nil
}

// restOfLine counts the cells of a line that is too long, as far as it is there.
func restOfLine(w []byte, cells int, sep byte, last bool) (int, error) {
	for p := 0; p < len(w) && w[p] != '\n'; {
		cells++
		end, closed := cellEnd(w, p+1, sep)
		if !closed && !last {
			return 0, errors.New("and more")
		}
		p = end
	}
	return cells, nil
}

func (f csvForm) noun(n int) string {
	switch {
	case f.counts && n == 1:
		return "count"
	case f.counts:
		return "counts"
	case n == 1:
		return "label"
	}
	return "labels"
}

// ragged is the error for a line with another number of cells.
func (f csvForm) ragged(in *votesInput, line, cells int) error {
	e := &VotesError{File: in.name, What: fmt.Sprintf("row %d has %d %s, the other rows have %d", line, cells, f.noun(cells), f.width),
		Why: "each row is a query, each column a teacher; a missing vote is an empty cell", Fix: "fix the row"}
	switch {
	case f.counts && f.lines:
		e.Why = "transposed, each row is a class, each column a query"
	case f.counts:
		e.Why = "each row is a query, each column a class"
	case f.lines:
		e.Why = "transposed, each row is a teacher, each column a query; a missing vote is an empty cell"
	}
	return e
}

func longCell(in *votesInput) error {
	return &VotesError{File: in.name, What: fmt.Sprintf("has a cell of more than %d bytes", maxCSVCell), Why: "a cell is a number", Fix: "check that the right file is given (a quote that is never closed?)"}
}

// cellEnd finds the separator or line break that ends the cell at p. In quotes a
// separator is part of the cell; a line break always ends it.
func cellEnd(w []byte, p int, sep byte) (end int, found bool) {
	quoted := false
	for end = p; end < len(w); end++ {
		switch c := w[end]; {
		case c == '\n', c == sep && !quoted:
			return end, true
		case c == '"':
			quoted = !quoted
		}
	}
	return end, false
}

// trimCell removes white space and then quotes.
func trimCell(cell []byte) []byte {
	cell = bytes.TrimSpace(cell)
	if n := len(cell); n > 1 && cell[0] == '"' && cell[n-1] == '"' {
		cell = bytes.TrimSpace(cell[1 : n-1])
	}
	return cell
}

// text is the cell for a trimmed text: a number, or nothing for an abstention.
func (d domain) text(cell []byte) int {
	if len(cell) == 0 {
		if d.low < 0 {
			return Abstention
		}
		return badText
	}
	if len(cell) <= 9 {
		v := 0
		for _, c := range cell {
			if c < '0' || c > '9' {
				v = -1
				break
			}
			v = 10*v + int(c-'0')
		}
		switch {
		case v >= d.limit:
			return badRange
		case v >= 0:
			return v
		}
	}
	v, err := strconv.ParseFloat(string(cell), 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax), bytes.ContainsAny(cell, "xX_pP"):
		return badText
	case err != nil: // too large
		return badRange
	}
	return d.float(v)
}
