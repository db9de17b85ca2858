package parquet

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/pate-go/pate/fault"
)

// Magic is how every Parquet file begins and ends.
const Magic = "PAR1"

const (
	maxFooter  = 16 << 20
	maxColumns = 1 << 16 // with those that lie in others, and what they lie in
	// A real column of a row group takes more than 32 bytes of a footer, a claimed one takes 1.
	maxParts = maxFooter / 32
)

// File is an open Parquet file. It holds what the footer says and no rows.
type File struct {
	r       io.ReaderAt
	name    string
	columns []Column
	leaves  int // columns with those that lie in others
	groups  []group
	parts   int // row groups, and columns of all row groups
	rows    int64
}

// group is a row group.
type group struct {
	rows   int64
	chunks []chunk // one for each leaf
}

// chunk is the pages of one column in one row group.
type chunk struct {
	from, to int64 // in the file
	values   int64
	codec    int64
	there    bool // the footer told of it, in this file and unencrypted
}

// damaged is an error about the file as a whole.
func (f *File) damaged(what string, err error) *fault.Error {
	return &fault.Error{File: f.name, What: what, Fix: "write the file again", Err: err}
}

// Open reads the footer of a file; name is for messages.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{r: r, name: name}
	const ends = len(Magic) + 4 + len(Magic) // the shortest file, and its two ends
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
		return nil, f.damaged("begins as Parquet and does not end so: it was cut off", nil)
	case length > size-int64(ends):
		return nil, f.damaged(fmt.Sprintf("claims a footer of %d bytes and has %d in all", length, size), nil)
	case length > maxFooter:
		return nil, &fault.Error{File: name, What: fmt.Sprintf("has a footer of %d bytes, at most %d are read", length, maxFooter),
			Why: "the footer lists every column of every row group", Fix: "write fewer columns or larger row groups"}
	}
	raw := make([]byte, length)
	end := size - 8 - length
	if _, err := r.ReadAt(raw, end); err != nil && err != io.EOF {
		return nil, f.damaged("cannot be read", err)
	}
	t := &thrift{buf: raw}
	schema := f.readFooter(t)
	if refused, ok := t.err.(*fault.Error); ok {
		return nil, refused
	}
	if t.err != nil {
		return nil, f.damaged("has a damaged footer", t.err)
	}
	if err := f.setColumns(schema); err != nil {
		return nil, err
	}
	return f, f.check(end)
}

// readFooter reads the structure FileMetaData.
func (f *File) readFooter(t *thrift) (schema []element) {
	t.fields(wireStruct, func(id int64, wire byte) {
		switch id {
		case 2:
			t.list(wire, func(wire byte) {
				if len(schema) > maxColumns {
					t.fail(&fault.Error{File: f.name, What: fmt.Sprintf("has more than %d columns", maxColumns), Fix: "of numbers alone, save an NPY file"})
					return
				}
				schema = append(schema, readElement(t, wire))
			})
		case 3:
			f.rows = t.whole(wire)
		case 4:
			t.list(wire, func(wire byte) {
				if f.count(t); t.err == nil {
					f.groups = append(f.groups, f.readGroup(t, wire))
				}
			})
		default:
			t.skip(wire)
		}
	})
	return schema
}

// count counts a row group, or a column of one, before there is room for it.
func (f *File) count(t *thrift) {
	if f.parts++; f.parts > maxParts {
		t.fail(&fault.Error{File: f.name, What: fmt.Sprintf("has more than %d row groups and columns of row groups", maxParts), Fix: "write larger row groups"})
	}
}

// readGroup reads the structure RowGroup.
func (f *File) readGroup(t *thrift, wire byte) (g group) {
	g.rows = -1
	t.fields(wire, func(id int64, wire byte) {
		switch id {
		case 1:
			t.list(wire, func(wire byte) {
				if f.count(t); t.err == nil {
					g.chunks = append(g.chunks, readChunk(t, wire))
				}
			})
		case 3:
			g.rows = t.whole(wire)
		default:
			t.skip(wire)
		}
	})
	if g.rows < 0 {
		t.fail(errForeign)
	}
	return g
}

// readChunk reads the structure ColumnChunk.
func readChunk(t *thrift, wire byte) (c chunk) {
	elsewhere := false
	t.fields(wire, func(id int64, wire byte) {
		switch id {
		case 1, 8: // in another file, encrypted
			elsewhere = true
			t.skip(wire)
		case 3:
			c = readChunkData(t, wire)
		default:
			t.skip(wire)
		}
	})
	c.there = c.there && !elsewhere
	return c
}

// readChunkData reads the structure ColumnMetaData.
func readChunkData(t *thrift, wire byte) (c chunk) {
	var data, dictionary, length int64 = -1, 0, -1
	c.values, c.codec = -1, -1
	t.fields(wire, func(id int64, wire byte) {
		switch id {
		case 4:
			c.codec = t.whole(wire)
		case 5:
			c.values = t.whole(wire)
		case 7:
			length = t.whole(wire)
		case 9:
			data = t.whole(wire)
		case 11:
			dictionary = t.whole(wire)
		default:
			t.skip(wire)
		}
	})
	if c.from = data; dictionary > 0 && dictionary < data {
		c.from = dictionary
	}
	if c.values < 0 || c.codec < 0 || c.from < 0 || length < 0 || length > 1<<62 || c.from > 1<<62 {
		t.fail(errForeign)
	}
	c.to, c.there = c.from+length, true
	return c
}

// check compares what the footer says with itself and with the file, whose pages end at end.
func (f *File) check(end int64) error {
	total := int64(0)
	for i, g := range f.groups {
		switch {
		case len(g.chunks) != f.leaves:
			return f.inGroup(i, fmt.Sprintf("has %d columns, the file has %d", len(g.chunks), f.leaves))
		case g.rows > 1<<40 || total > 1<<50:
			return f.inGroup(i, fmt.Sprintf("claims %d rows", g.rows))
		}
		total += g.rows
		for _, col := range f.columns {
			c := g.chunks[col.leaf]
			switch {
			case col.nested:
			case c.there && (c.from < int64(len(Magic)) || c.to > end):
				return f.inColumn(i, col, fmt.Sprintf("claims bytes %d to %d, and pages end at %d", c.from, c.to, end))
			case c.there && c.values != g.rows:
				return f.inColumn(i, col, fmt.Sprintf("has %d values in %d rows", c.values, g.rows))
			}
		}
	}
	if total != f.rows {
		return f.damaged(fmt.Sprintf("claims %d rows, and its row groups have %d", f.rows, total), nil)
	}
	return nil
}

// inGroup is an error about a row group, which counts from 0 as other programs do.
func (f *File) inGroup(i int, what string) *fault.Error {
	return f.damaged(fmt.Sprintf("row group %d %s", i, what), nil)
}

// inColumn is an error about a column of a row group.
func (f *File) inColumn(i int, c Column, what string) *fault.Error {
	return f.inGroup(i, fmt.Sprintf("column %q %s", c.Name, what))
}

// Name returns the name of the file as messages have it.
func (f *File) Name() string { return f.name }

// Columns returns the columns in the order of the file.
func (f *File) Columns() []Column { return f.columns }

// Len returns how many rows the file claims. Nothing is to be allocated by it.
func (f *File) Len() int64 { return f.rows }
