package votes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

type csvText struct {
	form    *csvForm
	rows    int
	width   int
	start   int64   // offset of the first line of votes
	offsets []int64 // offsets of all lines, if requested
}

type csvForm struct {
	sep     byte
	width   int // cells per line
	headers int // lines before the votes: 0 or 1
	counts  bool
	shares  bool
	lines   bool // each line is a teacher, or a class for counts
}

type csvPosition struct {
	form *csvForm
	line int // from 1
	col  int
}

const numberedCells = 5

const byteOrderMark = "\xef\xbb\xbf"

const maxCSVCell = 4096

func (t csvText) cursor(in *input, line int) cursor {
	cur := cursor{in: in, offset: t.start, csv: csvPosition{form: t.form, line: 1 + t.form.headers + line}}
	if line > 0 {
		cur.offset = t.offsets[line]
	}
	return cur
}

func csvLayout(ctx context.Context, r *reader, in *input, opt Options, offsets bool) (csvText, error) {
	// If lines have several cells, blank lines at the end are ignored. In a file with one cell per line, a
	// blank line is an abstention.
	t := csvText{form: &csvForm{counts: opt.Counts, shares: opt.Probabilities, lines: opt.Transpose}}
	head, err := r.at(in, 0, 1<<16)
	if err != nil {
		return t, err
	}
	if text := bytes.TrimPrefix(head, []byte(byteOrderMark)); len(text) < len(head) {
		t.start, head = int64(len(byteOrderMark)), text
	}
	if err := foreignText(in, head); err != nil {
		return t, err
	}
	t.form.sep = csvSeparator(head)
	if line, _, _ := bytes.Cut(head, []byte("\n")); !in.table() &&
		isLong(strings.Split(strings.NewReplacer(`"`, "", "\r", "", " ", "").Replace(string(line)),
			string(t.form.sep))) {
		return t, longTable(in, fmt.Sprintf("pd.read_csv(%q%s)", in.name, separator(t.form.sep)),
			fmt.Sprintf("to_csv(%q, index=False)", beside(in.name, ".csv")))
	}
	var names *domain
	if opt.ClassNames != nil {
		d := opt.labelDomain(opt.Classes)
		names = &d
	}
	first, err := readLine(r, in, t.form.sep, t.start, names)
	if err != nil {
		return t, err
	}
	if in.table() {
		opt.Header = HeaderYes
	}
	header := opt.Header == HeaderYes || opt.Header == headerAuto && first.words
	if opt.Header == headerAuto && first.words && first.numbers {
		e := in.refuse("row 1 has numbers and words: is it a header?",
			"if votes were read as a header, the first query would be lost; write a missing vote as -1 or an empty cell",
			"give --header yes or --header no")
		if names != nil {
			e.What, e.Fix = "row 1 has class names and other words: is it a header?", "name every public class, or give --header yes or --header no"
		}
		return t, e
	}
	if opt.Header == headerAuto && first.numbered && (first.cells >= numberedCells || opt.Probabilities && first.cells > 1) {
		return t, in.refuse("row 1 is 0, 1, 2, ...: is it a header of column numbers?",
			"a header of numbers looks like votes", "give --header yes or --header no")
	}
	if opt.Header == headerAuto && first.framed && first.cells > numberedCells {
		return t, in.refuse("row 1 is an empty cell and 0, 1, 2, ..., so the file may have the row and column numbers that pandas writes",
			"these numbers would be read as votes",
			"give --header yes --index-column; or write the file without these numbers, "+
				inPython(fmt.Sprintf("pd.read_csv(%q, index_col=0%s).to_csv(%q, index=False, header=False)", in.name,
					separator(t.form.sep), beside(in.name, ".csv"))))
	}
	if header {
		t.form.headers, t.start = 1, first.next
		if err := first.indexed(in, t.form.sep); err != nil {
			return t, err
		}
		columns := first.cells
		if first, err = readLine(r, in, t.form.sep, t.start, names); err != nil {
			return t, err
		}
		if first.cells != columns && t.start < in.size {
			if first.blank {
				return t, blankLine(in, 2)
			}
			return t, in.refuse(fmt.Sprintf("has %d names in its header, but %d cells in row 2", columns,
				first.cells), "every column is a column of votes", "remove the column that has no votes, or fix the header")
		}
	}
	t.width, t.form.width = first.cells, first.cells
	if err := t.oddFirst(r, in, first); err != nil {
		return t, err
	}
	if err := t.countLines(ctx, r, in, offsets); err != nil {
		return t, err
	}
	if t.rows == 0 {
		return t, in.refuse("has no votes", "the file has only a header and no votes", "check that this is the right file")
	}
	return t, nil
}

