package npy

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Type is the type of the elements of a file.
type Type struct {
	Kind byte // 'i', 'u', 'f' or 'b', and of text 'U' or 'S', as NumPy names them
	Size int  // bytes
	Big  bool // big-endian
}

// TypeOf reads a type such as "<i2". It reports false for what is no number.
func TypeOf(descr string) (t Type, ok bool) {
	order := byte('|')
	if len(descr) == 3 {
		order, descr = descr[0], descr[1:]
	}
	if len(descr) != 2 {
		return t, false
	}
	t = Type{Kind: descr[0], Size: int(descr[1] - '0'), Big: order == '>'}
	if order != '<' && order != '>' && !(t.Size == 1 && (order == '|' || order == '=')) {
		return t, false
	}
	switch t.Kind {
	case 'i', 'u':
		ok = t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8
	case 'f':
		ok = t.Size == 2 || t.Size == 4 || t.Size == 8
	case 'b':
		ok = t.Size == 1
	}
	return t, ok
}

// Floats reads floating-point numbers of 2, 4 or 8 bytes, little-endian.
func Floats(dst []float64, raw []byte, size int) {
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

// SwapBytes turns big-endian elements of size bytes into little-endian ones.
func SwapBytes(raw []byte, size int) {
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

// halfFloat returns the number that 16 bits stand for by IEEE 754.
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

// Whole reads the integer or truth value with which raw, little-endian, begins. It returns
// it as what the type is, signed or not; the other result means nothing.
func Whole(raw []byte, t Type) (signed int64, unsigned uint64) {
	for i := t.Size - 1; i >= 0; i-- {
		unsigned = unsigned<<8 | uint64(raw[i])
	}
	shift := 64 - 8*t.Size
	return int64(unsigned<<shift) >> shift, unsigned
}
