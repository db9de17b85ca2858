package votes

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// npyType is the type of the elements of an NPY file.
type npyType struct {
	kind byte // 'i', 'u', 'f' or 'b', as NumPy names them
	size int  // bytes
	big  bool // big-endian
}

// npyTypeOf reads a type such as "<i2".
func npyTypeOf(descr string) (t npyType, ok bool) {
	order := byte('|')
	if len(descr) == 3 {
		order, descr = descr[0], descr[1:]
	}
	if len(descr) != 2 {
		return t, false
	}
	t = npyType{kind: descr[0], size: int(descr[1] - '0'), big: order == '>'}
	if order != '<' && order != '>' && !(t.size == 1 && (order == '|' || order == '=')) {
		return t, false
	}
	switch t.kind {
	case 'i', 'u':
		ok = t.size == 1 || t.size == 2 || t.size == 4 || t.size == 8
	case 'f':
		ok = t.size == 2 || t.size == 4 || t.size == 8
	case 'b':
		ok = t.size == 1
	}
	return t, ok
}

// fillNPY reads the next len(dst) elements of a cursor.
func fillNPY[C cell](r *reader, cur *cursor, dst []C, dom domain) (bad int, err error) {
	size := cur.npy.size
	for len(dst) > 0 {
		n := min(len(dst), bufferBytes/size)
		raw, err := r.at(cur.in, cur.offset, n*size)
		if err != nil {
			return bad, err
		}
		if len(raw) < n*size {
			return bad, changed(cur.in.name, errChanged)
		}
		bad += decode(dst[:n], raw, *cur.npy, dom)
		dst = dst[n:]
		cur.offset += int64(n * size)
	}
	return bad, nil
}

// decode turns elements into cells and counts those that are no votes. It may
// change raw.
func decode[C cell](dst []C, raw []byte, t npyType, dom domain) (bad int) {
	if bytes, ok := any(dst).([]byte); ok && t.size == 1 && t.kind != 'b' {
		copy(bytes, raw)
		if t.kind == 'i' && allWithin(raw, 1, dom.limit) || t.kind == 'u' && allWithin(raw, 0, dom.limit-1) {
			return 0
		}
	}
	if t.big {
		swapBytes(raw, t.size)
	}
	const chunk = 512
	var whole [chunk]int64
	var floats [chunk]float64
	for len(dst) > 0 {
		n := min(len(dst), chunk)
		if t.kind == 'f' {
			readFloats(floats[:n], raw, t.size)
			for i, v := range floats[:n] {
				c := dom.float(v)
				if c < dom.low {
					bad++
				}
				dst[i] = C(c)
			}
		} else {
			readWhole(whole[:n], raw, t)
			for i, v := range whole[:n] {
				if v < int64(dom.low) || v >= int64(dom.limit) {
					v = badRange
					bad++
				}
				dst[i] = C(v)
			}
		}
		dst, raw = dst[n:], raw[n*t.size:]
	}
	return bad
}

// allWithin says whether every byte b has b+add, modulo 256, in [0, limit];
// limit is below 128. It takes eight bytes at a time: the sum of bytes side by
// side does not carry when the top bits are kept apart.
func allWithin(raw []byte, add, limit int) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	plus, slack := ones*uint64(add), ones*uint64(127-limit)
	var out uint64
	for len(raw) >= 8 {
		x := binary.LittleEndian.Uint64(raw)
		y := (x&^tops + plus) ^ x&tops
		// Where the top bit of y is clear, y+slack has it set if y > limit.
		out |= y | (y&^tops + slack)
		raw = raw[8:]
	}
	for _, b := range raw {
		y := b + byte(add)
		out |= uint64(y | (y&0x7f + byte(127-limit)))
	}
	return out&tops == 0
}

// readWhole reads booleans and integers, little-endian. Numbers beyond int64
// become the largest, and bytes that are no boolean too.
func readWhole(dst []int64, raw []byte, t npyType) {
	le := binary.LittleEndian
	switch {
	case t.kind == 'b':
		for i := range dst {
			if dst[i] = int64(raw[i]); raw[i] > 1 {
				dst[i] = math.MaxInt64
			}
		}
	case t.size == 1 && t.kind == 'i':
		for i := range dst {
			dst[i] = int64(int8(raw[i]))
		}
	case t.size == 1:
		for i := range dst {
			dst[i] = int64(raw[i])
		}
	case t.size == 2 && t.kind == 'i':
		for i := range dst {
			dst[i] = int64(int16(le.Uint16(raw[2*i:])))
		}
	case t.size == 2:
		for i := range dst {
			dst[i] = int64(le.Uint16(raw[2*i:]))
		}
	case t.size == 4 && t.kind == 'i':
		for i := range dst {
			dst[i] = int64(int32(le.Uint32(raw[4*i:])))
		}
	case t.size == 4:
		for i := range dst {
			dst[i] = int64(le.Uint32(raw[4*i:]))
		}
	case t.kind == 'i':
		for i := range dst {
			dst[i] = int64(le.Uint64(raw[8*i:]))
		}
	default:
		for i := range dst {
			dst[i] = int64(min(le.Uint64(raw[8*i:]), math.MaxInt64))
		}
	}
}

// readFloats reads floating-point numbers, little-endian.
func readFloats(dst []float64, raw []byte, size int) {
	le := binary.LittleEndian
	switch size {
	case 2:
		for i := range dst {
			dst[i] = halfFloat(le.Uint16(raw[2*i:]))
		}
	case 4:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(le.Uint32(raw[4*i:])))
		}
	default:
		for i := range dst {
			dst[i] = math.Float64frombits(le.Uint64(raw[8*i:]))
		}
	}
}

// float is the cell for a floating-point number.
func (d domain) float(v float64) int {
	if v >= float64(d.low) && v < float64(d.limit) {
		if whole := int(v); float64(whole) == v {
			return whole
		}
		return badNumber
	}
	switch {
	case v != v:
		return badNaN
	case math.IsInf(v, 0) || math.Trunc(v) != v:
		return badNumber
	}
	return badRange
}

// swapBytes turns big-endian elements into little-endian ones.
func swapBytes(raw []byte, size int) {
	le := binary.LittleEndian
	switch size {
	case 2:
		for ; len(raw) >= 2; raw = raw[2:] {
			le.PutUint16(raw, bits.ReverseBytes16(le.Uint16(raw)))
		}
	case 4:
		for ; len(raw) >= 4; raw = raw[4:] {
			le.PutUint32(raw, bits.ReverseBytes32(le.Uint32(raw)))
		}
	case 8:
		for ; len(raw) >= 8; raw = raw[8:] {
			le.PutUint64(raw, bits.ReverseBytes64(le.Uint64(raw)))
		}
	}
}

// halfFloat is the number that 16 bits stand for by IEEE 754.
func halfFloat(b uint16) float64 {
	exp, frac := int(b>>10&0x1f), float64(b&0x3ff)
	var v float64
	switch {
	case exp == 0x1f && frac != 0:
		return math.NaN()
	case exp == 0x1f:
		v = math.Inf(1)
	case exp == 0:
		v = math.Ldexp(frac, -24)
	default:
		v = math.Ldexp(frac+1024, exp-25)
	}
	if b&0x8000 != 0 {
		v = -v
	}
	return v
}
