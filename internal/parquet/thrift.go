package parquet

import (
	"encoding/binary"
	"errors"
)

// Types of Thrift's compact protocol.
const (
	wireTrue = 1 + iota
	wireFalse
	wireByte
	wireInt16
	wireInt32
	wireInt64
	wireDouble
	wireBytes
	wireList
	wireSet
	wireMap
	wireStruct
)

// maxDepth bounds how deep structures lie in each other.
const maxDepth = 24

var (
	errShort   = errors.New("it ends in the middle")
	errForeign = errors.New("it is not what the format has there")
)

// thrift reads structures of Thrift's compact protocol. The first error stays, and
// everything after it is zero.
type thrift struct {
	buf   []byte
	err   error
	depth int
}

func (t *thrift) fail(err error) {
	if t.err == nil {
		t.err = err
	}
	t.buf = nil
}

func (t *thrift) byte() byte {
	if len(t.buf) == 0 {
		t.fail(errShort)
		return 0
	}
	b := t.buf[0]
	t.buf = t.buf[1:]
	return b
}

func (t *thrift) uvarint() uint64 {
	v, n := binary.Uvarint(t.buf)
	switch {
	case n == 0:
		t.fail(errShort)
		return 0
	case n < 0:
		t.fail(errForeign)
		return 0
	}
	t.buf = t.buf[n:]
	return v
}

// whole reads an integer of a wire type.
func (t *thrift) whole(wire byte) int64 {
	switch wire {
	case wireByte:
		return int64(int8(t.byte()))
	case wireInt16, wireInt32, wireInt64:
		return unzigzag(t.uvarint())
	}
	t.fail(errForeign)
	return 0
}

func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

func (t *thrift) bytes(wire byte) []byte {
	if wire != wireBytes {
		t.fail(errForeign)
		return nil
	}
	n := t.uvarint()
	if n > uint64(len(t.buf)) {
		t.fail(errShort)
		return nil
	}
	b := t.buf[:n]
	t.buf = t.buf[n:]
	return b
}

// fields visits the fields of a structure. Visit reads the value, or else skips it.
func (t *thrift) fields(wire byte, visit func(id int64, wire byte)) {
	if wire != wireStruct {
		t.fail(errForeign)
		return
	}
	if t.depth++; t.depth > maxDepth {
		t.fail(errForeign)
		return
	}
	defer func() { t.depth-- }()
	var id int64
	for t.err == nil {
		head := t.byte()
		if head == 0 {
			return
		}
		if delta := int64(head >> 4); delta != 0 {
			id += delta
		} else {
			id = unzigzag(t.uvarint())
		}
		visit(id, head&15)
	}
}

// list visits the elements of a list. Each takes at least one byte, so that a list is never
// longer than what is left.
func (t *thrift) list(wire byte, visit func(wire byte)) {
	if wire != wireList && wire != wireSet {
		t.fail(errForeign)
		return
	}
	if t.depth++; t.depth > maxDepth {
		t.fail(errForeign)
		return
	}
	defer func() { t.depth-- }()
	head := t.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = t.uvarint()
	}
	if n > uint64(len(t.buf)) {
		t.fail(errShort)
		return
	}
	for ; n > 0 && t.err == nil; n-- {
		visit(head & 15)
	}
}

// skip passes over a value of a field.
func (t *thrift) skip(wire byte) {
	switch wire {
	case wireTrue, wireFalse: // the value is the type
	case wireByte, wireInt16, wireInt32, wireInt64:
		t.whole(wire)
	case wireDouble:
		if len(t.buf) < 8 {
			t.fail(errShort)
			return
		}
		t.buf = t.buf[8:]
	case wireBytes:
		t.bytes(wire)
	case wireList, wireSet:
		t.list(wire, t.skipElement)
	case wireMap:
		t.skipMap()
	case wireStruct:
		t.fields(wire, func(_ int64, wire byte) { t.skip(wire) })
	default:
		t.fail(errForeign)
	}
}

// skipElement passes over an element of a list, where truth values take a byte.
func (t *thrift) skipElement(wire byte) {
	if wire == wireTrue || wire == wireFalse {
		t.byte()
		return
	}
	t.skip(wire)
}

func (t *thrift) skipMap() {
	if t.depth++; t.depth > maxDepth {
		t.fail(errForeign)
		return
	}
	defer func() { t.depth-- }()
	n := t.uvarint()
	if n == 0 {
		return
	}
	types := t.byte()
	if n > uint64(len(t.buf)) {
		t.fail(errShort)
		return
	}
	for ; n > 0 && t.err == nil; n-- {
		t.skipElement(types >> 4)
		t.skipElement(types & 15)
	}
}
