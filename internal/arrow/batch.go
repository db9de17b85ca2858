package arrow

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/pate-go/pate/internal/npy"
	"github.com/pate-go/pate/internal/parquet"
)

// column is the values of a column in a batch.
type column struct {
	of      Column
	missing bool   // some values may be missing
	buffers [3]buf // whether there is a value; values, or where texts end; texts
	words   []string
	scratch []byte
}

var (
	errShort = errors.New("has fewer bytes than its rows need")
	errEnds  = errors.New("has texts that end before they begin, or outside its bytes")
	errWord  = errors.New("names a word that is not in the dictionary")
)

// readBatch finds the values of a batch of columns, of the table RecordBatch, and returns
// its number of rows. What is compressed is unpacked, up to a limit in bytes.
func (t *Table) readBatch(columns []Column, into []column, batch node, body, size, limit int64) (rows int64, err error) {
	rows = batch.whole(0, 8, 0)
	nodes, nNodes := batch.vector(1, 16)
	where, nBuffers := batch.vector(2, 16)
	codec := int64(plain)
	if c := batch.table(3); c.at != 0 {
		codec = c.whole(0, 1, 0)
	}
	want, none := 0, true
	for _, c := range columns {
		want += c.kind.buffers()
		none = none && c.kind == kindNone
	}
	switch {
	case batch.f.damaged || rows < 0:
		return 0, errors.New("is damaged")
	case nNodes != len(columns) || nBuffers != want:
		return 0, fmt.Errorf("has %d columns and %d buffers, not the %d and %d of the schema", nNodes, nBuffers, len(columns), want)
	case rows > 1<<40 || none && rows > 0: // no bytes stand behind rows without values
		return 0, fmt.Errorf("claims %d rows, and has values for fewer", rows)
	}
	window := max(512, min(1<<16, (64<<20)/(3*len(columns))))
	left := limit
	for i, c := range columns {
		col := &into[i]
		*col = column{of: c, scratch: col.scratch}
		if n := batch.f.i64(nodes + 16*i); n != rows {
			return 0, fmt.Errorf("has %d rows, and column %q has %d", rows, c.Name, n)
		}
		col.missing = batch.f.i64(nodes+16*i+8) != 0
		for k := range c.kind.buffers() {
			from, length := batch.f.i64(where), batch.f.i64(where+8)
			where += 16
			if from < 0 || length < 0 || from > size || length > size-from {
				return 0, fmt.Errorf("column %q claims bytes %d to %d, and the batch has %d", c.Name, from, from+length, size)
			}
			b := buf{t: t, from: body + from, size: length, window: window}
			if codec != plain && length > 0 {
				if b, err = t.unpack.buffer(b, codec, left); err != nil {
					return 0, fmt.Errorf("column %q %w", c.Name, err)
				}
				left -= int64(len(b.raw))
			}
			col.buffers[k] = b
		}
		if col.missing && col.buffers[0].size == 0 && c.kind != kindNone {
			return 0, fmt.Errorf("column %q claims missing values and does not say which", c.Name)
		}
		if err := col.check(rows); err != nil {
			return 0, fmt.Errorf("column %q %w", c.Name, err)
		}
	}
	return rows, nil
}

// check compares the number of rows with the bytes that are there.
func (c *column) check(rows int64) error {
	need := int64(0)
	switch c.of.kind {
	case kindInt, kindFloat:
		need = rows * int64(c.of.bits/8)
	case kindBool:
		need = (rows + 7) / 8
	case kindText:
		need = 4 * (rows + 1)
	case kindWide:
		need = 8 * (rows + 1)
	}
	if rows == 0 || c.of.kind == kindNone {
		return nil
	}
	if c.buffers[1].size < need || c.missing && c.buffers[0].size < (rows+7)/8 {
		return errShort
	}
	return nil
}

