package rng

import (
	"fmt"
	"math/big"
	"math/bits"
	"sort"
)

// maxLargestSigma bounds the size of the table, which has about 20 Sigma entries.
const maxLargestSigma = 1 << 12

// Largest returns the largest of n independent values Z_0, ..., Z_{n-1}, and the first index at which it
// occurs. n must be in [1, 2^32], and Sigma at most 2^12. The time does not grow with n.
func (d *DiscreteGaussian) Largest(n uint64, s *Stream) (largest int64, first uint64) {
	// Let F be the distribution function, a_x = -log F(x), and E a standard exponential real. The result is
	// the pair (x, i) with
	//
	//	n a_x + i d_x <= E < n a_x + (i+1) d_x,   d_x = a_{x-1} - a_x,   i = 0..n-1.
	//
	// For x - 1 and i = 0 the left side is the right side for x and i = n-1. So the intervals are disjoint
	// and cover all E > 0. By P[E >= e] = exp(-e), the probability of (x, i) is
	//
	//	F(x)^(n-i) F(x-1)^i - F(x)^(n-i-1) F(x-1)^(i+1) = F(x-1)^i P[Z = x] F(x)^(n-i-1).
	//
	// This is the probability that the i values before Z_i are below x, Z_i is x, and no later value is above
	// x.
	//
	// The digits of E are drawn as needed (see exponentialReal). A table encloses the a_x. If the table and
	// 64 binary places of E do not decide, tables with more places decide.
	whole, x := exponentialReal(&s.src, 64)
	if x.bits == 64 {
		if largest, first, ok := d.extremes().find(n, fixed{whole, x.head.Uint64()}); ok {
			return largest, first
		}
	}
	return d.findExactly(n, whole, x)
}

// exponentialReal draws a standard exponential real, whole + x (von Neumann 1951):
//
//	whole = 0
//	loop:  x = U_1 > U_2 > ... > U_k <= U_{k+1} independent uniform reals
//	       if k is odd: return
//	       whole = whole + 1
//
// Given x, k exceeds j with probability x^j/j!. So k is odd with probability 1 - x + x^2/2! - ... = exp(-x).
func exponentialReal(src interface{ Uint64() uint64 }, digit uint) (whole uint64, x *lazy) {
	for ; ; whole++ {
		x = &lazy{src: src, digit: digit}
		k := 1
		for last := x; ; k++ {
			next := &lazy{src: src, digit: digit}
			if !next.less(last) {
				break
			}
			last = next
		}
		if k&1 == 1 {
			return whole, x
		}
	}
}

// less reports whether x < y, for two reals with digits of the same size.
func (x *lazy) less(y *lazy) bool {
	for {
		for x.bits < max(y.bits, 1) {
			x.extend()
		}
		for y.bits < x.bits {
			y.extend()
		}
		if order := x.head.Cmp(&y.head); order != 0 {
			return order < 0
		}
		x.extend()
	}
}

// extremes is a table of the a_x up to about 44: 2^64 a_x is in [a, a+slack] for x = top, top-1, ..., except
// for the last x. The last entry is only a lower bound.
type extremes struct {
	top   int64
	a     []fixed
	slack uint64
}

// fixed is the number hi + lo/2^64.
type fixed struct{ hi, lo uint64 }

func (x fixed) plus(y fixed) fixed {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	return fixed{x.hi + y.hi + carry, lo}
}

func (x fixed) minus(y fixed) fixed {
	lo, borrow := bits.Sub64(x.lo, y.lo, 0)
	return fixed{x.hi - y.hi - borrow, lo}
}

func (x fixed) times(n uint64) fixed {
	hi, lo := bits.Mul64(x.lo, n)
	return fixed{x.hi*n + hi, lo}
}

func (x fixed) atMost(y fixed) bool { return x.hi < y.hi || x.hi == y.hi && x.lo <= y.lo }

