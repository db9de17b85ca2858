package rng

import (
	"fmt"
	"math/big"
	"sort"
)

// maxLargestSigma is the largest Sigma for [DiscreteGaussian.Largest], whose table has about 20 Sigma
// entries.
const maxLargestSigma = 1 << 12

// Largest returns the maximum of n independent samples, and the index of the first maximum. n must be in [1,
// 2^32], and Sigma at most 2^12. The time does not grow with n.
func (d *DiscreteGaussian) Largest(n uint64, s *Stream) (largest int64, first uint64) {
	// Let F be the distribution function, a_x = -log F(x), and E a standard exponential real. The result is
	// the pair (x, i) with
	//
	//	n a_x + i d_x <= E < n a_x + (i+1) d_x,   d_x = a_{x-1} - a_x,   i = 0..n-1.
	//
	// The left side for x-1 and i = 0 is the right side for x and i = n-1. So the intervals are disjoint and
	// cover all E > 0. By P[E >= e] = exp(-e), the probability of (x, i) is
	//
	//	F(x)^(n-i) F(x-1)^i - F(x)^(n-i-1) F(x-1)^(i+1) = F(x-1)^i P[Z = x] F(x)^(n-i-1).
	//
	// This is the probability that the first i values are below x, the next is x, and no later value is above
	// x.
	whole, x := exponentialReal(&s.src, 64)
	for t := d.extremes(); ; t = d.logs(x.bits) {
		var e big.Int
		e.Or(e.Lsh(e.SetUint64(whole), x.bits), &x.head)
		if largest, first, ok := t.find(n, &e); ok && x.bits == t.places {
			return largest, first
		}
		x.extend()
	}
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

// less reports whether x < y. The fields x.digit and y.digit must be equal.
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

// logs is a table of a_x = -log P[Z <= x] for discrete Gaussian Z. For x = top - i, 2^places a_x is in [a[i],
// a[i]+slack]. The last entry of a is only a lower bound.
type logs struct {
	top    int64
	a      []*big.Int
	slack  *big.Int
	places uint
}

func (d *DiscreteGaussian) extremes() *logs {
	t := d.largest.Load()
	if t == nil {
		if d.sigma > maxLargestSigma {
			panic(fmt.Sprintf("rng: sigma of a largest value must be at most %d, not %g", maxLargestSigma, d.sigma))
		}
		t = d.logs(64)
		d.largest.Store(t)
	}
	return t
}

// logs tabulates a_x = -log P[Z <= x] for all x with 2^-places <= a_x <= log(2^places). The table also holds
// at least one more x at each end.
func (d *DiscreteGaussian) logs(places uint) *logs {
	// P[Z >= m] = P[|Z| >= m]/(1 + P[|Z| >= 1]) for the tails of halfGaussian and m >= 1.
	prec := 2*places + 64
	one := new(big.Int).Lsh(big.NewInt(1), prec)
	half := halfGaussian{d.num, d.shift}.tails(prec)
	sum := interval{new(big.Int).Add(one, half[0].lo), new(big.Int).Add(one, half[0].hi)}
	t := &logs{slack: big.NewInt(1), places: places}
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

// negLog returns -2^places log(x/2^prec) for 0 < x <= 2^prec. The argument up selects the direction of
// rounding, and the error is at most 2.
func negLog(x *big.Int, prec, places uint, up bool) *big.Int {
	// For w in [1/2, 1]: -log(w 2^-e) = e log 2 + 2 atanh((1-w)/(1+w)), and log 2 = 2 atanh(1/3). The error
	// of this sum is at most 8 work (e+1)/2^work, which is below 2^-prec for prec < 2^24.
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

// twiceAtanh returns 2^work times 2 atanh(p/q), for 0 <= p/q <= 1/3. It rounds down, by at most 8*work.
func twiceAtanh(p, q *big.Int, work uint) *big.Int {
	// Let z = p/q. Every step rounds down. The error of z^2 is at most 4/3. The errors e_j of 2 z^j satisfy
	// e_j <= e_{j-2}/9 + (2/3)(4/3) + 1, so e_j <= 3. The division by j adds at most 1. There are at most
	// work/3 + 1 terms, and the omitted terms are below 4 together.
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

// find returns the results of [DiscreteGaussian.Largest] for an exponential variate in [e, e+1)/2^t.places.
// If this interval does not determine them, ok is false.
func (t *logs) find(n uint64, e *big.Int) (largest int64, first uint64, ok bool) {
	var count, from, width, rest, to big.Int
	from.Quo(e, count.SetUint64(n)) // n a <= e if and only if a <= e/n, rounded down
	j := sort.Search(len(t.a), func(j int) bool { return t.a[j].Cmp(&from) > 0 }) - 1
	if j < 0 || j+1 == len(t.a) || width.Sub(t.a[j+1], t.a[j]).Sign() <= 0 {
		return 0, 0, false
	}
	from.Mul(t.a[j], &count)
	first = min(rest.Quo(rest.Sub(e, &from), &width).Uint64(), n-1) // a candidate
	if first > 0 && j+2 == len(t.a) {
		return 0, 0, false
	}
	from.Add(&from, rest.Mul(rest.SetUint64(first), &width)) // lower bound of n a_x + first d_x
	to.Add(&from, &width)                                    // lower bound of the end
	from.Add(&from, count.Mul(&count, t.slack))              // upper bound
	return t.top - int64(j), first, from.Cmp(e) <= 0 && to.Cmp(e) > 0
}
