package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/pate-go/pate/fault"
)

// maxRow bounds the bytes of a row, as of a line of CSV.
const maxRow = 1 << 20

// Rows goes through the rows of a file.
type Rows struct {
	f       *File
	cursors []cursor
	unpack  unpacker
	live    int64

	group int   // the next one
	left  int64 // rows of the one before
	text  []byte
	ends  []int
	cells []string
}

// Rows starts to read the columns of these numbers, all if there are none. A column that is not read is an
// error that names it.
func (f *File) Rows(columns []int) (*Rows, error) {
	if columns == nil {
		columns = make([]int, len(f.columns))
		for i := range columns {
			columns[i] = i
		}
	}
	n := len(columns)
	r := &Rows{f: f, cells: make([]string, n), ends: make([]int, n), cursors: make([]cursor, n)}
	for i, at := range columns {
		c := f.columns[at]
		if c.Refused != "" {
			return nil, &fault.Error{File: f.name, What: fmt.Sprintf("holds %s in column %q", c.Refused, c.Name),
				Why: "texts, integers, floats, truth values and dates are read", Fix: c.Convert()}
		}
		r.cursors[i] = cursor{c: c, live: &r.live}
	}
	return r, nil
}

// Next returns the cells of the next row, or io.EOF and none. They are valid until the next call, and the
// texts in them for good.
func (r *Rows) Next() ([]string, error) {
	for r.left == 0 {
		if r.group == len(r.f.groups) {
			return nil, io.EOF
		}
		g := r.f.groups[r.group]
		for i := range r.cursors {
			k := g.Chunks[r.cursors[i].c.leaf]
			if !k.there() {
				return nil, r.f.inColumn(r.group, r.cursors[i].c, "is encrypted, or lies in another file")
			}
			r.cursors[i].start(k.Data)
		}
		r.left = g.Rows
		r.group++
	}
	r.left--
	r.text = r.text[:0]
	for i := range r.cursors {
		var err error
		if r.text, err = r.cursors[i].next(r.f, &r.unpack, r.text); err != nil {
			return nil, r.failed(i, err)
		}
		if len(r.text) > maxRow {
			return nil, r.failed(i, complain("ends a row of more than %d bytes", maxRow))
		}
		r.ends[i] = len(r.text)
	}
	all := string(r.text)
	from := 0
	for i, end := range r.ends {
		r.cells[i], from = all[from:end], end
	}
	return r.cells, nil
}

// complaint is the fault of a column, and follows its name in a message.
type complaint string

func (c complaint) Error() string { return string(c) }

func complain(format string, args ...any) error { return complaint(fmt.Sprintf(format, args...)) }

func (r *Rows) failed(i int, err error) error {
	var text complaint
	if !errors.As(err, &text) {
		text = complaint("is damaged: " + err.Error())
	}
	return r.f.inColumn(r.group-1, r.cursors[i].c, string(text))
}
