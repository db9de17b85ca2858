package parquet

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Values are a column to be written: Ints or Texts, one for each row.
type Values struct {
	Name  string
	Ints  []int64
	Texts []string
	// Missing says of each row whether it has no value; nil if every row has one.
	Missing []bool
}

func (v Values) len() int {
	if v.Texts != nil {
		return len(v.Texts)
	}
	return len(v.Ints)
}

// groupRows is the rows of a row group, and of a page in it.
const groupRows = 1 << 16

// Write writes a table, as plain pages without compression. Equal tables are equal bytes.
func Write(w io.Writer, columns []Values) error {
	if len(columns) == 0 {
		return fmt.Errorf("parquet: a table without columns")
	}
	rows := columns[0].len()
	for _, c := range columns {
		if c.len() != rows || c.Missing != nil && len(c.Missing) != rows {
			return fmt.Errorf("parquet: column %q has %d values of %d rows", c.Name, c.len(), rows)
		}
	}
	out := counted{w: w}
	out.write([]byte(Magic))
	var footer thriftWriter
	footer.whole(1, wireInt32, 2) // version of the format
	footer.list(2, wireStruct, len(columns)+1)
	footer.schema(columns)
	footer.whole(3, wireInt64, int64(rows))
	footer.list(4, wireStruct, (rows+groupRows-1)/groupRows)
	for from := 0; from < rows; from += groupRows {
		footer.push()
		footer.list(1, wireStruct, len(columns))
		to, start := min(rows, from+groupRows), out.n
		for _, c := range columns {
			footer.chunk(&out, c, from, to)
		}
		footer.whole(2, wireInt64, out.n-start)
		footer.whole(3, wireInt64, int64(to-from))
		footer.pop()
	}
	footer.bytes(6, "pate")
	footer.stop()
	out.write(footer.buf)
	out.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer.buf))))
	out.write([]byte(Magic))
	return out.err
}

// counted counts what is written and keeps the first error.
type counted struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counted) write(raw []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(raw)
		c.n += int64(len(raw))
	}
}

// schema writes the elements of the schema, of which the first is the root.
func (t *thriftWriter) schema(columns []Values) {
	t.push()
	t.bytes(4, "schema")
	t.whole(5, wireInt32, int64(len(columns)))
	t.pop()
	for _, c := range columns {
		t.push()
		t.whole(1, wireInt32, c.physical())
		repetition := int64(0)
		if c.Missing != nil {
			repetition = 1
		}
		t.whole(3, wireInt32, repetition)
		t.bytes(4, c.Name)
		if c.Texts != nil {
			t.whole(6, wireInt32, convertedUTF8)
			t.field(10, wireStruct)
			t.push()
			t.field(logicalString, wireStruct)
			t.push()
			t.pop()
			t.pop()
		}
		t.pop()
	}
}

func (v Values) physical() int64 {
	if v.Texts != nil {
		return physBytes
	}
	return physInt64
}

// chunk writes the page of a column in a row group to out, and to the footer where it is.
func (t *thriftWriter) chunk(out *counted, c Values, from, to int) {
	body := c.page(from, to)
	var head thriftWriter
	head.whole(1, wireInt32, pageData)
	head.whole(2, wireInt32, int64(len(body)))
	head.whole(3, wireInt32, int64(len(body)))
	head.field(5, wireStruct)
	head.push()
	head.whole(1, wireInt32, int64(to-from))
	head.whole(2, wireInt32, encPlain)
	head.whole(3, wireInt32, encRLE)
	head.whole(4, wireInt32, encRLE)
	head.pop()
	head.stop()
	start := out.n
	out.write(head.buf)
	out.write(body)

	t.push()
	t.whole(2, wireInt64, start)
	t.field(3, wireStruct)
	t.push()
	t.whole(1, wireInt32, c.physical())
	t.list(2, wireInt32, 2)
	t.element(encPlain)
	t.element(encRLE)
	t.list(3, wireBytes, 1)
	t.text(c.Name)
	t.whole(4, wireInt32, codecPlain)
	t.whole(5, wireInt64, int64(to-from))
	t.whole(6, wireInt64, out.n-start)
	t.whole(7, wireInt64, out.n-start)
	t.whole(9, wireInt64, start)
	t.pop()
	t.pop()
}

// page returns the body of a page: which values are there, and then those.
func (v Values) page(from, to int) []byte {
	le := binary.LittleEndian
	var body []byte
	if v.Missing != nil {
		bits := make([]byte, (to-from+7)/8)
		for i := from; i < to; i++ {
			if !v.Missing[i] {
				bits[(i-from)/8] |= 1 << ((i - from) % 8)
			}
		}
		run := append(binary.AppendUvarint(nil, uint64(len(bits))<<1|1), bits...)
		body = append(le.AppendUint32(nil, uint32(len(run))), run...)
	}
	for i := from; i < to; i++ {
		switch {
		case v.Missing != nil && v.Missing[i]:
		case v.Texts != nil:
			body = append(le.AppendUint32(body, uint32(len(v.Texts[i]))), v.Texts[i]...)
		default:
			body = le.AppendUint64(body, uint64(v.Ints[i]))
		}
	}
	return body
}

// thriftWriter writes structures of Thrift's compact protocol. It begins inside of one.
type thriftWriter struct {
	buf  []byte
	last int64
	open []int64 // the last field of each structure around
}

func (t *thriftWriter) field(id int64, wire byte) {
	t.buf = append(t.buf, byte(id-t.last)<<4|wire) // ids ascend by less than 16
	t.last = id
}

func (t *thriftWriter) whole(id int64, wire byte, v int64) {
	t.field(id, wire)
	t.element(v)
}

// element writes an integer of a list.
func (t *thriftWriter) element(v int64) {
	t.buf = binary.AppendUvarint(t.buf, uint64(v)<<1^uint64(v>>63))
}

func (t *thriftWriter) bytes(id int64, text string) {
	t.field(id, wireBytes)
	t.text(text)
}

// text writes a text of a list.
func (t *thriftWriter) text(text string) {
	t.buf = append(binary.AppendUvarint(t.buf, uint64(len(text))), text...)
}

func (t *thriftWriter) list(id int64, wire byte, n int) {
	t.field(id, wireList)
	if n < 15 {
		t.buf = append(t.buf, byte(n)<<4|wire)
		return
	}
	t.buf = binary.AppendUvarint(append(t.buf, 0xf0|wire), uint64(n))
}

// push begins a structure, as a field or an element of a list.
func (t *thriftWriter) push() {
	t.open = append(t.open, t.last)
	t.last = 0
}

func (t *thriftWriter) pop() {
	t.stop()
	t.last = t.open[len(t.open)-1]
	t.open = t.open[:len(t.open)-1]
}

func (t *thriftWriter) stop() { t.buf = append(t.buf, 0) }
