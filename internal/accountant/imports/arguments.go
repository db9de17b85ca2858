package imports

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pate-go/pate/accountant"
)

// arguments hands out the arguments of a call and keeps the first error, such as an argument left over.
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

// value returns a required argument.
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

// ErrSyntax is wrapped in errors about text of another format: malformed, too large, too deep, an argument
// that is missing, unknown, given twice or of the wrong kind, or a NaN.
var ErrSyntax = errors.New("imports: cannot be read")

// UnsupportedError names a class without exact counterpart here. It matches accountant.ErrUnsupportedEvent.
type UnsupportedError struct {
	Class  string // as written, without its module
	Reason string
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("imports: %s is unsupported: %s", e.Class, e.Reason)
}

// Is makes errors.Is(err, accountant.ErrUnsupportedEvent) hold.
func (e *UnsupportedError) Is(target error) bool { return target == accountant.ErrUnsupportedEvent }
