package accountant

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/internal/mathx"
)

// ErrInvalidEvent is returned, wrapped, for an event with a parameter out of
// range; the message names the parameter.
var ErrInvalidEvent = errors.New("accountant: invalid event")

// maxDepth bounds how deep events may be nested, in memory and in JSON.
const maxDepth = 64

func positive(event, field string, x float64) error {
	if !mathx.IsFinite(x) || x <= 0 {
		return fmt.Errorf("%w: %s: %s must be a finite number above 0, got %v", ErrInvalidEvent, event, field, x)
	}
	return nil
}

func nonNegative(event, field string, x float64) error {
	if !mathx.IsFinite(x) || x < 0 {
		return fmt.Errorf("%w: %s: %s must be a finite number, at least 0, got %v", ErrInvalidEvent, event, field, x)
	}
	return nil
}

func atLeast(event, field string, x, least int64) error {
	if x < least {
		return fmt.Errorf("%w: %s: %s must be at least %d, got %d", ErrInvalidEvent, event, field, least, x)
	}
	return nil
}

func isProbability(event string, p float64) error {
	if !(p >= 0 && p <= 1) {
		return fmt.Errorf("%w: %s: probability must be in [0, 1], got %v", ErrInvalidEvent, event, p)
	}
	return nil
}

// validTree checks e and everything below it.
func validTree(e Event, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: nested more than %d deep", ErrInvalidEvent, maxDepth)
	}
	if e == nil {
		return fmt.Errorf("%w: missing (nil)", ErrInvalidEvent)
	}
	if err := e.row().check(); err != nil {
		return err
	}
	_, list := e.(Composed)
	for i, inner := range e.row().children() {
		err := validTree(inner, depth+1)
		if err != nil && list {
			return fmt.Errorf("composed, events[%d]: %w", i, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
