package imports

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pate-go/pate/accountant"
)

const (
	maxBytes  = 16 << 20
	maxValues = 1 << 20
	maxNested = 200 // a composed event and its list count as two levels
)

type value interface{ kind() string }

type number struct {
	x     float64 // never NaN
	n     int64
	whole bool // n is the exact number in the text
}

type list []value

type call struct {
	class string // without module name
	keys  []string
	args  []value
	at    int
}

type none struct{}

func (number) kind() string { return "a number" }
func (list) kind() string   { return "a list" }
func (c call) kind() string { return shorten(c.class) }
func (none) kind() string   { return "None" }

type reader struct {
	text   string
	at     int
	values int
}

func readValue(r io.Reader) (value, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("imports: %w", err)
	}
	if len(data) > maxBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrSyntax, maxBytes)
	}
	p := &reader{text: string(data)}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.peek() != 0 || p.at < len(p.text) {
		return nil, p.fail("text after the end")
	}
	return v, nil
}

func (p *reader) fail(format string, args ...any) error { return failAt(p.at, format, args...) }

func failAt(at int, format string, args ...any) error {
	return fmt.Errorf("%w: at byte %d: %s", ErrSyntax, at, fmt.Sprintf(format, args...))
}

func (p *reader) peek() byte {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; c {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return c
		}
	}
	return 0
}

func (p *reader) accept(c byte) bool {
	if p.peek() != c || p.at == len(p.text) {
		return false
	}
	p.at++
	return true
}

func (p *reader) value(depth int) (value, error) {
	if depth > maxNested {
		return nil, p.fail("nested more than %d deep", maxNested)
	}
	if p.values++; p.values > maxValues {
		return nil, p.fail("more than %d values", maxValues)
	}
	switch c := p.peek(); {
	case c == '[':
		return p.list(']', depth)
	case c == '(':
		return p.list(')', depth)
	case c == '-' || c == '+' || c == '.' || isDigit(c):
		return p.number()
	case isLetter(c):
		return p.named(depth)
	case p.at == len(p.text):
		return nil, p.fail("unexpected end")
	default:
		return nil, p.fail("unexpected %q", c)
	}
}

func (p *reader) list(end byte, depth int) (value, error) {
	start := p.at
	p.at++
	out := list{}
	commas := 0
	for !p.accept(end) {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if p.accept(',') {
			commas++
		} else if p.peek() != end {
			return nil, p.fail("expected a comma or %q", end)
		}
	}
	if end == ')' && len(out) == 1 && commas == 0 {
		return nil, failAt(start, "a tuple of one needs a comma")
	}
	return out, nil
}

func (p *reader) number() (value, error) {
	start := p.at
	if c := p.text[p.at]; c == '-' || c == '+' {
		p.at++
		if p.at < len(p.text) && isLetter(p.text[p.at]) {
			if word := p.word(); word != "inf" && word != "Infinity" {
				return nil, failAt(start, "%s is not a number that can be read", shorten(p.text[start:p.at]))
			}
			return number{x: math.Inf(map[byte]int{'-': -1, '+': 1}[c])}, nil
		}
	}
	for p.at < len(p.text) && (isDigit(p.text[p.at]) || strings.IndexByte(".eE+-", p.text[p.at]) >= 0) {
		p.at++
	}
	text := p.text[start:p.at]
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, failAt(start, "%s is not a number that can be read", shorten(text))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	whole := err == nil
	if !whole && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		n, whole = int64(x), true
	}
	return number{x, n, whole}, nil
}

func (p *reader) named(depth int) (value, error) {
	start := p.at
	word := p.word()
	if p.peek() != '(' {
		switch word {
		case "inf", "Infinity":
			return number{x: math.Inf(1)}, nil
		case "nan", "NaN":
			return nil, failAt(start, "NaN is no parameter")
		case "None", "null":
			return none{}, nil
		}
		return nil, failAt(start, "unexpected name %s", shorten(word))
	}
	c, err := p.call(word, depth)
	if err != nil {
		return nil, err
	}
	if module, class, dotted := strings.Cut(word, "."); dotted && (module == "np" || module == "numpy") {
		return unwrap(c, class)
	}
	return c, nil
}

