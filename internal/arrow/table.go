package arrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/pate-go/pate/internal/fault"
)

// Error says what is wrong with a file.
type Error = fault.Error[origin]

type origin struct{}

func (origin) Package() string { return "arrow" }

// How Arrow begins.
const (
	FileMagic   = "ARROW1\x00\x00"
	StreamMagic = "\xff\xff\xff\xff" // before the length of each message
)

const (
	maxMessage = 16 << 20 // metadata
	// MaxLive bounds what is unpacked at a time: a batch, and all dictionaries.
	MaxLive = 512 << 20
	again   = "write the file again"
)

// Table is an open file or stream. It is read once, from its first row to its last.
type Table struct {
	r       io.ReaderAt
	name    string
	next    int64 // where the next message begins
	end     int64 // of the messages
	columns []Column
	words   map[int64][]string // dictionaries
	held    int64              // bytes of their words
	unpack  unpacker

	batch int   // record batches that were begun
	left  int64 // rows of the last
	row   int64 // the next in it
	cols  []column
	text  []byte
	ends  []int
	cells []string
	done  bool
}

// failed is an error about the file as a whole.
func (t *Table) failed(what, fix string, err error) *Error {
	return &Error{File: t.name, What: what, Fix: fix, Err: err}
}

// column is an error about a column of the schema.
func (t *Table) column(c Column, what, fix string) *Error {
	return &Error{File: t.name, What: fmt.Sprintf("column %q %s", c.Name, what), Why: "texts, integers, floats and truth values are read", Fix: fix}
}

// inBatch is an error about the record batch that was begun last, counted from 0.
func (t *Table) inBatch(what string, err error) *Error {
	return t.failed(fmt.Sprintf("record batch %d %s", t.batch-1, what), again, err)
}

// Open reads the schema of a file or stream; name is for messages.
func Open(r io.ReaderAt, size int64, name string) (*Table, error) {
	t := &Table{r: r, name: name, end: size, words: map[int64][]string{}}
	head := make([]byte, min(size, int64(len(FileMagic))))
	if err := t.read(head, 0); err != nil {
		return nil, err
	}
	if bytes.Equal(head, []byte(FileMagic)) {
		tail := make([]byte, 10) // length of the footer, and the magic without its padding
		if size < int64(len(FileMagic)+len(tail)) {
			return nil, t.failed("is too short to be an Arrow file", again, nil)
		}
		if err := t.read(tail, size-10); err != nil {
			return nil, err
		}
		if string(tail[4:]) != FileMagic[:6] {
			return nil, t.failed("begins as an Arrow file and does not end so: it was cut off", again, nil)
		}
		footer := int64(int32(binary.LittleEndian.Uint32(tail)))
		if footer < 0 || footer > size-10-int64(len(FileMagic)) {
			return nil, t.failed(fmt.Sprintf("claims a footer of %d bytes and has %d in all", footer, size), again, nil)
		}
		t.next, t.end = int64(len(FileMagic)), size-10-footer
	}
	which, header, _, _, err := t.message()
	if err != nil {
		return nil, err
	}
	if which != headerSchema {
		return nil, t.failed("does not begin with a schema", again, nil)
	}
	if err := t.readSchema(header); err != nil {
		return nil, err
	}
	t.cols, t.ends, t.cells = make([]column, len(t.columns)), make([]int, len(t.columns)), make([]string, len(t.columns))
	return t, nil
}

// Columns returns the columns in the order of the file.
func (t *Table) Columns() []Column { return t.columns }

// read fills p from an offset.
func (t *Table) read(p []byte, at int64) error {
	if n, err := t.r.ReadAt(p, at); n < len(p) {
		return t.failed("cannot be read", again, err)
	}
	return nil
}

// Kinds of messages, as the union MessageHeader numbers them.
const (
	headerEnd        = 0
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)

