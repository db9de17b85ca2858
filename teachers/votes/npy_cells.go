package votes

import (
	"encoding/binary"
	"math"

	"github.com/pate-go/pate/internal/npy"
)

// fillNPY reads the next len(dst) elements of a cursor.
func fillNPY[C cell](r *reader, cur *cursor, dst []C, dom domain) (bad int, err error) {
	size := cur.npy.Size
	for len(dst) > 0 {
		n := min(len(dst), bufferBytes/size)
		raw, err := r.at(cur.in, cur.offset, n*size)
		if err != nil {
			return bad, err
		}
		if len(raw) < n*size {
			return bad, changed(cur.in.name, errChanged)
		}
		if cur.npy.IsText() {
			bad += decodeText(dst[:n], raw, *cur.npy, dom)
		} else {
			bad += decode(dst[:n], raw, *cur.npy, dom)
		}
		dst = dst[n:]
		cur.offset += int64(n * size)
	}
	return bad, nil
}

// decode turns elements into cells and counts those that are no votes. It may change raw.
func decode[C cell](dst []C, raw []byte, t npy.Type, dom domain) (bad int) {
	if bytes, ok := any(dst).([]byte); ok && t.Size == 1 && t.Kind != 'b' && dom.plain() {
		copy(bytes, raw)
		if t.Kind == 'i' && allWithin(raw, 1, dom.limit) || t.Kind == 'u' && allWithin(raw, 0, dom.limit-1) {
			return 0
		}
	}
	if t.Big {
		npy.SwapBytes(raw, t.Size)
	}
	const chunk = 512
	var whole [chunk]int64
	var floats [chunk]float64
	for len(dst) > 0 {
		n := min(len(dst), chunk)
		if t.Kind == 'f' {
			npy.Floats(floats[:n], raw, t.Size)
			for i, v := range floats[:n] {
				c := dom.float(v)
				if c < dom.low {
					bad++
				}
				dst[i] = C(c)
			}
		} else {
			readWhole(whole[:n], raw, t)
			if dom.plain() {
				for i, v := range whole[:n] {
					if v < int64(dom.low) || v >= int64(dom.limit) {
						v = badRange
						bad++
					}
					dst[i] = C(v)
				}
			} else {
				for i, v := range whole[:n] {
					c := dom.whole(v)
					if c < dom.low {
						bad++
					}
					dst[i] = C(c)
				}
			}
		}
		dst, raw = dst[n:], raw[n*t.Size:]
	}
	return bad
}

// decodeText turns strings into cells and counts those that are no votes.
func decodeText[C cell](dst []C, raw []byte, t npy.Type, dom domain) (bad int) {
	var buf []byte
	for i := range dst {
		buf = npy.AppendText(buf[:0], raw[i*t.Size:(i+1)*t.Size], t)
		v := dom.text(trimCell(buf))
		if v < dom.low {
			bad++
		}
		dst[i] = C(v)
	}
	return bad
}

// allWithin says whether every byte b has b+add, modulo 256, in [0, limit]; limit is below 128. It takes
// eight bytes at a time: the sum of bytes side by side does not carry when the top bits are kept apart.
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

// readWhole reads booleans and integers, little-endian. Numbers beyond int64 become the largest, and bytes
// that are no boolean too.
func readWhole(dst []int64, raw []byte, t npy.Type) {
	le := binary.LittleEndian
	switch {
	case t.Kind == 'b':
		for i := range dst {
			if dst[i] = int64(raw[i]); raw[i] > 1 {
				dst[i] = math.MaxInt64
			}
		}
	case t.Size == 1 && t.Kind == 'i':
		for i := range dst {
			dst[i] = int64(int8(raw[i]))
		}
	case t.Size == 1:
		for i := range dst {
			dst[i] = int64(raw[i])
		}
	case t.Size == 2 && t.Kind == 'i':
		for i := range dst {
			dst[i] = int64(int16(le.Uint16(raw[2*i:])))
		}
	case t.Size == 2:
		for i := range dst {
			dst[i] = int64(le.Uint16(raw[2*i:]))
		}
	case t.Size == 4 && t.Kind == 'i':
		for i := range dst {
			dst[i] = int64(int32(le.Uint32(raw[4*i:])))
		}
	case t.Size == 4:
		for i := range dst {
			dst[i] = int64(le.Uint32(raw[4*i:]))
		}
	case t.Kind == 'i':
		for i := range dst {
			dst[i] = int64(le.Uint64(raw[8*i:]))
		}
	default:
		for i := range dst {
			dst[i] = int64(min(le.Uint64(raw[8*i:]), math.MaxInt64))
		}
	}
}

// float returns the cell for a floating-point number.
func (d domain) float(v float64) int {
	if d.shares {
		return share(v)
	}
	if d.plain() && v >= float64(d.low) && v < float64(d.limit) {
		if whole := int(v); float64(whole) == v {
			return whole
		}
	}
	switch {
	case v != v:
		return badNaN
	case math.IsInf(v, 0):
		return badNumber
	case v > 0 && v < 1:
		return badShare
	case math.Trunc(v) != v:
		return badNumber
	case math.Abs(v) >= 1<<53:
		return badRange
	}
	return d.whole(int64(v))
}
