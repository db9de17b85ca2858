package rng

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"sync/atomic"

	"github.com/pate-go/pate/internal/mathx"
)

// DiscreteGaussian samples integers k with probability proportional to exp(-k^2/(2 sigma^2)). The variance is
// at most sigma^2. A shift by an integer s has a Renyi divergence of at most alpha s^2/(2 sigma^2) at order
// alpha (Canonne, Kamath, Steinke 2020, Proposition 5). Concurrent use is safe if each goroutine has its own
// Stream.
type DiscreteGaussian struct {
	sigma   float64 // num/2^shift, exactly
	num     uint64
	shift   uint
	logNorm float64 // log of the sum of exp(-k^2/(2 sigma^2))

	fine  uint      // a cell has 2^fine integers
	cells inversion // |Y| / 2^fine, before the choice within the cell
	curve uint64    // floor(2^73/s^2) for s = sigma/2^fine; fine > 0 only
	slack uint64    // slack of exponent
	reach uint64    // reach of quick; fine > 0 only

	largest atomic.Pointer[logs] // see Largest
}

// For sigma below 2^8 a cell is one integer. Otherwise its width is the power of two for which sigma is at
// least 32 and less than 64 cells. Wider cells need more rejections, and narrower cells more searches.

const (
	gaussianCells  = 5
	oneToACellBits = 8
)

// NewDiscreteGaussian returns a sampler for exactly the given sigma, which must be in [2^-10, 2^40].
func NewDiscreteGaussian(sigma float64) (*DiscreteGaussian, error) {
	if !(sigma >= minScale && sigma <= maxScale) {
		return nil, fmt.Errorf("rng: sigma of discrete Gaussian noise must be in [2^-10, 2^40], not %g", sigma)
	}
	d := &DiscreteGaussian{sigma: sigma, logNorm: mathx.LogTheta(sigma), slack: 3}
	if sigma >= 1<<oneToACellBits {
		d.fine = cellBits(sigma, gaussianCells)
	}
	d.num, d.shift = dyadic(sigma)
	d.cells.law = halfGaussian{d.num, d.shift + d.fine}
	if d.fine > 0 {
		s2 := new(big.Int).SetUint64(d.num) // of s, times 4^(shift+fine)
		s2.Mul(s2, s2)
		curve := new(big.Int).Lsh(big.NewInt(1), 73+2*(d.shift+d.fine))
		d.curve = curve.Quo(curve, s2).Uint64()
		known := d.known()
		reach := new(big.Int).Lsh(big.NewInt(1), known-1+2*(d.shift+d.fine))
		d.reach = quoUp(reach, reach, s2).Uint64() << (64 - known)
	}
	return d, nil
}

// Sigma returns the argument of NewDiscreteGaussian.
func (d *DiscreteGaussian) Sigma() float64 { return d.sigma }

// LogProb returns the logarithm of the probability of k.
func (d *DiscreteGaussian) LogProb(k int64) float64 {
	z := float64(k) / d.sigma
	return -z*z/2 - d.logNorm
}

// Sample draws one value.
func (d *DiscreteGaussian) Sample(s *Stream) int64 {
	if d.fine == 0 {
		return d.sampleNarrow(s)
	}
	t := d.cells.table()
	for {
		if y, ok := d.decide(s, t, s.Uint64()); ok {
			return y
		}
	}
}

// Fill sets dst to the values of len(dst) calls of Sample.
//
//	s = sigma/2^fine
//	loop:  X >= 0 with probability proportional to exp(-X^2/(2 s^2)), by inversion
//	       B = random sign
//	       J uniform in {0..2^fine-1};  j = J/2^fine
//	       if Bernoulli(exp(-j (2X + j)/(2 s^2))) = 0: again
//	       M = 2^fine X + J
//	       if B = + or M > 0:  return B M
func (d *DiscreteGaussian) Fill(dst []int64, s *Stream) {
	// M has probability proportional to exp(-(X^2 + 2Xj + j^2)/(2 s^2)) = exp(-(X+j)^2/(2 s^2)) = exp(-M^2/(2
	// sigma^2)). Zero is returned only for B = +, because zero would count twice. For sigma below 2^8, J is
	// 0, and the Bernoulli rejects nothing.
	//
	// With wide cells one word w holds the first bits of all variables:
	//
	//	13 bits, the slot   of the uniform real U that the inversion compares
	//	50 - fine bits      of the uniform real V of the first trial of the Bernoulli
	//	fine bits           J
	//	1 bit               B
	//
	// These bits are disjoint and so independent. X and the outcome of the Bernoulli are functions of U, V
	// and later words. If w alone decides X and the Bernoulli (see quick), no other word is read. An unread
	// word does not affect the distribution. Otherwise (see settle) the next two words extend U and V, as if
	// these words had been read from the start.
	if d.fine > 0 && len(dst) >= leastQuick {
		dst = d.fill(machine, dst, s)
	}
	for i := range dst {
		dst[i] = d.Sample(s)
	}
}