// append appends the text of the value in a row.
func (c *column) append(dst []byte, row int64) ([]byte, error) {
	if c.of.kind == kindNone {
		return dst, nil
	}
	if c.missing {
		there, err := c.buffers[0].bit(row)
		if err != nil || !there {
			return dst, err
		}
	}
	switch c.of.kind {
	case kindBool:
		v, err := c.buffers[1].bit(row)
		return parquet.AppendBool(dst, v), err
	case kindText, kindWide:
		return c.appendText(dst, row)
	}
	size := c.of.bits / 8
	raw, err := c.buffers[1].at(row*int64(size), size)
	if err != nil {
		return dst, err
	}
	if c.of.kind == kindFloat {
		var v [1]float64
		npy.Floats(v[:], raw, size)
		return parquet.AppendFloat(dst, v[0], max(c.of.bits, 32)), nil
	}
	signed, unsigned := npy.Whole(raw, npy.Type{Size: size})
	switch {
	case c.of.words:
		if c.of.signed && signed < 0 || unsigned >= uint64(len(c.words)) {
			return dst, errWord
		}
		return append(dst, c.words[unsigned]...), nil
	case c.of.signed:
		return strconv.AppendInt(dst, signed, 10), nil
	}
	return strconv.AppendUint(dst, unsigned, 10), nil
}

func (c *column) appendText(dst []byte, row int64) ([]byte, error) {
	var from, to int64
	if c.of.kind == kindWide {
		raw, err := c.buffers[1].at(8*row, 16)
		if err != nil {
			return dst, err
		}
		from, to = int64(binary.LittleEndian.Uint64(raw)), int64(binary.LittleEndian.Uint64(raw[8:]))
	} else {
		raw, err := c.buffers[1].at(4*row, 8)
		if err != nil {
			return dst, err
		}
		from, to = int64(int32(binary.LittleEndian.Uint32(raw))), int64(int32(binary.LittleEndian.Uint32(raw[4:])))
	}
	if from < 0 || to < from || to > c.buffers[2].size {
		return dst, errEnds
	}
	if to-from > maxRow {
		return dst, fmt.Errorf("has a text of more than %d bytes", maxRow)
	}
	raw, err := c.buffers[2].at(from, int(to-from))
	return append(dst, raw...), err
}

// readDictionary reads the table DictionaryBatch.
func (t *Table) readDictionary(header node, body, size int64) error {
	id := header.whole(0, 8, 0)
	fail := func(what string) error { return t.failed(fmt.Sprintf("dictionary %d %s", id, what), again, nil) }
	of := Column{kind: kindNone}
	for _, c := range t.columns {
		if c.words && c.dictionary == id {
			of = Column{Name: c.Name, kind: c.wordsKind}
		}
	}
	switch {
	case header.whole(2, 1, 0) != 0:
		return t.failed(fmt.Sprintf("dictionary %d grows from batch to batch", id), "write it with one dictionary: in Python, table.unify_dictionaries()", nil)
	case of.kind == kindNone:
		return fail("is that of no column")
	}
	for _, w := range t.words[id] { // another takes its place
		t.held -= int64(len(w)) + wordBytes
	}
	delete(t.words, id)
	var values [1]column
	rows, err := t.readBatch([]Column{of}, values[:], header.table(1), body, size, MaxLive-t.held)
	if err != nil {
		return fail(err.Error())
	}
	var words []string
	var text []byte
	for row := range rows {
		if text, err = values[0].append(text[:0], row); err != nil {
			return fail(err.Error())
		}
		if t.held += int64(len(text)) + wordBytes; t.held > MaxLive/2 {
			return fail(fmt.Sprintf("has more than %d bytes", MaxLive/2))
		}
		words = append(words, string(text))
	}
	t.words[id] = words
	return nil
}

// wordBytes is what a word takes beside its bytes.
const wordBytes = 16

// buf is a buffer of a batch: in the file, of which a window is held, or unpacked.
type buf struct {
	t          *Table
	from, size int64
	window     int
	raw        []byte
	first      int64 // in the buffer, of raw
}

// at returns n bytes from an offset on, valid until the next call.
func (b *buf) at(at int64, n int) ([]byte, error) {
	if at < 0 || at > b.size-int64(n) {
		return nil, errShort
	}
	if at < b.first || at+int64(n) > b.first+int64(len(b.raw)) {
		length := int(min(b.size-at, int64(max(n, b.window))))
		if cap(b.raw) < length {
			b.raw = make([]byte, length)
		}
		b.raw, b.first = b.raw[:length], at
		if n, err := b.t.r.ReadAt(b.raw, b.from+at); n < length {
			b.raw = b.raw[:0]
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("cannot be read: %w", err)
		}
	}
	return b.raw[at-b.first:][:n], nil
}

func (b *buf) bit(row int64) (bool, error) {
	raw, err := b.at(row/8, 1)
	if err != nil {
		return false, err
	}
	return raw[0]>>(row%8)&1 != 0, nil
}

// missingLength says of an unpacked length that the bytes are as they were.
const missingLength = math.MaxUint64
