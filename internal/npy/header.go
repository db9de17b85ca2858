// Package npy reads and writes heads and elements of NPY files, NumPy's format of one array. Heads of
// strangers are not trusted: parsing is bounded, and sizes are for the caller to compare with the bytes
// that are there.
package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Header is the head of an NPY file (NumPy's format 1.0 to 3.0, numpy.lib.format).
type Header struct {
	Type    string // such as "<i2"
	Fortran bool   // the first index varies fastest
	Shape   []int
}

const (
	// Magic is how every NPY file begins.
	Magic = "\x93NUMPY"
	// MaxHeader is the number of bytes that hold the head of any file that [ReadHeader] takes.
	MaxHeader = maxText + 12
	// maxText bounds the text of the header; NumPy writes about 120 bytes for a matrix and refuses beyond
	// 10,000.
	maxText = 10_000
)

// WriteHeader writes the head of a file, version 1.0. The elements follow.
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
	// Padded with spaces and a newline so that the data start at a multiple of 64.
	fixed := len(Magic) + 2 + 2
	text += strings.Repeat(" ", (64-(fixed+len(text)+1)%64)%64) + "\n"
	head := append([]byte(Magic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(text)))
	_, err := w.Write(append(head, text...))
	return err
}

// ReadHeader reads the head of the file that begins with raw and returns its length.
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
	var number [8]byte // little-endian
	copy(number[:], raw[used:used+length])
	size := binary.LittleEndian.Uint64(number[:])
	used += length
	switch {
	case size > maxText:
		return h, 0, fmt.Errorf("the header has %d bytes, at most %d are read", size, maxText)
	case uint64(len(raw)-used) < size:
		return h, 0, errors.New("the header is cut off")
	}
	h, err = parseHeader(string(raw[used : used+int(size)]))
	return h, used + int(size), err
}

// parseHeader reads the dictionary of the header: the three keys, in any order, and nothing else.
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

// scanner reads tokens; the first error stays and makes all later calls empty.
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
	s.fail("no string where one belongs")
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
		s.fail("no number where one belongs, or one that is too large")
		return 0
	}
	s.rest = s.rest[end:]
	return n
}