func unwrap(c call, class string) (value, error) {
	var v number
	ok := len(c.args) == 1 && c.keys[0] == ""
	if ok {
		v, ok = c.args[0].(number)
	}
	if !ok {
		return nil, failAt(c.at, "%s must hold one number", shorten(class))
	}
	switch class {
	case "float64", "int64", "int32":
		return v, nil
	case "float32": // its repr is the shortest text for the float32 value
		v.x = float64(float32(v.x))
		v.whole = v.whole && float64(v.n) == v.x
		return v, nil
	}
	return nil, failAt(c.at, "numpy's %s is not read", shorten(class))
}

func (p *reader) call(word string, depth int) (call, error) {
	c := call{class: word[strings.LastIndexByte(word, '.')+1:], at: p.at}
	p.at++
	for !p.accept(')') {
		key, back := "", p.at
		if isLetter(p.peek()) {
			back = p.at
			key = p.word()
			if !p.accept('=') {
				p.at, key = back, ""
			}
		}
		if slices.Contains(c.keys, key) {
			return c, failAt(back, "%s: argument %q is there twice, or without a name", shorten(c.class), shorten(key))
		}
		// The search for repeated keys is quadratic, so the number of arguments is limited.
		if len(c.keys) == 16 {
			return c, failAt(back, "%s: too many arguments", shorten(c.class))
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return c, err
		}
		c.keys, c.args = append(c.keys, key), append(c.args, v)
		if !p.accept(',') && p.peek() != ')' {
			return c, p.fail("expected a comma or \")\"")
		}
	}
	return c, nil
}

func (p *reader) word() string {
	start := p.at
	for p.at < len(p.text) && (isLetter(p.text[p.at]) || isDigit(p.text[p.at]) || p.text[p.at] == '.') {
		p.at++
	}
	return p.text[start:p.at]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func shorten(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

type arguments struct {
	call
	used []bool
	err  error
}

func (a *arguments) fail(why string) {
	if a.err == nil {
		a.err = failAt(a.at, "%s: %s", shorten(a.class), why)
	}
}

func (a *arguments) refuse(reason string) {
	if a.err == nil {
		a.err = &UnsupportedError{shorten(a.class), reason}
	}
}

func (a *arguments) done() error {
	for i, key := range a.keys {
		if !a.used[i] {
			a.fail(fmt.Sprintf("unknown argument %q", shorten(key)))
		}
	}
	return a.err
}

func (a *arguments) has(key string) bool { return slices.Contains(a.keys, key) }

func (a *arguments) value(key string) value {
	if i := slices.Index(a.keys, key); i >= 0 {
		a.used[i] = true
		return a.args[i]
	}
	if a.has("") {
		a.fail("its arguments must be named, as repr does")
	}
	a.fail("argument " + key + " is missing")
	return none{}
}

func (a *arguments) number(key string) number {
	v := a.value(key)
	x, ok := v.(number)
	if !ok {
		a.fail(fmt.Sprintf("%s must be a number, not %s", key, v.kind()))
	}
	return x
}

func (a *arguments) float(key string) float64 { return a.number(key).x }

func (a *arguments) optional(key string, missing float64) float64 {
	if !a.has(key) {
		return missing
	}
	return a.float(key)
}

func (a *arguments) integer(key string) int64 {
	x := a.number(key)
	if !x.whole {
		a.fail(fmt.Sprintf("%s must be a whole number below 2^63, got %v", key, x.x))
	}
	return x.n
}

func (a *arguments) event(b *builder) accountant.Event {
	e, err := b.event(a.value("event"))
	if a.err == nil {
		a.err = err
	}
	return e
}

func (a *arguments) events(b *builder) []accountant.Event {
	v := a.value("events")
	l, ok := v.(list)
	if !ok {
		a.fail("events must be a list, not " + v.kind())
		return nil
	}
	out, err := b.events(l)
	if a.err == nil {
		a.err = err
	}
	return out
}

// ErrSyntax matches every error about text that cannot be read, such as malformed text, wrong arguments or
// NaN.
var ErrSyntax = errors.New("imports: cannot be read")

// UnsupportedError reports an input without an equivalent event. It matches accountant.ErrUnsupportedEvent.
type UnsupportedError struct {
	Class  string // without module name
	Reason string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("imports: %s is unsupported: %s", e.Class, e.Reason)
}

func (e *UnsupportedError) Is(target error) bool { return target == accountant.ErrUnsupportedEvent }
