package teachers

import (
	"encoding/binary"
	"math"
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

// fillNPY reads the next len(dst) elements of a lane.
func fillNPY[C cell](d *desk, ln *lane, dst []C, dom domain) (bad int, err error) {
	size := ln.npy.size
	for len(dst) > 0 {
		n := min(len(dst), deskBytes/size)
		raw, err := d.at(ln.in, ln.offset, n*size)
		if err != nil {
			return bad, err
		}
		if len(raw) < n*size {
			return bad, changed(ln.in.name, errChanged)
		}
		bad += decode(dst[:n], raw, *ln.npy, dom)
		dst = dst[n:]
		ln.offset += int64(n * size)
	}
	return bad, nil
}

// decode turns elements into cells and counts those that are no votes. It may
// change raw.
func decode[C cell](dst []C, raw []byte, t npyType, dom domain) (bad int) {
	if t.big {
		swapBytes(raw, t.size)
	}
	le := binary.LittleEndian
	switch {
	case t.kind == 'f':
		for i := range dst {
			var v float64
			switch t.size {
			case 2:
				v = halfFloat(le.Uint16(raw[2*i:]))
			case 4:
				v = float64(math.Float32frombits(le.Uint32(raw[4*i:])))
			default:
				v = math.Float64frombits(le.Uint64(raw[8*i:]))
			}
			dst[i] = C(dom.float(v))
			if int(dst[i]) < dom.low {
				bad++
			}
		}
	case t.size == 1 && t.kind == 'i':
		return decodeInt8(dst, raw, dom)
	case t.size == 1: // unsigned, boolean
		limit := min(dom.limit, 256)
		if t.kind == 'b' {
			limit = min(limit, 2)
		}
		for i, b := range raw[:len(dst)] {
			v := int(b)
			if v >= limit {
				v = badRange
				bad++
			}
			dst[i] = C(v)
		}
	default:
		for i := range dst {
			var v int64
			switch {
			case t.size == 2 && t.kind == 'i':
				v = int64(int16(le.Uint16(raw[2*i:])))
			case t.size == 2:
				v = int64(le.Uint16(raw[2*i:]))
			case t.size == 4 && t.kind == 'i':
				v = int64(int32(le.Uint32(raw[4*i:])))
			case t.size == 4:
				v = int64(le.Uint32(raw[4*i:]))
			default:
				v = int64(le.Uint64(raw[8*i:]))
				if v < 0 && t.kind == 'u' {
					v = math.MaxInt64
				}
			}
			if v < int64(dom.low) || v >= int64(dom.limit) {
				v = badRange
				bad++
			}
			dst[i] = C(v)
		}
	}
	return bad
}

// decodeInt8 is decode for the type that we write.
func decodeInt8[C cell](dst []C, raw []byte, dom domain) (bad int) {
	// In one comparison: v - low as an unsigned number is below the width of the
	// domain for those inside it alone.
	low, width := int8(dom.low), uint8(min(dom.limit, 128)-dom.low)
	raw = raw[:len(dst)]
	for i, b := range raw {
		v := int8(b)
		if uint8(v-low) >= width {
			v = badRange
			bad++
		}
		dst[i] = C(v)
	}
	return bad
}

// float is the cell for a floating-point number.
func (d domain) float(v float64) int {
	switch {
	case v != v:
		return badNaN
	case math.Trunc(v) != v || math.IsInf(v, 0):
		return badNumber
	case v < float64(d.low) || v >= float64(d.limit):
		return badRange
	}
	return int(v)
}

// swapBytes turns big-endian elements into little-endian ones.
func swapBytes(raw []byte, size int) {
	for i := 0; i+size <= len(raw); i += size {
		e := raw[i : i+size]
		for a, b := 0, size-1; a < b; a, b = a+1, b-1 {
			e[a], e[b] = e[b], e[a]
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
