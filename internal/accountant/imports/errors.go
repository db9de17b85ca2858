package imports

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/accountant"
)

// ErrSyntax is returned, wrapped, for text that is not of the format asked for: malformed, too large, too
// deep, an argument that is missing, unknown, given twice or of the wrong kind, or a NaN.
var ErrSyntax = errors.New("imports: cannot be read")

// UnsupportedError says which class has no exact counterpart here, and why. It matches
// accountant.ErrUnsupportedEvent.
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
