package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Values is a column to write. Either Ints or Texts has one element per row.
type Values struct {
	Name  string
	Ints  []int64
	Texts []string
	// Missing is true for each row without a value, or nil if every row has a value.
	Missing []bool
}

func (v Values) len() int {
	if v.Texts != nil {
		return len(v.Texts)
	}
	return len(v.Ints)
}

func (v Values) physical() int32 {
	if v.Texts != nil {
		return int32(format.ByteArray)
	}
	return int32(format.Int64)
}

func (v Values) element() element {
	physical, repetition, utf8 := v.physical(), int32(format.Required), int32(0)
	if v.Missing != nil {
		repetition = int32(format.Optional)
	}
	e := element{Physical: &physical, Repetition: &repetition, Name: v.Name}
	if v.Texts != nil {
		e.Converted, e.Logical = &utf8, &logical{String: &empty{}}
	}
	return e
}

const groupRows = 1 << 16

// Write writes a table in plain encoding without compression. Equal tables give equal bytes.
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
	footer := fileMetaData[writtenData]{Version: 2, Rows: int64(rows), CreatedBy: "pate", Groups: []rowGroup[writtenData]{},
		Schema: []element{{Name: "schema", Children: int32(len(columns))}}}
	for _, c := range columns {
		footer.Schema = append(footer.Schema, c.element())
	}
	for from := 0; from < rows; from += groupRows {
		to, start := min(rows, from+groupRows), out.n
		g := rowGroup[writtenData]{Rows: int64(to - from)}
		for _, c := range columns {
			chunk, err := out.chunk(c, from, to)
			if err != nil {
				return err
			}
			g.Chunks = append(g.Chunks, chunk)
		}
		g.Bytes = out.n - start
		footer.Groups = append(footer.Groups, g)
	}
	raw, err := encode(footer)
	if err != nil {
		return err
	}
	out.write(binary.LittleEndian.AppendUint32(raw, uint32(len(raw))))
	out.write([]byte(Magic))
	return out.err
}

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

func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	err := thrift.NewEncoder(new(thrift.CompactProtocol).NewWriter(&out)).Encode(v)
	return out.Bytes(), err
}

func (c *counted) chunk(v Values, from, to int) (columnChunk[writtenData], error) {
	body := v.page(from, to)
	size, n, rle := int32(len(body)), int32(to-from), int32(format.RLE)
	page := pageV1{Values: n, Encoding: int32(format.Plain), Definitions: rle, Repetitions: rle}
	head, err := encode(pageHead{Type: int32(format.DataPage), Full: size, Packed: size, Data: &page})
	start := c.n
	c.write(head)
	c.write(body)
	return columnChunk[writtenData]{Offset: start, Data: &writtenData{
		Physical: v.physical(), Encodings: []int32{page.Encoding, rle}, Path: []string{v.Name},
		Values: int64(n), Unpacked: c.n - start, Packed: c.n - start, Page: start,
	}}, err
}

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
