package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pate-go/pate/fault"
)

// Magic is at the beginning and at the end of every Parquet file.
const Magic = "PAR1"

const maxFooter = 16 << 20

type File struct {
	r       io.ReaderAt
	name    string
	columns []Column
	leaves  int // number of columns, including nested columns
	groups  []rowGroup[chunkData]
	rows    int64
}

func (f *File) damaged(what string, err error) *fault.Error {
	return &fault.Error{File: f.name, What: what, Fix: "write the file again", Err: err}
}

// Open reads the footer of a Parquet file. Errors contain `name` as the name of the file.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{r: r, name: name}
	const ends = len(Magic) + 4 + len(Magic) // the shortest file has magic, length and magic
	if size < int64(ends) {
		return nil, f.damaged("is too short to be Parquet", nil)
	}
	tail := make([]byte, 8)
	if _, err := r.ReadAt(tail, size-8); err != nil && err != io.EOF {
		return nil, f.damaged("cannot be read", err)
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	switch {
	case string(tail[4:]) == "PARE":
		return nil, &fault.Error{File: name, What: "is encrypted", Fix: "write it without encryption"}
	case string(tail[4:]) != Magic:
		return nil, f.damaged("begins as a Parquet file but does not end as one, so it was cut off", nil)
	case length > size-int64(ends):
		return nil, f.damaged(fmt.Sprintf("should end in a footer of %d bytes, but the whole file has %d bytes", length, size), nil)
	case length > maxFooter:
		return nil, &fault.Error{File: name, What: fmt.Sprintf("has a footer of %d bytes, but at most %d can be read", length, maxFooter),
			Why: "the footer lists every column of every row group", Fix: "write fewer columns or larger row groups"}
	}
	raw := make([]byte, length)
	end := size - 8 - length
	if _, err := r.ReadAt(raw, end); err != nil && err != io.EOF {
		return nil, f.damaged("cannot be read", err)
	}
	var footer fileMetaData[chunkData]
	_, err := decode(raw, &footer)
	var refused *fault.Error
	if errors.As(err, &refused) {
		refused.File = name
		return nil, refused
	}
	if err != nil {
		return nil, f.damaged("has a damaged footer", err)
	}
	f.groups, f.rows = footer.Groups, footer.Rows
	if err := f.setColumns(footer.Schema); err != nil {
		return nil, err
	}
	return f, f.check(end)
}

func (c *columnChunk[Data]) there() bool {
	return c.Data != nil && c.ElsewhereIn == nil && c.Encrypted == nil
}

func (c *chunkData) span() (from, to int64) {
	from = c.Page
	if c.Dictionary > 0 && c.Dictionary < from {
		from = c.Dictionary
	}
	return from, from + c.Packed
}

func (f *File) check(end int64) error {
	total := int64(0)
	for i, g := range f.groups {
		switch {
		case g.Rows < 0:
			return f.damaged("has a damaged footer", errForeign)
		case len(g.Chunks) != f.leaves:
			return f.inGroup(i, fmt.Sprintf("has %d columns, but the file has %d", len(g.Chunks), f.leaves))
		case g.Rows > 1<<40 || total > 1<<50:
			return f.inGroup(i, fmt.Sprintf("claims %d rows", g.Rows))
		}
		total += g.Rows
		for _, col := range f.columns {
			c := g.Chunks[col.leaf]
			if col.nested || !c.there() {
				continue
			}
			d := c.Data
			if d.Values < 0 || d.Codec < 0 || d.Page < 0 || d.Packed < 0 || d.Packed > 1<<62 || d.Page > 1<<62 {
				return f.damaged("has a damaged footer", errForeign)
			}
			switch from, to := d.span(); {
			case from < int64(len(Magic)) || to > end:
				return f.inColumn(i, col, fmt.Sprintf("claims bytes %d to %d, but pages end at %d", from, to, end))
			case d.Values != g.Rows:
				return f.inColumn(i, col, fmt.Sprintf("has %d values in %d rows", d.Values, g.Rows))
			}
		}
	}
	if total != f.rows {
		return f.damaged(fmt.Sprintf("claims %d rows, but its row groups have %d", f.rows, total), nil)
	}
	return nil
}

func (f *File) inGroup(i int, what string) *fault.Error {
	return f.damaged(fmt.Sprintf("row group %d %s", i, what), nil)
}

func (f *File) inColumn(i int, c Column, what string) *fault.Error {
	return f.inGroup(i, fmt.Sprintf("column %q %s", c.Name, what))
}

func (f *File) Columns() []Column { return f.columns }

// Len returns the number of rows in the footer. Do not allocate memory for this many rows, because the footer
// is untrusted.
func (f *File) Len() int64 { return f.rows }

const maxRow = 1 << 20

type Rows struct {
	f       *File
	cursors []cursor
	unpack  unpacker
	live    int64

	group int   // index of the next row group
	left  int64 // remaining rows of the current row group
	text  []byte
	ends  []int
	cells []string
}

// Rows returns an iterator over the rows with the columns at these indices. If columns is nil, the rows have
// all columns. If a column cannot be read, the error contains the column's name.
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
				Why: "only columns of text, integers, floats, booleans and dates can be read", Fix: c.Convert()}
		}
		r.cursors[i] = cursor{c: c, live: &r.live}
	}
	return r, nil
}

// Next returns the cells of the next row, or io.EOF after the last row. The slice is valid until the next
// call, but the strings remain valid.
func (r *Rows) Next() ([]string, error) {
	for r.left == 0 {
		if r.group == len(r.f.groups) {
			return nil, io.EOF
		}
		g := r.f.groups[r.group]
		for i := range r.cursors {
			k := g.Chunks[r.cursors[i].c.leaf]
			if !k.there() {
				return nil, r.f.inColumn(r.group, r.cursors[i].c, "is encrypted or stored in another file")
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
