package mathx

import (
	"math"
)

// LogBinomial returns log P[Bin(n, p) = k] from the logarithms of p and 1-p. It uses the saddle point formula
// of Loader 2000, with an error of a few units in the last place. The log-gamma formula would have an error
// of n log n units.
func LogBinomial(k, n int64, logp, logq float64) float64 {
	switch {
	case n == 0:
		return 0
	case k == 0:
		return float64(n) * logq
	case k == n:
		return float64(n) * logp
	}
	x, m := float64(k), float64(n)
	y := float64(n - k)
	lc := stirlingError(m) - stirlingError(x) - stirlingError(y) -
		deviance(x, m*math.Exp(logp)) - deviance(y, m*math.Exp(logq))
	return lc + 0.5*(math.Log(m/(2*math.Pi*x))-math.Log(y))
}

// stirlingError returns log(n!) - log(sqrt(2 pi n) (n/e)^n) for n >= 1.
func stirlingError(n float64) float64 {
	if n < 16 {
		return math.Log(factorials[int(n)]) - (n+0.5)*math.Log(n) + n - 0.5*math.Log(2*math.Pi)
	}
	s := 1 / (n * n)
	return (1.0/12 - s*(1.0/360-s*(1.0/1260-s*(1.0/1680-s*(1.0/1188-s*691.0/360360))))) / n
}

var factorials = [...]float64{1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800,
	479001600, 6227020800, 87178291200, 1307674368000}

func deviance(x, m float64) float64 {
	d := x - m
	if math.Abs(d) < 0.1*(x+m) {
		v := d / (x + m)
		s, term := d*v, 2*x*v
		for j := 1; j < 1000; j++ {
			term *= v * v
			next := s + term/float64(2*j+1)
			if next == s {
				break
			}
			s = next
		}
		return s
	}
	return x*math.Log(x/m) + m - x
}

// LogBinomialTail returns an upper bound on log P[Bin(n, p) >= k]. The bound is 0 for k <= n p.
func LogBinomialTail(k, n int64, p float64) float64 {
	switch {
	case k <= 0:
		return 0
	case k > n || p <= 0:
		return math.Inf(-1)
	case p >= 1:
		return 0
	case float64(k) <= float64(n)*p:
		return 0 // below the mean the bound 1 is good enough
	}
	logp, logq := math.Log(p), math.Log1p(-p)
	first := LogBinomial(k, n, logp, logq)
	sum, term := 1.0, 1.0
	const most = 1 << 16 // terms added one by one
	for i := k; i < n; i++ {
		// Ratios of consecutive terms fall, so the rest is below a geometric series.
		ratio := float64(n-i) / float64(i+1) * p / (1 - p)
		term *= ratio
		sum += term
		if ratio < 1 && (term < 1e-17*sum*(1-ratio) || i-k > most) {
			sum += term / (1 - ratio)
			break
		}
		if i-k > most { // ratio is still near 1
			return 0
		}
	}
	return first + math.Log(sum) + 1e-13*(1+math.Abs(first))
}

// Multiset counts keys. The keys are in the order of their first appearance.
type Multiset[K comparable] struct {
	Keys   []K
	Counts []int64
	index  map[K]int
}

// Add adds n to the count of k. It returns false and changes nothing if the count would overflow.
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

// Fits reports whether all counts of Merge(u) fit in an int64.
func (m *Multiset[K]) Fits(u *Multiset[K]) bool {
	for i, k := range u.Keys {
		if j, ok := m.index[k]; ok && m.Counts[j] > math.MaxInt64-u.Counts[i] {
			return false
		}
	}
	return true
}

func (m *Multiset[K]) Union(u *Multiset[K]) int {
	n := len(m.Keys)
	for _, k := range u.Keys {
		if _, ok := m.index[k]; !ok {
			n++
		}
	}
	return n
}

// Merge adds the counts of u. Fits(u) must be true.
func (m *Multiset[K]) Merge(u *Multiset[K]) {
	for i, k := range u.Keys {
		m.Add(k, u.Counts[i])
	}
}

// MulCounts returns the product of two nonnegative counts, or false if it overflows.
func MulCounts(a, b int64) (product int64, ok bool) {
	if a != 0 && b > math.MaxInt64/a {
		return 0, false
	}
	return a * b, true
}
