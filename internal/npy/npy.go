// Package npy reads and writes headers and elements of NPY files, NumPy's format for one array. Headers are
// untrusted, so parsing takes bounded time and memory. A caller must compare the sizes in a header with the
// size of the file.
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Header is the header of an NPY file of format 1.0 to 3.0 (numpy.lib.format).
type Header struct {
	Type    string // such as "<i2"
	Fortran bool   // Fortran order: the first index varies fastest
	Shape   []int
}

const (
	// Magic is the beginning of every NPY file.
	Magic = "\x93NUMPY"
	// MaxHeader is the maximum size of a header that [ReadHeader] accepts.
	MaxHeader = maxText + 12
	maxText   = 10_000
)

// WriteHeader writes the header h in format 1.0. The caller writes the elements.
func WriteHeader(w io.Writer, h Header) error {
	order := "False"
	if h.Fortran {
		order = "True"
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (", h.Type, order)
	for _, n := range h.Shape {
		text += fmt.Sprintf("%d, ", n)
	}
	text += "), }"
	// Pad with spaces and a newline, so that the data start at a multiple of 64.
	fixed := len(Magic) + 2 + 2
	text += strings.Repeat(" ", (64-(fixed+len(text)+1)%64)%64) + "\n"
	head := append([]byte(Magic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(text)))
	_, err := w.Write(append(head, text...))
	return err
}

// ReadHeader parses the header at the start of raw. The second result is the header's length in bytes.
func ReadHeader(raw []byte) (h Header, used int, err error) {
	used = len(Magic) + 2
	if len(raw) < used || string(raw[:len(Magic)]) != Magic {
		return h, 0, errors.New("not an NPY file")
	}
	length := 4
	switch major := raw[len(Magic)]; {
	case major == 1:
		length = 2
	case major != 2 && major != 3:
		return h, 0, fmt.Errorf("version %d is not 1, 2 or 3", major)
	}
	if len(raw) < used+length {
		return h, 0, errors.New("the header is cut off")
	}
	var number [8]byte // in little-endian order
	copy(number[:], raw[used:used+length])
	size := binary.LittleEndian.Uint64(number[:])
	used += length
	switch {
	case size > maxText:
		return h, 0, fmt.Errorf("the header has %d bytes, but at most %d can be read", size, maxText)
	case uint64(len(raw)-used) < size:
		return h, 0, errors.New("the header is cut off")
	}
	h, err = parseHeader(string(raw[used : used+int(size)]))
	return h, used + int(size), err
}

func parseHeader(text string) (Header, error) {
	var h Header
	seen := map[string]bool{}
	s := scanner{rest: text}
	s.expect("{")
	for !s.accept("}") && s.err == nil {
		key := s.quoted()
		s.expect(":")
		if seen[key] {
			s.fail("key " + strconv.Quote(key) + " twice")
		}
		seen[key] = true
		switch key {
		case "descr":
			h.Type = s.quoted()
		case "fortran_order":
			if h.Fortran = s.accept("True"); !h.Fortran {
				s.expect("False")
			}
		case "shape":
			s.expect("(")
			for !s.accept(")") && s.err == nil {
				h.Shape = append(h.Shape, s.number())
				if !s.accept(",") {
					s.expect(")")
					break
				}
			}
		default:
			s.fail("unknown key")
		}
		if !s.accept(",") {
			s.expect("}")
			break
		}
	}
	if s.err == nil && strings.TrimRight(s.rest, " \n\x00") != "" {
		s.fail("text after the dictionary")
	}
	if s.err == nil && len(seen) != 3 {
		s.fail("a key is missing")
	}
	return h, s.err
}

type scanner struct {
	rest string
	err  error
}

func (s *scanner) fail(what string) {
	if s.err == nil {
		s.err = errors.New(what)
	}
}

func (s *scanner) accept(token string) bool {
	if s.err != nil {
		return false
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(s.rest, " "), token)
	if ok {
		s.rest = rest
	}
	return ok
}

func (s *scanner) expect(token string) {
	if s.err == nil && !s.accept(token) {
		s.fail("no " + strconv.Quote(token) + " where one belongs")
	}
}

func (s *scanner) quoted() string {
	for _, quote := range []string{"'", `"`} {
		if s.accept(quote) {
			if value, rest, ok := strings.Cut(s.rest, quote); ok {
				s.rest = rest
				return value
			}
		}
	}
	s.fail("a string is missing")
	return ""
}

func (s *scanner) number() int {
	if s.err != nil {
		return 0
	}
	s.rest = strings.TrimLeft(s.rest, " ")
	end := 0
	for end < len(s.rest) && s.rest[end] >= '0' && s.rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s.rest[:end])
	if err != nil {
		s.fail("a number is missing or too large")
		return 0
	}
	s.rest = s.rest[end:]
	return n
}

type Type struct {
	Kind byte // 'i', 'u', 'f', 'b', 'U' or 'S', as in NumPy
	Size int  // bytes per element
	Big  bool // big-endian
}

// TypeOf parses a numeric element type such as "<i2". The result ok is false for other types.
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

// Floats decodes little-endian floats of size bytes (2, 4 or 8) from raw into dst.
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

// SwapBytes reverses the byte order of each element in raw. An element has `size` bytes.
func SwapBytes(raw []byte, size int) {
	for ; len(raw) >= size; raw = raw[size:] {
		slices.Reverse(raw[:size])
	}
}

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

// Whole decodes the little-endian integer or boolean at the start of raw. The decoded value is the first
// result for kind 'i', and the second result for all other kinds.
func Whole(raw []byte, t Type) (signed int64, unsigned uint64) {
	switch t.Size { // a loop over bytes is several times slower
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

// MaxText is the maximum number of characters in a string element.
const MaxText = 1024

// TextOf parses a string element type, such as "<U12" for 12 characters of 4 bytes or "|S12" for 12 bytes.
// The result ok is false for other types, and for fewer than 1 or more than [MaxText] characters.
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

func (t Type) IsText() bool { return t.Kind == 'U' || t.Kind == 'S' }

// AppendText appends the string element raw to buf as UTF-8, without padding zeros. An invalid character of
// kind 'U' becomes U+FFFD.
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