func (d *DiscreteGaussian) extremes() *extremes {
	if t := d.largest.Load(); t != nil {
		return t
	}
	if d.sigma > maxLargestSigma {
		panic(fmt.Sprintf("rng: sigma of a largest value must be at most %d, not %g", maxLargestSigma, d.sigma))
	}
	exact := d.logs(64)
	t := &extremes{top: exact.top, slack: exact.slack.Uint64()}
	for _, a := range exact.a {
		var hi, lo big.Int
		hi.Rsh(a, 64)
		t.a = append(t.a, fixed{hi.Uint64(), lo.Sub(a, lo.Lsh(&hi, 64)).Uint64()})
	}
	d.largest.Store(t)
	return t
}

// find returns the pair for a real in [e, e+1/2^64), or false if the table does not decide.
func (t *extremes) find(n uint64, e fixed) (largest int64, first uint64, ok bool) {
	j := sort.Search(len(t.a), func(j int) bool { return !t.a[j].times(n).atMost(e) }) - 1
	if j < 0 || j+1 == len(t.a) {
		return 0, 0, false
	}
	start, width := t.a[j].times(n), t.a[j+1].minus(t.a[j])
	rest, divisor, shift := e.minus(start), width.lo, uint(bits.Len64(width.hi))
	if shift > 0 {
		divisor = width.hi<<(64-shift) | width.lo>>shift
		rest = fixed{rest.hi >> shift, rest.hi<<(64-shift) | rest.lo>>shift}
	}
	if rest.hi >= divisor {
		return 0, 0, false
	}
	first, _ = bits.Div64(rest.hi, rest.lo, divisor) // a candidate, which the comparisons below check
	if first = min(first, n-1); first > 0 && j+2 == len(t.a) {
		return 0, 0, false
	}
	from := start.plus(width.times(first))
	to := from.plus(width)
	above := from.plus(fixed{0, t.slack}.times(n))
	return t.top - int64(j), first, above.atMost(e) && e.plus(fixed{0, 1}).atMost(to)
}

// logs is a table like extremes, with more binary places.
type logs struct {
	top    int64
	a      []*big.Int
	slack  *big.Int
	places uint
}

// logs tabulates the a_x between 2^-places and places log 2, and one entry beyond at both ends.
func (d *DiscreteGaussian) logs(places uint) logs {
	// P[Z >= m] = P[|Z| >= m]/(1 + P[|Z| >= 1]) for the tails of halfGaussian and m >= 1.
	prec := 2*places + 64
	one := new(big.Int).Lsh(big.NewInt(1), prec)
	half := halfGaussian{d.num, d.shift}.tails(prec)
	sum := interval{new(big.Int).Add(one, half[0].lo), new(big.Int).Add(one, half[0].hi)}
	t := logs{slack: big.NewInt(1), places: places}
	add := func(low, high *big.Int) { // bounds of F(x)
		from, to := negLog(high, prec, places, false), negLog(low, prec, places, true)
		if to.Sub(to, from); to.Cmp(t.slack) > 0 {
			t.slack = to
		}
		t.a = append(t.a, from)
	}
	tail := func(m int) (low, high *big.Int) {
		low, high = new(big.Int).Lsh(half[m-1].lo, prec), new(big.Int).Lsh(half[m-1].hi, prec)
		return low.Quo(low, sum.hi), quoUp(high, high, sum.lo)
	}
	m := 1 + sort.Search(len(half)-1, func(i int) bool { return uint(half[i].hi.BitLen()) < prec-places })
	t.top = int64(m) - 1
	for ; m >= 1; m-- { // F(m-1) = 1 - P[Z >= m]
		low, high := tail(m)
		add(high.Sub(one, high), low.Sub(one, low))
	}
	for m = 1; ; m++ { // F(-m) = P[Z >= m]
		low, high := tail(m)
		if uint(low.BitLen()) <= prec-places { // the last tail is such
			t.a = append(t.a, negLog(high, prec, places, false))
			return t
		}
		add(low, high)
	}
}

