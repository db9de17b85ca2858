package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pate-go/pate/teachers/votes"
)

// A token has at most maxToken bytes. After an error, all calls return at once. On millions of short strings
// the parser takes a fraction of the time of a json.Decoder.

type parser struct {
	r   *bufio.Reader
	buf []byte
	err error
}

const maxToken = 4096

func newParser(r io.Reader) *parser {
	return &parser{r: bufio.NewReaderSize(r, 1<<16), buf: make([]byte, 0, maxToken)}
}

func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) next() byte {
	for p.err == nil {
		c, err := p.r.ReadByte()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		p.fail(err)
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
	}
	return 0
}

func (p *parser) back() {
	if p.err == nil {
		p.fail(p.r.UnreadByte())
	}
}

func (p *parser) expect(want byte) {
	if c := p.next(); p.err == nil && c != want {
		p.fail(fmt.Errorf("expected %q, found %q", want, c))
	}
}

func (p *parser) list(open, end byte, element func()) {
	p.expect(open)
	if c := p.next(); c == end {
		return
	}
	p.back()
	for p.err == nil {
		element()
		c := p.next()
		if c == end {
			return
		}
		if p.err == nil && c != ',' {
			p.fail(fmt.Errorf("expected a comma or %q, found %q", end, c))
		}
	}
}

func (p *parser) object(where string, fields map[string]any) (seen map[string]bool) {
	seen = map[string]bool{}
	p.list('{', '}', func() {
		key := p.text()
		p.expect(':')
		if seen[key] {
			p.fail(fmt.Errorf("key %q twice", key))
		}
		seen[key] = true
		if p.err != nil {
			return
		}
		switch field := fields[key].(type) {
		case *string:
			*field = p.text()
		case *int:
			*field = p.number()
		case *[]string:
			*field = p.names()
		case func():
			field()
		default:
			p.fail(fmt.Errorf("unknown key %q%s", key, where))
		}
	})
	return seen
}

func (p *parser) names() []string {
	names := []string{}
	p.array(func() {
		if names = append(names, p.text()); len(names) > votes.MaxClasses {
			p.fail(fmt.Errorf("more than %d class names", votes.MaxClasses))
		}
	})
	return names
}

func (p *parser) array(element func()) { p.list('[', ']', element) }

// raw returns the next string with quotes and escapes. The result is valid until the next call.
func (p *parser) raw() (quoted []byte) {
	p.expect('"')
	b := append(p.buf[:0], '"')
	for p.err == nil {
		part, err := p.r.ReadSlice('"')
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || len(b)+len(part) > maxToken:
			p.fail(fmt.Errorf("a string is longer than %d bytes", maxToken))
			return nil
		case errors.Is(err, io.EOF):
			p.fail(io.ErrUnexpectedEOF)
		default:
			p.fail(err)
		}
		b = append(b, part...)
		// A quote after an odd number of backslashes is part of the string.
		escapes := len(b) - 1 - len(bytes.TrimRight(b[:len(b)-1], `\`))
		if escapes%2 == 0 {
			break
		}
	}
	return b
}

func (p *parser) text() (s string) {
	if quoted := p.raw(); p.err == nil {
		p.fail(json.Unmarshal(quoted, &s))
	}
	return s
}

func (p *parser) number() int {
	var digits []byte
	c := p.next()
	for c >= '0' && c <= '9' && len(digits) < 20 && p.err == nil {
		digits = append(digits, c)
		var err error
		if c, err = p.r.ReadByte(); err != nil {
			p.fail(io.ErrUnexpectedEOF)
		}
	}
	p.back()
	n, err := strconv.ParseUint(string(digits), 10, 31)
	if p.err == nil && (err != nil || len(digits) > 1 && digits[0] == '0') {
		p.fail(errors.New("expected a whole number"))
	}
	return int(n)
}

func (p *parser) finish() {
	if p.err != nil {
		return
	}
	p.next()
	if errors.Is(p.err, io.ErrUnexpectedEOF) {
		p.err = nil
		return
	}
	p.fail(errors.New("text after the end"))
}