// message reads the metadata of the next message. Its body is size bytes from an offset on.
func (t *Table) message() (which int64, header node, body, size int64, err error) {
	cut := func(err error) error { return t.failed("has no mark of its end: it was cut off", again, err) }
	var start [8]byte
	if t.end-t.next < int64(len(start)) {
		return 0, node{}, 0, 0, cut(nil)
	}
	if err := t.read(start[:], t.next); err != nil {
		return 0, node{}, 0, 0, err
	}
	if string(start[:4]) != StreamMagic {
		return 0, node{}, 0, 0, t.failed("holds what is no message, or was written before Arrow 0.15", again, nil)
	}
	length := int64(int32(binary.LittleEndian.Uint32(start[4:])))
	t.next += int64(len(start))
	switch {
	case length == 0:
		return headerEnd, node{}, 0, 0, nil
	case length < 0 || length > maxMessage:
		return 0, node{}, 0, 0, t.failed(fmt.Sprintf("has a message of %d bytes, at most %d are read", length, maxMessage), again, nil)
	case length > t.end-t.next:
		return 0, node{}, 0, 0, cut(nil)
	}
	f := &flat{buf: make([]byte, length)}
	if err := t.read(f.buf, t.next); err != nil {
		return 0, node{}, 0, 0, err
	}
	message := f.root()
	which, header, size = message.whole(1, 1, 0), message.table(2), message.whole(3, 8, 0)
	body = t.next + length
	if f.damaged || header.at == 0 {
		return 0, node{}, 0, 0, t.failed("has a damaged message", again, nil)
	}
	if size < 0 || size > t.end-body {
		return 0, node{}, 0, 0, t.failed(fmt.Sprintf("claims a batch of %d bytes behind record batch %d, and ends before", size, t.batch-1), again, nil)
	}
	t.next = body + size
	return which, header, body, size, nil
}

// Next returns the cells of the next row, or io.EOF and none. They are valid until the next
// call, and the texts in them for good.
func (t *Table) Next() ([]string, error) {
	for t.row == t.left {
		if t.done {
			return nil, io.EOF
		}
		if err := t.nextBatch(); err != nil {
			return nil, err
		}
	}
	t.text = t.text[:0]
	for i := range t.cols {
		var err error
		if t.text, err = t.cols[i].append(t.text, t.row); err != nil {
			return nil, t.inBatch(fmt.Sprintf("column %q %v", t.columns[i].Name, err), nil)
		}
		if len(t.text) > maxRow {
			return nil, t.inBatch(fmt.Sprintf("column %q ends a row of more than %d bytes", t.columns[i].Name, maxRow), nil)
		}
		t.ends[i] = len(t.text)
	}
	t.row++
	all, from := string(t.text), 0
	for i, end := range t.ends {
		t.cells[i], from = all[from:end], end
	}
	return t.cells, nil
}

// maxRow bounds the bytes of a row, as of a line of CSV.
const maxRow = 1 << 20

// nextBatch goes to the next record batch, over dictionaries, or to the end.
func (t *Table) nextBatch() error {
	which, header, body, size, err := t.message()
	if err != nil {
		return err
	}
	switch which {
	case headerEnd:
		t.done = true
		return nil
	case headerDictionary:
		return t.readDictionary(header, body, size)
	case headerBatch:
		t.batch++
		t.row, t.left = 0, 0
		rows, err := t.readBatch(t.columns, t.cols, header, body, size, MaxLive-t.held)
		if err != nil {
			return t.inBatch(err.Error(), nil)
		}
		for i, c := range t.columns {
			if !c.words {
				continue
			}
			words, there := t.words[c.dictionary]
			if !there && rows > 0 {
				return t.inBatch(fmt.Sprintf("column %q has no dictionary", c.Name), nil)
			}
			t.cols[i].words = words
		}
		t.left = rows
		return nil
	}
	return t.failed("holds a message that is no table", "save tables, not tensors", nil)
}
