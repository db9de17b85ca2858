package rng

import (
	"math"
	"math/big"
)

// interval encloses a number x in [0, 1] with precision prec: lo <= 2^prec x <= hi.
type interval struct{ lo, hi *big.Int }

// expNeg encloses exp(-p/q) for integers p >= 0 and q > 0.
func expNeg(p, q *big.Int, prec uint) interval {
	// It halves p/q h times, until the result y is at most 1/2. It sums the series of exp(y). The terms are
	// positive, and are rounded down for lo and up for hi. Each omitted term is at most half its predecessor,
	// so the omitted terms together are less than the last term. Then it takes the reciprocal, which swaps
	// the bounds, and squares h times. Every operation is monotone and rounds outwards, so the enclosure is
	// correct at every working precision.
	h := uint(max(0, p.BitLen()-q.BitLen()+2))
	work := prec + 2*h + 32
	one := new(big.Int).Lsh(big.NewInt(1), work)
	term := interval{new(big.Int).Set(one), new(big.Int).Set(one)}
	sum := interval{new(big.Int).Set(one), new(big.Int).Set(one)}
	for j := int64(1); term.hi.Cmp(big.NewInt(1)) > 0; j++ {
		div := new(big.Int).Mul(new(big.Int).Lsh(q, h), big.NewInt(j))
		term.lo.Quo(term.lo.Mul(term.lo, p), div)
		quoUp(term.hi, term.hi.Mul(term.hi, p), div)
		sum.lo.Add(sum.lo, term.lo)
		sum.hi.Add(sum.hi, term.hi)
	}
	sum.hi.Add(sum.hi, term.hi)

	square := new(big.Int).Lsh(one, work)
	x := interval{new(big.Int).Quo(square, sum.hi), quoUp(new(big.Int), square, sum.lo)}
	for range h {
		x.lo.Rsh(x.lo.Mul(x.lo, x.lo), work)
		rshUp(x.hi.Mul(x.hi, x.hi), work)
	}
	x.lo.Rsh(x.lo, work-prec)
	rshUp(x.hi, work-prec)
	return x
}

// quoUp sets z, which may be x, to x/y rounded up, for x >= 0 and y > 0.
func quoUp(z, x, y *big.Int) *big.Int {
	var rest big.Int
	if z.QuoRem(x, y, &rest); rest.Sign() > 0 {
		z.Add(z, big.NewInt(1))
	}
	return z
}

func rshUp(x *big.Int, n uint) *big.Int {
	up := x.TrailingZeroBits() < n && x.Sign() > 0
	if x.Rsh(x, n); up {
		x.Add(x, big.NewInt(1))
	}
	return x
}

type law interface {
	// tails returns intervals around P[X >= 1], P[X >= 2], ..., in units of 2^-prec. The last interval, [0,
	// hi], contains all further tails.
	tails(prec uint) []interval
}

const (
	guard = 64 // number of extra bits of intermediate results
	spare = 16 // lists of weights or tails end with a number below 2^-(prec+spare)
)

// halfGaussian is the distribution of X >= 0 with P[X = k] proportional to exp(-k^2/(2 s^2)). Here s =
// num/2^shift.
type halfGaussian struct {
	num   uint64
	shift uint
}

func (l halfGaussian) tails(prec uint) []interval {
	// The method sums the weights w_k = exp(-k^2/(2 s^2)) from the largest k down. With q = exp(-1/(2 s^2)),
	// the ratio w_(k+1)/w_k = q^(2k+1) decreases by the factor q^2 per term. So a weight takes two products,
	// rounded down for lo and up for hi. Because the ratios decrease, the sum of all weights beyond w_K is at
	// most w_K r/(1-r), where r is the ratio at K.
	work := prec + guard
	den := new(big.Int).SetUint64(l.num)
	den.Lsh(den.Mul(den, den), 1)
	q := expNeg(new(big.Int).Lsh(big.NewInt(1), 2*l.shift), den, work)
	lo, _ := gaussianWeights(q.lo, work, guard-spare, func(x *big.Int) *big.Int { return x.Rsh(x, work) })
	hi, ratio := gaussianWeights(q.hi, work, guard-spare, func(x *big.Int) *big.Int { return rshUp(x, work) })
	for len(lo) < len(hi) {
		lo = append(lo, new(big.Int))
	}
	last := hi[len(hi)-1]
	one := new(big.Int).Lsh(big.NewInt(1), work)
	rest := quoUp(new(big.Int), new(big.Int).Mul(last, ratio), one.Sub(one, ratio))

	hi[len(hi)-1] = new(big.Int).Add(last, rest)
	for k := len(hi) - 2; k >= 0; k-- { // sums of w_k, w_(k+1), ...
		lo[k].Add(lo[k], lo[k+1])
		hi[k].Add(hi[k], hi[k+1])
	}
	all := interval{lo[0], hi[0]}
	tails := make([]interval, 0, len(hi))
	for k := 1; k < len(hi); k++ {
		tails = append(tails, interval{
			lo[k].Quo(lo[k].Lsh(lo[k], prec), all.hi),
			quoUp(new(big.Int), hi[k].Lsh(hi[k], prec), all.lo),
		})
	}
	return append(tails, interval{new(big.Int), quoUp(new(big.Int), rest.Lsh(rest, prec), all.lo)})
}

