package npy

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Type is the type of the elements of a file.
type Type struct {
	Kind byte // 'i', 'u', 'f' or 'b', and of text 'U' or 'S', as NumPy names them
	Size int  // bytes
	Big  bool // big-endian
}

// TypeOf reads a type such as "<i2". It reports false for types that are no numbers.
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
	sizes := map[byte][]int{'i': {1, 2, 4, 8}, 'u': {1, 2, 4, 8}, 'f': {2, 4, 8}, 'b': {1}}
	return t, slices.Contains(sizes[t.Kind], t.Size)
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
	for ; len(raw) >= size; raw = raw[size:] {
		slices.Reverse(raw[:size])
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

// Whole reads the integer or truth value with which raw, little-endian, begins. Of the results only the one
// of the type's sign has a meaning.
func Whole(raw []byte, t Type) (signed int64, unsigned uint64) {
	switch t.Size { // a loop over bytes would be several times slower
	case 1:
		unsigned = uint64(raw[0])
	case 2:
		unsigned = uint64(binary.LittleEndian.Uint16(raw))
	case 4:
		unsigned = uint64(binary.LittleEndian.Uint32(raw))
	default:
		unsigned = binary.LittleEndian.Uint64(raw)
	}
	shift := 64 - 8*t.Size
	return int64(unsigned<<shift) >> shift, unsigned
}

// MaxText bounds the characters of a string.
const MaxText = 1024

// TextOf reads a type such as "<U12": strings of 12 characters, of 4 bytes each; or "|S12", of 12 bytes.
// Their kinds are 'U' and 'S'. It reports false for other types, and for strings of none or more than
// [MaxText] characters.
func TextOf(descr string) (t Type, ok bool) {
	if len(descr) < 3 {
		return t, false
	}
	order, kind := descr[0], descr[1]
	n, err := strconv.Atoi(descr[2:])
	if err != nil || n < 1 || n > MaxText {
		return t, false
	}
	switch {
	case kind == 'U' && (order == '<' || order == '>'):
		return Type{Kind: 'U', Size: 4 * n, Big: order == '>'}, true
	case kind == 'S' && order == '|':
		return Type{Kind: 'S', Size: n}, true
	}
	return t, false
}

// IsText reports whether elements are strings.
func (t Type) IsText() bool { return t.Kind == 'U' || t.Kind == 'S' }

// AppendText appends a string to buf, in UTF-8, without the zeros that fill it up. Invalid characters
// become U+FFFD.
func AppendText(buf, raw []byte, t Type) []byte {
	if t.Kind == 'S' {
		return append(buf, bytes.TrimRight(raw, "\x00")...)
	}
	start := len(buf)
	for ; len(raw) >= 4; raw = raw[4:] {
		c := binary.LittleEndian.Uint32(raw)
		if t.Big {
			c = binary.BigEndian.Uint32(raw)
		}
		if c > utf8.MaxRune {
			c = utf8.RuneError
		}
		buf = utf8.AppendRune(buf, rune(c))
	}
	return append(buf[:start], bytes.TrimRight(buf[start:], "\x00")...)
}
