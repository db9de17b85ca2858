package accountant

import (
	"fmt"
	"math"
	"reflect"

	"github.com/pate-go/pate/internal/mathx"
)

// tally is a multiset of what was composed.
type tally[K comparable] struct{ mathx.Multiset[K] }

func (t *tally[K]) add(k K, n int64) error {
	if e, ok := any(k).(Event); ok && n != 0 && !reflect.ValueOf(e).Comparable() {
		// An event around a list reached an accountant that has no rule for it.
		return &UnsupportedEventError{e, "this accountant has no rule for it"}
	}
	if !t.Add(k, n) {
		return errTooMany
	}
	return nil
}

// fits reports whether adding all of u would overflow no count.
func (t *tally[K]) fits(u *tally[K]) bool { return t.Fits(&u.Multiset) }

func (t *tally[K]) merge(u *tally[K]) { t.Merge(&u.Multiset) }

var errTooMany = fmt.Errorf("%w: more than %d runs of one event", ErrInvalidEvent, int64(math.MaxInt64))

// mul multiplies two counts, neither negative.
func mul(a, b int64) (int64, error) {
	n, ok := mathx.MulCounts(a, b)
	if !ok {
		return 0, errTooMany
	}
	return n, nil
}
