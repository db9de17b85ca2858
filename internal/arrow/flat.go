package arrow

import "encoding/binary"

// flat is FlatBuffers metadata. What lies outside its bytes reads as absent, and is
// remembered as damage.
type flat struct {
	buf     []byte
	damaged bool
}

// node is a FlatBuffers table: where it is, and where its fields are listed.
type node struct {
	f      *flat
	at     int // 0: there is none
	fields int
	size   int // bytes of the list
}

func (f *flat) bytes(at, n int) []byte {
	if at < 0 || n < 0 || at > len(f.buf)-n {
		f.damaged = true
		return nil
	}
	return f.buf[at : at+n]
}

func (f *flat) u16(at int) int {
	b := f.bytes(at, 2)
	if b == nil {
		return 0
	}
	return int(binary.LittleEndian.Uint16(b))
}

func (f *flat) i32(at int) int {
	b := f.bytes(at, 4)
	if b == nil {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(b)))
}

func (f *flat) i64(at int) int64 {
	b := f.bytes(at, 8)
	if b == nil {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// root returns the table that the metadata are.
func (f *flat) root() node { return f.table(f.i32(0)) }

func (f *flat) table(at int) node {
	list := at - f.i32(at)
	n := node{f: f, at: at, fields: list, size: f.u16(list)}
	f.bytes(list, n.size)
	if f.damaged || at == 0 {
		return node{f: f}
	}
	return n
}

// field returns where a field is, 0 if it is absent.
func (n node) field(k int) int {
	if n.at == 0 || 4+2*k+2 > n.size {
		return 0
	}
	if offset := n.f.u16(n.fields + 4 + 2*k); offset != 0 {
		return n.at + offset
	}
	return 0
}

// whole returns an integer of 1, 2, 4 or 8 bytes, or what it is if it is absent.
func (n node) whole(k, size int, absent int64) int64 {
	at := n.field(k)
	if at == 0 {
		return absent
	}
	switch size {
	case 1:
		if b := n.f.bytes(at, 1); b != nil {
			return int64(b[0])
		}
		return 0
	case 2:
		return int64(int16(n.f.u16(at)))
	case 4:
		return int64(n.f.i32(at))
	}
	return n.f.i64(at)
}

// table returns a field that is a table.
func (n node) table(k int) node {
	at := n.field(k)
	if at == 0 {
		return node{f: n.f}
	}
	return n.f.table(at + n.f.i32(at))
}

// vector returns where the elements of a field are, and how many; each has size bytes.
func (n node) vector(k, size int) (at, length int) {
	at = n.field(k)
	if at == 0 {
		return 0, 0
	}
	at += n.f.i32(at)
	length = n.f.i32(at)
	if length < 0 || length > len(n.f.buf)/size || n.f.bytes(at+4, length*size) == nil {
		n.f.damaged = true
		return 0, 0
	}
	return at + 4, length
}

func (n node) text(k int) string {
	at, length := n.vector(k, 1)
	if length == 0 {
		return ""
	}
	return string(n.f.bytes(at, length))
}