// gaussianWeights returns w[k] = q^(k^2) for k from 0 to some K, and ratio = w[K+1]/w[K]. The weight w[K] is
// the first below 2^(stop-work). All numbers are scaled by 2^work. The function round divides by 2^work, in
// place.
func gaussianWeights(q *big.Int, work, stop uint, round func(*big.Int) *big.Int) (w []*big.Int, ratio *big.Int) {
	weight := new(big.Int).Lsh(big.NewInt(1), work)
	ratio = new(big.Int).Set(q)
	q2 := round(new(big.Int).Mul(q, q))
	for {
		w = append(w, weight)
		if uint(weight.BitLen()) <= stop {
			return w, ratio
		}
		weight = round(new(big.Int).Mul(weight, ratio))
		round(ratio.Mul(ratio, q2))
	}
}

// geometric is the distribution of an integer X >= 0 with P[X >= m] = exp(-m 2^shift/num).
type geometric struct {
	num   uint64
	shift uint
}

func (l geometric) tails(prec uint) (tails []interval) {
	work := prec + guard
	r := expNeg(new(big.Int).Lsh(big.NewInt(1), l.shift), new(big.Int).SetUint64(l.num), work)
	x := interval{r.lo, r.hi}
	for uint(x.hi.BitLen()) > guard-spare {
		tails = append(tails, interval{new(big.Int).Rsh(x.lo, guard), rshUp(new(big.Int).Set(x.hi), guard)})
		lo, hi := new(big.Int).Mul(x.lo, r.lo), new(big.Int).Mul(x.hi, r.hi)
		x = interval{lo.Rsh(lo, work), rshUp(hi, work)}
	}
	return append(tails, interval{new(big.Int), rshUp(x.hi, guard)})
}

type coin struct{}

func (coin) tails(prec uint) []interval {
	one := big.NewInt(1)
	return []interval{expNeg(one, one, prec), {new(big.Int), new(big.Int)}}
}

// Masses tabulates the distribution of an integer Z on [-Reach, Reach].
type Masses struct {
	Reach int64
	mass  []float64
	below []float64 // P[Z <= m]
}

// NewMasses tabulates the distribution with P[Z = k] = exp(logProb(k)) for |k| <= reach.
func NewMasses(logProb func(int64) float64, reach int64) Masses {
	t := Masses{Reach: reach, mass: make([]float64, 2*reach+1), below: make([]float64, 2*reach+1)}
	sum := 0.0
	for m := -reach; m <= reach; m++ {
		p := math.Exp(logProb(m))
		sum += p
		t.mass[m+reach], t.below[m+reach] = p, math.Min(1, sum)
	}
	return t
}

// At returns P[Z = m] for m in [-Reach, Reach].
func (t Masses) At(m int64) float64 { return t.mass[m+t.Reach] }

// FillAt sets products[i] to P[Z = m + i stride]. Every m + i stride must be in [-Reach, Reach].
func (t Masses) FillAt(products []float64, m, stride int64) {
	mass := t.mass[m+t.Reach:]
	for i := range products {
		products[i] = mass[int64(i)*stride]
	}
}

// AtMost returns P[Z <= m].
func (t Masses) AtMost(m int64) float64 {
	switch {
	case m < -t.Reach:
		return 0
	case m >= t.Reach:
		return 1
	}
	return t.below[m+t.Reach]
}

// TimesAtMost multiplies products[i] by t.AtMost(m + i stride), for stride > 0.
func (t Masses) TimesAtMost(products []float64, m, stride int64) {
	before := func(limit int64) int64 {
		return min(max(0, (limit-m+stride-1)/stride), int64(len(products)))
	}
	none, some := before(-t.Reach), before(t.Reach) // from some on, all factors are 1
	clear(products[:none])
	if products = products[none:some]; len(products) == 0 {
		return
	}
	below := t.below[m+none*stride+t.Reach:]
	if stride == 1 {
		below = below[:len(products)]
		for i := range products {
			products[i] *= below[i]
		}
		return
	}
	for i := range products {
		products[i] *= below[int64(i)*stride]
	}
}

// OneSided returns the distribution t, conditioned on integers >= 0.
func (t Masses) OneSided() Masses {
	from := t.AtMost(-1)
	at := Masses{Reach: t.Reach, mass: make([]float64, len(t.mass)), below: make([]float64, len(t.below))}
	for m := int64(0); m <= t.Reach; m++ {
		at.mass[m+t.Reach] = t.mass[m+t.Reach] / (1 - from)
		at.below[m+t.Reach] = math.Min(1, (t.below[m+t.Reach]-from)/(1-from))
	}
	return at
}