func (l csvLine) indexed(in *input, sep byte) error {
	if l.cells == 1 || l.name != "" && l.name != "id" && l.name != "index" && l.name != "query" {
		return nil
	}
	return in.refuse(fmt.Sprintf("column 1 is named %q, which means row numbers, not votes", l.name),
		"every column is a column of votes",
		"give --index-column, which skips column 1; or write the file without row numbers, "+
			inPython(fmt.Sprintf("pd.read_csv(%q, index_col=0%s).to_csv(%q, index=False)", in.name, separator(sep),
				beside(in.name, ".csv")))+"; or rename the column")
}

func (t csvText) oddFirst(r *reader, in *input, first csvLine) error {
	second, err := readLine(r, in, t.form.sep, first.next, nil)
	if err != nil || second.cells == first.cells {
		return err
	}
	third, err := readLine(r, in, t.form.sep, second.next, nil)
	if err != nil || third.next == second.next || third.cells != second.cells {
		return err
	}
	if first.blank {
		return blankLine(in, 1+t.form.headers)
	}
	odd := csvForm{width: second.cells, counts: t.form.counts, shares: t.form.shares, lines: t.form.lines}
	return odd.ragged(in, 1+t.form.headers, first.cells)
}

func foreignText(in *input, head []byte) error {
	if bytes.IndexByte(head, '\n') < 0 && bytes.IndexByte(bytes.TrimRight(head, "\r"), '\r') >= 0 {
		return in.refuse("ends its lines with CR instead of LF or CR LF", "lines must end with LF or CR LF", "write the file again, "+
			inPython(fmt.Sprintf(`open(%q, "w").write(open(%q).read())`, beside(in.name, ".csv"), in.name)))
	}
	line, rest, _ := bytes.Cut(head, []byte("\n"))
	second, _, _ := bytes.Cut(rest, []byte("\n"))
	if blanksApart(line) || blanksApart(second) {
		return in.refuse("separates numbers by blanks",
			"blanks do not show empty cells, which are missing votes",
			"save the votes with numpy.save or numpy.savetxt(..., delimiter=\",\"); "+saved(in.name, "", "np.loadtxt(%q)"))
	}
	first := bytes.TrimSpace(line)
	if len(first) > 1 && (first[0] == '{' || first[0] == '[' && bytes.IndexByte([]byte("[-\"0123456789 "), first[1]) >= 0) {
		return in.refuse("is JSON or the printed text of a Python array", "votes are CSV or NPY",
			"for a list of lists, "+saved(in.name, "import json; ", "np.array(json.load(open(%q)))"))
	}
	return nil
}

func blanksApart(line []byte) bool {
	fields := bytes.Fields(line)
	if len(fields) < 2 || bytes.ContainsAny(line, ",;\t") {
		return false
	}
	for _, f := range fields[:2] {
		if _, err := strconv.ParseFloat(string(f), 64); errors.Is(err, strconv.ErrSyntax) {
			return false
		}
	}
	return true
}

func csvSeparator(head []byte) byte {
	head, _, _ = bytes.Cut(head, []byte("\n"))
	for _, c := range []byte(",;\t") {
		if bytes.IndexByte(head, c) >= 0 {
			return c
		}
	}
	return ','
}

type csvLine struct {
	cells    int
	name     string // first cell, in lower case
	blank    bool   // the line is empty
	words    bool   // a cell is text other than a class name
	numbers  bool   // a cell is a number or a class name
	numbered bool   // cells are 0, 1, 2, ...
	framed   bool   // the first cell is empty and the next cells are 0, 1, 2, ...
	next     int64
}

func readLine(r *reader, in *input, sep byte, offset int64, names *domain) (csvLine, error) {
	line := csvLine{numbered: true, framed: true}
	for {
		w, err := r.at(in, offset, bufferBytes)
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
			if len(cell) > 0 && !(line.words && line.numbers) {
				_, err := strconv.ParseFloat(string(cell), 64)
				word := errors.Is(err, strconv.ErrSyntax) && !(names != nil && names.text(cell) >= 0)
				line.words, line.numbers = line.words || word, line.numbers || !word
			}
			if line.numbered {
				line.numbered = string(cell) == strconv.Itoa(line.cells)
			}
			if line.framed {
				line.framed = line.cells == 0 && len(cell) == 0 || line.cells > 0 && string(cell) == strconv.Itoa(line.cells-1)
			}
			if line.cells == 0 {
				line.blank = isBlank(w[p:end]) && (!closed || w[end] == '\n')
				line.name = strings.ToLower(string(cell))
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

func (t *csvText) countLines(ctx context.Context, r *reader, in *input, offsets bool) error {
	lines, blank, any := 0, true, false
	begin := t.start
	end := func() error {
		if offsets {
			if lines == MaxTeachers {
				return in.refuse(fmt.Sprintf("has more than %d rows", MaxTeachers),
					"in a transposed file each row is a teacher", "omit --transpose")
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
			return fmt.Errorf("votes: reading: %w", err)
		}
		w, err := r.at(in, offset, bufferBytes)
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
