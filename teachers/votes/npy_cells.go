package votes

import (
	"math"

	"github.com/pate-go/pate/internal/npy"
)

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
		} else {
			readWhole(whole[:n], raw, t)
		}
		for i := range n {
			var c int
			if t.Kind == 'f' {
				c = dom.float(floats[i])
			} else {
				c = dom.whole(whole[i])
			}
			if c < dom.low {
				bad++
			}
			dst[i] = C(c)
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

// allWithin reports whether every byte b has b+add, modulo 256, in [0, limit].
func allWithin(raw []byte, add, limit int) bool {
	for _, b := range raw {
		if b+byte(add) > byte(limit) {
			return false
		}
	}
	return true
}

// readWhole reads booleans and integers, little-endian. Invalid booleans and larger numbers become
// MaxInt64.
func readWhole(dst []int64, raw []byte, t npy.Type) {
	for i := range dst {
		signed, v := npy.Whole(raw[i*t.Size:], t)
		switch {
		case t.Kind == 'i':
			dst[i] = signed
		case t.Kind == 'b' && v > 1:
			dst[i] = math.MaxInt64
		default:
			dst[i] = int64(min(v, math.MaxInt64))
		}
	}
}

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
