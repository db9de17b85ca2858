package ledger

import (
	"slices"
	"sort"
)

// spans is a set of positive integers kept as intervals: entries are committed nearly in order, so it stays
// short.
type spans struct {
	of []span // sorted, none touching the next
	n  int64
}

type span struct{ lo, hi int64 }

func (s *spans) find(n int64) int {
	last := len(s.of) - 1
	if last < 0 || n > s.of[last].hi {
		return last + 1
	}
	return sort.Search(len(s.of), func(i int) bool { return n <= s.of[i].hi })
}

func (s *spans) has(n int64) bool {
	i := s.find(n)
	return i < len(s.of) && s.of[i].lo <= n
}

// add adds n, which is not in the set.
func (s *spans) add(n int64) {
	s.n++
	i := s.find(n)
	left := i > 0 && s.of[i-1].hi == n-1
	right := i < len(s.of) && s.of[i].lo == n+1
	switch {
	case left && right:
		s.of[i-1].hi = s.of[i].hi
		s.of = slices.Delete(s.of, i, i+1)
	case left:
		s.of[i-1].hi = n
	case right:
		s.of[i].lo = n
	default:
		s.of = slices.Insert(s.of, i, span{n, n})
	}
}
