package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/pate-go/pate/fault"
)

const (
	maxColumns = 1 << 16 // including nested columns and their parents
	// maxParts bounds the number of parts: row groups plus their columns. Without a bound, a forged footer
	// could list a part in each byte.
	maxParts = maxFooter / 32
	maxDepth = 24 // of nested structures
)

var (
	errShort   = errors.New("the footer ends early")
	errForeign = errors.New("the footer has an unknown structure")
)

// reader limits what the Thrift library reads: the nesting, the list lengths, and the numbers of columns and
// row groups.
type reader struct {
	wire
	size  int
	open  []frame
	parts int // number of row groups plus number of their columns
	err   error
}

type wire = thrift.Reader

type frame struct {
	field int16 // number of the current field
	more  int32 // remaining structures of a list, including the current one
}

// decode returns the length of the Thrift structure at the start of raw. Fields of v may share memory with
// raw.
func decode(raw []byte, v any) (used int, err error) {
	defer func() {
		if recover() != nil {
			err = errForeign
		}
	}()
	r := &reader{wire: new(thrift.CompactProtocol).NewReaderFromBytes(raw), size: len(raw), open: []frame{{more: 1}}}
	err = thrift.NewDecoder(r).Decode(v)
	switch {
	case r.err != nil:
		err = r.err
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		err = errShort
	case err != nil:
		err = errForeign
	}
	return r.BytesRead(), err
}

func (r *reader) fail(err error) error {
	r.err = err
	return err
}

func (r *reader) begin(n int32) error {
	if len(r.open) == maxDepth {
		return r.fail(errForeign)
	}
	r.open = append(r.open, frame{more: n})
	return nil
}

func (r *reader) ReadField() (thrift.Field, error) {
	f, err := r.wire.ReadField()
	if err != nil {
		return f, err
	}
	top := &r.open[len(r.open)-1]
	switch {
	case f.Type == thrift.STOP:
		top.field = 0
		if top.more--; top.more == 0 {
			r.open = r.open[:len(r.open)-1]
		}
		return f, nil
	case f.Delta:
		top.field += f.ID
	default:
		top.field = f.ID
	}
	if f.Type == thrift.STRUCT {
		err = r.begin(1)
	}
	return f, err
}

func (r *reader) ReadList() (thrift.List, error) {
	l, err := r.wire.ReadList()
	if err != nil {
		return l, err
	}
	in := r.open[0].field // field of the footer: 2 is the schema, 4 are the row groups
	switch {
	case int(l.Size) > r.size-r.BytesRead():
		return l, r.fail(errShort)
	case len(r.open) == 1 && in == 2 && l.Size > maxColumns+1:
		return l, r.fail(&fault.Error{What: fmt.Sprintf("has more than %d columns", maxColumns),
			Fix: "if all values are numbers, save an NPY file"})
	case len(r.open) == 1 && in == 4, len(r.open) == 2 && in == 4 && r.open[1].field == 1:
		if r.parts += int(l.Size); r.parts > maxParts {
			return l, r.fail(&fault.Error{What: fmt.Sprintf("has more than %d row groups and columns of row groups", maxParts),
				Fix: "write larger row groups"})
		}
	}
	switch l.Type {
	case thrift.STRUCT:
		if l.Size > 0 {
			err = r.begin(l.Size)
		}
	case thrift.LIST, thrift.SET, thrift.MAP:
		err = r.fail(errForeign)
	}
	return l, err
}

func (r *reader) ReadSet() (thrift.Set, error) {
	l, err := r.ReadList()
	return thrift.Set(l), err
}

func (r *reader) ReadMap() (thrift.Map, error) { return thrift.Map{}, r.fail(errForeign) }

func (r *reader) Discard(n int) (int, error) {
	return r.wire.(interface{ Discard(int) (int, error) }).Discard(n)
}

type (
	fileMetaData[Data any] struct {
		Version   int32            `thrift:"1"`
		Schema    []element        `thrift:"2"`
		Rows      int64            `thrift:"3,writezero"`
		Groups    []rowGroup[Data] `thrift:"4,required"`
		CreatedBy string           `thrift:"6"`
	}

	element struct {
		Physical   *int32   `thrift:"1"` // nil if it has children
		Repetition *int32   `thrift:"3"`
		Name       string   `thrift:"4"`
		Children   int32    `thrift:"5"`
		Converted  *int32   `thrift:"6"` // older form of Logical
		Logical    *logical `thrift:"10"`
	}
	empty   struct{}
	logical struct { // at most one field is set
		String  *empty `thrift:"1"`
		Enum    *empty `thrift:"4"`
		Decimal *empty `thrift:"5"`
		Date    *empty `thrift:"6"`
		Time    *empty `thrift:"7"`
		Stamp   *empty `thrift:"8"`
		Integer *struct {
			Signed *bool `thrift:"2"`
		} `thrift:"10"`
		Null *empty `thrift:"11"`
		JSON *empty `thrift:"12"`
		UUID *empty `thrift:"14"`
		Half *empty `thrift:"15"`
	}

	rowGroup[Data any] struct {
		Chunks []columnChunk[Data] `thrift:"1"`
		Bytes  int64               `thrift:"2"`
		Rows   int64               `thrift:"3,required"`
	}
	columnChunk[Data any] struct {
		ElsewhereIn *string `thrift:"1"`
		Offset      int64   `thrift:"2"`
		Data        *Data   `thrift:"3"`
		Encrypted   *empty  `thrift:"8"`
	}
	chunkData struct {
		Codec      int32 `thrift:"4,required"`
		Values     int64 `thrift:"5,required"`
		Packed     int64 `thrift:"7,required"`
		Page       int64 `thrift:"9,required"`
		Dictionary int64 `thrift:"11"`
	}
	writtenData struct {
		Physical  int32    `thrift:"1"`
		Encodings []int32  `thrift:"2"`
		Path      []string `thrift:"3"`
		Codec     int32    `thrift:"4,required"`
		Values    int64    `thrift:"5"`
		Unpacked  int64    `thrift:"6"`
		Packed    int64    `thrift:"7"`
		Page      int64    `thrift:"9"`
	}

	pageHead struct {
		Type       int32   `thrift:"1,required"`
		Full       int32   `thrift:"2,required"`
		Packed     int32   `thrift:"3,required"`
		CRC        *int32  `thrift:"4"`
		Data       *pageV1 `thrift:"5"`
		Dictionary *pageV1 `thrift:"7"`
		DataV2     *pageV2 `thrift:"8"`
	}
	pageV1 struct {
		Values      int32 `thrift:"1,required"`
		Encoding    int32 `thrift:"2,required"`
		Definitions int32 `thrift:"3"`
		Repetitions int32 `thrift:"4"`
	}
	pageV2 struct {
		Values     int32 `thrift:"1,required"`
		Encoding   int32 `thrift:"4,required"`
		LevelBytes int32 `thrift:"5"`
		Repeats    int32 `thrift:"6"`
		Compressed *bool `thrift:"7"`
	}
)
