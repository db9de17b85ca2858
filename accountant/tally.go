package accountant

import (
	"fmt"
	"math"
	"reflect"
)

// tally is a multiset in order of first appearance. Equal keys share one
// count, so a million single steps take the room of one.
type tally[K comparable] struct {
	keys   []K
	counts []int64
	index  map[K]int
}

func (t *tally[K]) add(k K, n int64) error {
	if n == 0 {
		return nil
	}
	if e, ok := any(k).(Event); ok && !reflect.ValueOf(e).Comparable() {
		// An event around a list reached an accountant that has no rule for it.
		return &UnsupportedEventError{e, "this accountant has no rule for it"}
	}
	if t.index == nil {
		t.index = make(map[K]int)
	}
	i, ok := t.index[k]
	if !ok {
		t.index[k] = len(t.keys)
		t.keys = append(t.keys, k)
		t.counts = append(t.counts, n)
		return nil
	}
	if t.counts[i] > math.MaxInt64-n {
		return errTooMany
	}
	t.counts[i] += n
	return nil
}

// fits reports whether adding all of u would overflow no count.
func (t *tally[K]) fits(u *tally[K]) bool {
	for i, k := range u.keys {
		if j, ok := t.index[k]; ok && t.counts[j] > math.MaxInt64-u.counts[i] {
			return false
		}
	}
	return true
}

func (t *tally[K]) merge(u *tally[K]) {
	for i, k := range u.keys {
		_ = t.add(k, u.counts[i]) // fits was asked before
	}
}

var errTooMany = fmt.Errorf("%w: more than %d runs of one event", ErrInvalidEvent, int64(math.MaxInt64))

// mul multiplies two counts, neither negative.
func mul(a, b int64) (int64, error) {
	if a != 0 && b > math.MaxInt64/a {
		return 0, errTooMany
	}
	return a * b, nil
}
