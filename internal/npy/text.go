package npy

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// MaxText bounds the characters of a string.
const MaxText = 1024

// TextOf reads a type such as "<U12": strings of 12 characters, of 4 bytes each; or
// "|S12", of 12 bytes. Their kinds are 'U' and 'S'. It reports false for other types, and
// for strings of none or more than [MaxText] characters.
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

// AppendText appends the string that raw is to buf, in UTF-8, without the zeros that fill
// it up. What is no character becomes the one that stands for none.
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
