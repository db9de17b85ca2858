package mathx

import "math"

// Multiset counts keys, in order of first appearance. Equal keys share one count,
// so a million single additions take the room of one.
type Multiset[K comparable] struct {
	Keys   []K
	Counts []int64
	index  map[K]int
}

// Add adds n of k, or nothing and false if its count would overflow.
func (m *Multiset[K]) Add(k K, n int64) bool {
	if n == 0 {
		return true
	}
	if m.index == nil {
		m.index = make(map[K]int)
	}
	i, ok := m.index[k]
	if !ok {
		m.index[k] = len(m.Keys)
		m.Keys = append(m.Keys, k)
		m.Counts = append(m.Counts, n)
		return true
	}
	if m.Counts[i] > math.MaxInt64-n {
		return false
	}
	m.Counts[i] += n
	return true
}

// Fits reports whether adding all of u would overflow no count.
func (m *Multiset[K]) Fits(u *Multiset[K]) bool {
	for i, k := range u.Keys {
		if j, ok := m.index[k]; ok && m.Counts[j] > math.MaxInt64-u.Counts[i] {
			return false
		}
	}
	return true
}

// Union returns how many different keys m and u have together.
func (m *Multiset[K]) Union(u *Multiset[K]) int {
	n := len(m.Keys)
	for _, k := range u.Keys {
		if _, ok := m.index[k]; !ok {
			n++
		}
	}
	return n
}

// Merge adds all of u, which must fit.
func (m *Multiset[K]) Merge(u *Multiset[K]) {
	for i, k := range u.Keys {
		m.Add(k, u.Counts[i])
	}
}

// MulCounts multiplies two counts, neither negative; ok is false if that overflows.
func MulCounts(a, b int64) (product int64, ok bool) {
	if a != 0 && b > math.MaxInt64/a {
		return 0, false
	}
	return a * b, true
}
