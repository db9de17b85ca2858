package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// parser reads JSON token by token. The first error stays; after it all calls
// return at once.
type parser struct {
	dec *json.Decoder
	err error
}

func newParser(r io.Reader) *parser {
	dec := json.NewDecoder(&tokenLimit{r: r})
	dec.UseNumber()
	return &parser{dec: dec}
}

// fail keeps the first error; nil is none.
func (p *parser) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *parser) token() json.Token {
	if p.err != nil {
		return nil
	}
	t, err := p.dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	p.fail(err)
	return t
}

func (p *parser) expect(want json.Delim) {
	if t := p.token(); p.err == nil && t != want {
		p.fail(fmt.Errorf("no %q where one belongs", want.String()))
	}
}

// object reads an object; value must read the value of each key.
func (p *parser) object(value func(key string)) (seen map[string]bool) {
	seen = map[string]bool{}
	p.expect('{')
	for p.err == nil && p.dec.More() {
		key := p.text()
		if seen[key] {
			p.fail(fmt.Errorf("key %q twice", key))
		}
		seen[key] = true
		if p.err == nil {
			value(key)
		}
	}
	p.expect('}')
	return seen
}

// array reads an array; element must read each element.
func (p *parser) array(element func()) {
	p.expect('[')
	for p.err == nil && p.dec.More() {
		element()
	}
	p.expect(']')
}

func (p *parser) text() string {
	t := p.token()
	s, ok := t.(string)
	if p.err == nil && !ok {
		p.fail(errors.New("no string where one belongs"))
	}
	return s
}

// number reads a whole number that is not negative.
func (p *parser) number() int {
	t := p.token()
	if p.err != nil {
		return 0
	}
	n, _ := t.(json.Number)
	v, err := strconv.ParseUint(n.String(), 10, 31)
	if err != nil {
		p.fail(errors.New("no whole number where one belongs"))
	}
	return int(v)
}

// finish refuses anything after the end.
func (p *parser) finish() {
	if p.err != nil {
		return
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		p.fail(errors.New("text after the end"))
	}
}

// tokenLimit fails when a token is longer than maxToken, before a decoder has to
// hold it.
type tokenLimit struct {
	r       io.Reader
	length  int
	quoted  bool
	escaped bool
}

const maxToken = 4096

func (l *tokenLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for _, b := range p[:n] {
		l.length++
		switch {
		case l.escaped:
			l.escaped = false
		case b == '"':
			l.quoted = !l.quoted
			l.length = 0
		case l.quoted:
			l.escaped = b == '\\'
		case b == ',' || b == ':' || b == '[' || b == ']' || b == '{' || b == '}' || b == ' ' || b == '\n' || b == '\r' || b == '\t':
			l.length = 0
		}
		if l.length > maxToken {
			return 0, fmt.Errorf("a string or number is longer than %d bytes", maxToken)
		}
	}
	return n, err
}