const leastQuick = 16

func (d *DiscreteGaussian) fill(on path, dst []int64, s *Stream) []int64 {
	t := d.cells.table()
	var decided quickValues
whole:
	for len(dst) >= leastQuick {
		s.src.ahead()
		at, refills := s.src.at, s.src.refills
		first := at &^ (quickWords - 1)
		to := min(s.src.end, first+quickWords, at+uint(len(dst)))
		d.quickAll(on, &decided, (*[quickWords]uint64)(s.src.words[first:]), t)
		for at < to {
			from := at
			at = min(at+uint(bits.TrailingZeros64(decided.odd>>(at%quickWords))), to)
			dst = dst[decided.copy(on, dst, from%quickWords, at-from):]
			if at == to {
				break
			}
			if at+4 <= s.src.end {
				if y, accepted, rejected := d.settleFour(t, (*[4]uint64)(s.src.words[at:])); accepted {
					dst[0] = y
					dst = dst[1:]
					at += 3
					continue
				} else if rejected {
					at += 4
					continue
				}
			}
			s.src.at = at
			y, ok := d.decide(s, t, s.Uint64())
			if ok {
				dst[0] = y
				dst = dst[1:]
			}
			if s.src.refills != refills {
				continue whole
			}
			at = s.src.at
		}
		s.src.at = at
	}
	return dst
}

// settleFour computes the result of decide for w = words[0], but faster. If accepted and rejected are both
// false, the caller must call decide.
func (d *DiscreteGaussian) settleFour(t *table, words *[4]uint64) (y int64, accepted, rejected bool) {
	w := words[0]
	_, quick := d.quick(t, w)
	u, v := d.extended(w, words[1], words[2])
	x := uint64(t.guide[w>>(64-guideBits)] % open)
	x += (u - t.tails[x]) >> 63 // one more if u is below; both are below 2^63
	least := t.tails[x] + t.slack
	j := w >> 1 & (1<<(d.fine&63) - 1)
	g := d.exponent(x, j)
	top := g.frac + g.slack
	m := x<<(d.fine&63) | j
	y, _ = signed(m, w&1)
	if quick || u < least || x >= 1<<9 || m == 0 {
		return 0, false, false
	}
	return y, v >= top, v < g.frac && words[3] > top/2 // the second trial fails, as 2 words[3] >= top
}

func (d *DiscreteGaussian) decide(s *Stream, t *table, w uint64) (y int64, ok bool) {
	m, ok := d.quick(t, w)
	if !ok {
		m, ok = d.settle(s, t, w, s.Uint64(), s.Uint64())
	}
	y, one := signed(m, w&1)
	return y, ok && one
}

type quickValues struct {
	values [quickWords + copied]int64
	odd    uint64 // bits of the words that need more words, are rejected, or give zero
}

const (
	quickWords = 64
	copied     = 32 // values at a time: a fixed number avoids a branch
)

func (t *quickValues) copy(on path, dst []int64, from, n uint) uint {
	if on == portable || n > copied || len(dst) < copied {
		return uint(copy(dst, t.values[from:from+n]))
	}
	copy32((*[copied]int64)(dst), (*[copied]int64)(t.values[from:]))
	return n
}

func (d *DiscreteGaussian) quickAll(on path, decided *quickValues, words *[quickWords]uint64, t *table) {
	if on > portable {
		decided.odd = quick256(&decided.values[0], words, &t.guide[0], uint64(d.fine), d.reach)
		return
	}
	decided.odd = 0
	for i, w := range words {
		m, ok := d.quick(t, w)
		decided.values[i], _ = signed(m, w&1)
		if !ok || m == 0 {
			decided.odd |= 1 << i
		}
	}
}