// negLog returns -2^places log(x/2^prec) for 0 < x <= 2^prec, rounded up or down by at most 2. With x/2^prec
// = w 2^-e and w in [1/2, 1], the logarithm is e log 2 + 2 atanh((1-w)/(1+w)), and log 2 = 2 atanh(1/3). See
// atanh for the error. The guard bits exceed it for every precision below 2^24.
func negLog(x *big.Int, prec, places uint, up bool) *big.Int {
	work := prec + guard
	e := prec - min(prec, uint(x.BitLen()))
	one := new(big.Int).Lsh(big.NewInt(1), work)
	w := new(big.Int).Lsh(x, guard+e)
	log := twiceAtanh(new(big.Int).Sub(one, w), new(big.Int).Add(one, w), work)
	log.Add(log, new(big.Int).Mul(big.NewInt(int64(e)), twiceAtanh(big.NewInt(1), big.NewInt(3), work)))
	if up {
		most := new(big.Int).SetUint64(8 * uint64(work) * uint64(e+1))
		return rshUp(log.Add(log, most), work-places)
	}
	return log.Rsh(log, work-places)
}

// twiceAtanh returns 2^work 2 atanh(p/q) for 0 <= p/q <= 1/3, too small by at most 8 work. Every step rounds
// down. The error of z^2 is at most 4/3. The error of a power 2 z^j is at most 3: a ninth of the previous
// error, 8/9 for the error of z^2, and 1 for rounding. A quotient adds 1. There are at most work/3 + 1 terms,
// and the omitted terms are below 4 together.
func twiceAtanh(p, q *big.Int, work uint) *big.Int {
	power := new(big.Int).Lsh(p, work+1)
	power.Quo(power, q) // 2 z
	square := new(big.Int).Mul(power, power)
	square.Rsh(square, work+2)
	sum, term := new(big.Int), new(big.Int)
	for j := int64(1); power.Sign() > 0; j += 2 {
		sum.Add(sum, term.Quo(power, big.NewInt(j)))
		power.Rsh(power.Mul(power, square), work)
	}
	return sum
}

// findExactly returns the pair for the real whole + x. It extends x until the pair is certain.
func (d *DiscreteGaussian) findExactly(n, whole uint64, x *lazy) (largest int64, first uint64) {
	for ; ; x.extend() {
		for x.bits < 128 {
			x.extend()
		}
		t := d.logs(x.bits)
		e := new(big.Int).SetUint64(whole)
		e.Or(e.Lsh(e, x.bits), &x.head)
		if largest, first, ok := t.find(n, e); ok {
			return largest, first
		}
	}
}

// find returns the pair for a real in [e, e+1)/2^places, or false if the table does not decide.
func (t logs) find(n uint64, e *big.Int) (largest int64, first uint64, ok bool) {
	count := new(big.Int).SetUint64(n)
	start := func(j int) *big.Int { return new(big.Int).Mul(t.a[j], count) }
	j := sort.Search(len(t.a), func(j int) bool { return start(j).Cmp(e) > 0 }) - 1
	if j < 0 || j+1 == len(t.a) {
		return 0, 0, false
	}
	from, width := start(j), new(big.Int).Sub(t.a[j+1], t.a[j])
	if width.Sign() <= 0 {
		return 0, 0, false
	}
	i := new(big.Int).Sub(e, from)
	if i.Quo(i, width); i.Cmp(count) >= 0 {
		i.Sub(count, big.NewInt(1))
	}
	if first = i.Uint64(); first > 0 && j+2 == len(t.a) {
		return 0, 0, false
	}
	from.Add(from, i.Mul(i, width))
	to := new(big.Int).Add(from, width)
	above := from.Add(from, count.Mul(count, t.slack))
	return t.top - int64(j), first, above.Cmp(e) <= 0 && to.Cmp(e) > 0
}
