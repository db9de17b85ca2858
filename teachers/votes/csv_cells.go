package votes

import (
	"bytes"
	"errors"
	"fmt"
)

func fillCSV[C cell](r *reader, cur *cursor, dst []C, dom domain) (bad int, err error) {
	for len(dst) > 0 {
		w, err := r.at(cur.in, cur.offset, 8*len(dst)+2*maxCSVCell)
		if err != nil {
			return bad, err
		}
		used, n, b, err := parseCells(dst, w, cur, dom)
		if err != nil {
			return bad, err
		}
		bad += b
		dst = dst[n:]
		cur.offset += int64(used)
	}
	return bad, nil
}

func parseCells[C cell](dst []C, w []byte, cur *cursor, dom domain) (used, n, bad int, err error) {
	last := cur.offset+int64(len(w)) == cur.in.size
	form, at := cur.csv.form, &cur.csv
	sep, width := form.sep, form.width
	digits := byte(0) // digits below this number are valid votes
	if dom.plain() {
		digits = byte(min(10, dom.limit))
	}
	p := 0
	for n < len(dst) {
		// Most cells are a single digit.
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
			return p, n, bad, longCell(cur.in)
		}
		if !closed && !last {
			return p, n, bad, nil
		}
		ends := !closed || w[end] == '\n'
		if ends != (at.col == width-1) {
			cells := at.col + 1
			if !ends {
				if cells, err = restOfLine(w[end:], cells, sep, last); err != nil {
					return p, n, bad, cur.in.refuse(fmt.Sprintf("row %d has %d %s, %v", at.line, width,
						form.noun(width), err), "", "fix the row")
				}
			} else if cells == 1 && isBlank(w[p:end]) {
				return p, n, bad, blankLine(cur.in, at.line)
			}
			return p, n, bad, form.ragged(cur.in, at.line, cells)
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
	case f.shares:
		return "probabilities"
	case f.counts && n == 1:
		return "count"
	case f.counts:
		return "counts"
	case n == 1:
		return "vote"
	}
	return "votes"
}

func (f csvForm) ragged(in *input, line, cells int) error {
	e := in.refuse(fmt.Sprintf("row %d has %d %s, but the other rows have %d", line, cells, f.noun(cells), f.width),
		"each row is a query and each column is a teacher; a missing vote is an empty cell", "fix the row")
	switch {
	case f.shares:
		e.Why = "each row is a query and each column is the probability of a class"
	case f.counts && f.lines:
		e.Why = "with --transpose, each row is a class and each column is a query"
	case f.counts:
		e.Why = "each row is a query and each column is a class"
	case f.lines:
		e.Why = "in a transposed file each row is a teacher and each column is a query; a missing vote is an empty cell"
	}
	return e
}

func blankLine(in *input, line int) error {
	return in.refuse(fmt.Sprintf("row %d is blank", line),
		"if all votes on a query are missing, its row still has the separators, or -1 for each teacher",
		"remove blank lines, in Python: "+
			fmt.Sprintf(`open(%q, "w").writelines(line for line in open(%q) if line.strip())`, beside(in.name, ".csv"),
				in.name))
}

func longCell(in *input) error {
	return in.refuse(fmt.Sprintf("has a cell of more than %d bytes", maxCSVCell), "a cell is a number",
		"check that this is the right file, and that every quote is closed")
}

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

func trimCell(cell []byte) []byte {
	cell = bytes.TrimSpace(cell)
	if n := len(cell); n > 1 && cell[0] == '"' && cell[n-1] == '"' {
		cell = bytes.TrimSpace(cell[1 : n-1])
	}
	return cell
}