func (d *DiscreteGaussian) sampleNarrow(s *Stream) int64 {
	for {
		w := s.Uint64()
		if y, ok := signed(d.cells.find(s, w>>1), w&1); ok {
			return y
		}
	}
}

func (d *DiscreteGaussian) known() uint { return 63 - guideBits - d.fine }

// quick returns a magnitude M (see [DiscreteGaussian.Fill]). If the random word w alone proves that M is
// accepted, ok is true.
func (d *DiscreteGaussian) quick(t *table, w uint64) (m uint64, ok bool) {
	// The slot is within one cell X, and V >= (2X+1)/(2 s^2). The right side exceeds the exponent g = j
	// (2X+j)/(2 s^2) for every j < 1. So the first trial V < g fails and the Bernoulli is true.
	//
	// Let v be the first n bits of V. Then V >= v/2^n. The field reach is ceil(2^n/(2 s^2)) 2^(64-n), and
	// w<<13 is v 2^(64-n) plus less than 2^(64-n). If a slot is within one cell X, then X < 4s, because the
	// probability of X is at least 2^-13. So (2X+1) reach < 2^63.
	x := uint64(t.guide[w>>(64-guideBits)])
	return x<<(d.fine&63) | w>>1&(1<<(d.fine&63)-1), x < open && w<<guideBits >= (2*x+1)*d.reach
}

func (d *DiscreteGaussian) extended(w, moreU, moreV uint64) (u, v uint64) {
	const rest = uBits - guideBits
	known := d.known() & 63
	u = w>>(64-guideBits)<<rest | moreU>>(64-rest)
	return u, w<<guideBits>>((64-known)&63)<<((64-known)&63) | moreV>>known
}

func (d *DiscreteGaussian) settle(s *Stream, t *table, w, moreU, moreV uint64) (m uint64, ok bool) {
	u, v := d.extended(w, moreU, moreV)
	x, ok := t.search(u)
	if !ok {
		x = extend(s, d.cells.law, u, uBits)
	}
	j := w >> 1 & (1<<d.fine - 1)
	return x<<d.fine | j, d.accept(s, x, j, v)
}

func signed(m, bit uint64) (y int64, ok bool) {
	return int64((m ^ -bit) + bit), m|(bit^1) != 0
}

func (d *DiscreteGaussian) accept(s *Stream, x, j, v uint64) bool {
	// The word v begins the first trial. It is not used if x is too large for 64-bit arithmetic, and quick
	// decides no such x. So v is independent of earlier decisions.
	exact := func() (p, q *big.Int) { return d.exactExponent(x, j) }
	if x >= 1<<9 {
		return bernoulliExpBig(s, exact)
	}
	g := d.exponent(x, j)
	return v >= g.frac+g.slack || bernoulliExpFrom(s, v, g, exact)
}

// exponent encloses g = i (2x + i)/(2 s^2), where i = j/2^fine and s = sigma/2^fine. The acceptance
// probability is e^-g. The argument x must be below 2^9.
func (d *DiscreteGaussian) exponent(x, j uint64) exponent {
	// 2^64 g = y c/2^64 with y = 2^54 i (2x+i) < 2^64 and c = 2^74/(2 s^2). c is at most 2^63 because s >=
	// 2^5, so g < 1/2. Three roundings decrease the result by less than 1 each: of y (by less than 2), of c,
	// and of the result. So the slack is 3.
	i := j << (64 - d.fine)
	y, _ := bits.Mul64(i, x<<55+i>>10)
	g, _ := bits.Mul64(y, d.curve)
	return exponent{0, g, d.slack}
}

func (d *DiscreteGaussian) exactExponent(x, j uint64) (p, q *big.Int) {
	bigJ := new(big.Int).SetUint64(j)
	p = new(big.Int).SetUint64(x)
	p.Add(p.Lsh(p, d.fine+1), bigJ)
	p.Lsh(p.Mul(p, bigJ), 2*d.shift)
	q = new(big.Int).SetUint64(d.num)
	return p, q.Lsh(q.Mul(q, q), 1)
}

func cellBits(scale float64, cells int) uint {
	_, exp := math.Frexp(scale) // scale in [2^(exp-1), 2^exp)
	return uint(max(0, exp-1-cells))
}
