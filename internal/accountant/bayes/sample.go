package bayes

import (
	"math"
	"math/bits"

	"github.com/pate-go/pate/internal/mathx"
)

const lanes = 32

// Omitting a term raises a cost by at most 1e-20 per distance. There are about 10^3 terms and 10^6 distances.

// negligible is the share of a moment below which a term is omitted.
const negligible = 1e-20

// block holds the numbers that shortfall averages: row k has 1 - e^(-k(k-1)s/2) for each distance d. Here s =
// (D^2 - d^2)/V, D is the reference distance, and V is the variance of the noise.
type block [][lanes]float64

// fill computes all rows of b from the values s >= 0. Unused lanes of s must be 0.
func (b block) fill(s *[lanes]float64) {
	// Row k+1 is row k + v h, with v = e^(-k(k-1)s/2) and h = 1 - e^(-ks). All terms are positive, so no
	// digits cancel. Every 32 rows, v is computed by an exponential instead of by a product. Between these
	// rows, v has at most 32 factors with at most 34 roundings each. So the relative error of a row is below
	// 32 x 35 x 2^-53 < 1.3e-13.

	const anew = 32
	for i, x := range s {
		g1, h1 := math.Exp(-x), -math.Expm1(-x)
		var u, v, g, h float64
		for k := 1; k < len(b)-1; k++ { // computes row k+1 from row k
			switch {
			case k == 1:
				u, v, g, h = 0, 1, g1, h1
			case k%anew == 1:
				at := exponent(k, x)
				u, v = -math.Expm1(-at), math.Exp(-at)
				g, h = math.Exp(-float64(k)*x), -math.Expm1(-float64(k)*x)
			}
			u += v * h
			b[k+1][i] = u
			v *= g
			h += g * h1
			g *= g1
		}
	}
}

type term struct {
	share float64
	row   *[lanes]float64 // row k of the block
}

type law struct {
	probability float64
	orders      []int
	logs        [][]float64 // log probabilities of Bin(lambda+1, probability) for each order
}

func newLaw(probability float64, orders []int) *law {
	l := &law{probability: probability, orders: orders}
	for _, lambda := range orders {
		l.logs = append(l.logs, binomials(lambda+1, probability))
	}
	return l
}

func (l *law) costs(r float64) []float64 {
	costs := make([]float64, len(l.orders))
	for i := range costs {
		costs[i] = logOnePlus(logExcess(l.logs[i], r))
	}
	return costs
}

// shortfall sets z[i] to 1 - e^(K_i - K). K_i is the cost at distance i. K is the cost at an upper bound on
// the distances in the sample.
func shortfall(z *[lanes]float64, terms []term) {
	// This is a weighted mean of rows with values in [0, 1], so it cannot overflow.
	for i := 0; i <= lanes-8; i += 8 {
		var z0, z1, z2, z3, z4, z5, z6, z7 float64
		for _, t := range terms {
			row := (*[8]float64)(t.row[i:])
			z0 += t.share * row[0]
			z1 += t.share * row[1]
			z2 += t.share * row[2]
			z3 += t.share * row[3]
			z4 += t.share * row[4]
			z5 += t.share * row[5]
			z6 += t.share * row[6]
			z7 += t.share * row[7]
		}
		out := (*[8]float64)(z[i:])
		out[0], out[1], out[2], out[3] = z0, z1, z2, z3
		out[4], out[5], out[6], out[7] = z4, z5, z6, z7
	}
}

const fine = 0x1p-10

// power replaces z by 1 - (1-z)^t.
func power(z *[lanes]float64, t int, cost float64) {
	top := bits.Len(uint(t)) - 2
	if cost < fine {
		complements(z, t, top)
		return
	}
	for i := 0; i < lanes; i += 8 {
		part := (*[8]float64)(z[i:])
		z0, z1, z2, z3 := 1-part[0], 1-part[1], 1-part[2], 1-part[3]
		z4, z5, z6, z7 := 1-part[4], 1-part[5], 1-part[6], 1-part[7]
		y0, y1, y2, y3, y4, y5, y6, y7 := z0, z1, z2, z3, z4, z5, z6, z7
		for b := top; b >= 0; b-- {
			y0, y1, y2, y3 = y0*y0, y1*y1, y2*y2, y3*y3
			y4, y5, y6, y7 = y4*y4, y5*y5, y6*y6, y7*y7
			if t>>b&1 == 1 {
				y0, y1, y2, y3 = y0*z0, y1*z1, y2*z2, y3*z3
				y4, y5, y6, y7 = y4*z4, y5*z5, y6*z6, y7*z7
			}
		}
		part[0], part[1], part[2], part[3] = 1-y0, 1-y1, 1-y2, 1-y3
		part[4], part[5], part[6], part[7] = 1-y4, 1-y5, 1-y6, 1-y7
	}
}

// complements replaces z by 1 - (1-z)^t with a small relative error.
func complements(z *[lanes]float64, t, top int) {
	// A power follows by
	//
	//	1 - (1-w)^2 = w (2-w)    1 - (1-w)(1-z) = w + z (1-w)
	//
	// A step adds at most three roundings to the relative error of w, because the derivatives of both
	// formulas do not exceed those for 2w and w+z. For t <= 2^30 there are 60 steps, so the error is below
	// 2.1e-14.
	for i := 0; i < lanes; i += 4 {
		part := (*[4]float64)(z[i:])
		z0, z1, z2, z3 := part[0], part[1], part[2], part[3]
		w0, w1, w2, w3 := z0, z1, z2, z3
		for b := top; b >= 0; b-- {
			w0, w1, w2, w3 = w0*(2-w0), w1*(2-w1), w2*(2-w2), w3*(2-w3)
			if t>>b&1 == 1 {
				w0, w1, w2, w3 = w0+z0*(1-w0), w1+z1*(1-w1), w2+z2*(1-w2), w3+z3*(1-w3)
			}
		}
		part[0], part[1], part[2], part[3] = w0, w1, w2, w3
	}
}

type spread struct {
	n                 int
	at                float64
	sum, squares      float64
	lost, lostSquares float64
}

func (s *spread) add(xs []float64) {
	if s.n == 0 {
		s.at = xs[0]
	}
	s.n += len(xs)
	at := s.at
	var a0, a1, b0, b1 float64
	i := 0
	for ; i+2 <= len(xs); i += 2 {
		d, e := xs[i]-at, xs[i+1]-at
		a0 += d
		a1 += e
		b0 += d * d
		b1 += e * e
	}
	if i < len(xs) {
		d := xs[i] - at
		a0 += d
		b0 += d * d
	}
	s.sum, s.lost = addTo(s.sum, s.lost, a0+a1)
	s.squares, s.lostSquares = addTo(s.squares, s.lostSquares, b0+b1)
}

// addTo returns the rounded sum + x, and `lost` plus the rounding error of this addition (Neumaier 1974).
func addTo(sum, lost, x float64) (float64, float64) {
	t := sum + x
	if math.Abs(sum) >= math.Abs(x) {
		return t, lost + (sum - t + x)
	}
	return t, lost + (x - t + sum)
}

func (s spread) mean() float64 { return s.at + (s.sum+s.lost)/float64(s.n) }

func (s spread) deviations() float64 {
	off := s.sum + s.lost
	return math.Max(0, s.squares+s.lostSquares-off*off/float64(s.n))
}

// shortfalls describes T steps at one Rényi order. K_i is a step's cost at the i-th distance of a sample. K
// is the cost at an upper bound on these distances. For X_i = e^(T K_i) and X = e^(T K), shortfalls
// summarises the numbers 1 - X_i/X.
type shortfalls struct {
	cost float64 // log(X)/T
	spread
}

// arithmetic is the sum of 2e-14 for a term's fraction, 1.3e-13 for a row, and 2.1e-14 for the power, rounded
// up.

// arithmetic is a bound on the relative error of the mean in shortfalls.
const arithmetic = 2e-13

type reference struct {
	square float64
	costs  []float64
	terms  [][]term
	rows   block
}

func newReference(l *law, square float64) *reference {
	r := &reference{square: square, costs: l.costs(square), terms: make([][]term, len(l.orders))}
	shares, last := make([][]float64, len(l.orders)), 1
	for i, logs := range l.logs {
		shares[i] = make([]float64, len(logs))
		for k := 2; k < len(logs); k++ {
			if shares[i][k] = math.Exp(logs[k] + exponent(k, square) - r.costs[i]); shares[i][k] > negligible {
				last = max(last, k)
			}
		}
	}
	r.rows = make(block, last+1)
	for i := range shares {
		for k, share := range shares[i] {
			if share > negligible {
				r.terms[i] = append(r.terms[i], term{share, &r.rows[k]})
			}
		}
	}
	return r
}

func (ref *reference) scan(squares []float64, steps int) []shortfalls {
	out := make([]shortfalls, len(ref.costs))
	for i, c := range ref.costs {
		out[i].cost = c
	}
	var below, z [lanes]float64
	for low := 0; low < len(squares); low += lanes {
		part := squares[low:min(low+lanes, len(squares))]
		clear(below[:])
		for i, r := range part {
			below[i] = ref.square - r
		}
		ref.rows.fill(&below)
		for i := range out {
			shortfall(&z, ref.terms[i])
			power(&z, steps, out[i].cost)
			out[i].add(z[:len(part)])
		}
	}
	return out
}

// logMean returns s.cost + log(1 - s.mean() + extra)/steps, rounded up.
func (s shortfalls) logMean(extra float64, steps int) float64 {
	// Let W be the mean of shortfalls. The cost is K + log1p(extra - W)/T. To cover the relative error of W,
	// arithmetic x W is added to the argument. In the fast case of power, 1 - z has an error of 2^-53. Each
	// step of power doubles this error and adds two roundings. So the relative error of X_i is below 4 T
	// 2^-53. After division by T, this is less than 4.5e-16 of the cost.
	short := s.mean()
	if short == 0 && extra == 0 {
		return s.cost
	}
	excess := math.Max(extra-short+arithmetic*(short+extra), math.Nextafter(-1, 0))
	c := s.cost + math.Log1p(excess)/float64(steps)
	if s.cost >= fine {
		c += 4.5e-16
	}
	return c
}

func finite(x float64) bool { return x >= 0 && mathx.IsFinite(x) }

// LogMoment returns the log moment K of step A against step B. With probability q, step A samples one record
// more than step B. K is lambda times the Rényi divergence D(A||B) of order lambda+1. The argument r is the
// squared distance of this record, divided by the variance of the noise:
//
//	K = log E_{k ~ Bin(lambda+1, q)} exp((k^2 - k) r/2).
//
// This is the integer moment of Abadi et al. 2016 and Mironov, Talwar, Zhang 2019. The reverse direction has
// no larger moment (Mironov, Talwar, Zhang 2019, Theorem 5), so K alone is the cost. The arguments must
// satisfy 0 < q <= 1, r >= 0 and lambda >= 1. The relative error of K is about 1e-14.
func LogMoment(lambda int, q, r float64) float64 {
	return logOnePlus(logExcess(binomials(lambda+1, q), r))
}

func binomials(n int, q float64) []float64 {
	logs, logp, logq := make([]float64, n+1), math.Log(q), math.Log1p(-q)
	for k := range logs {
		logs[k] = mathx.LogBinomial(int64(k), int64(n), logp, logq)
	}
	return logs
}

func exponent(k int, r float64) float64 { return float64(k) * float64(k-1) / 2 * r }

func logExcess(binomials []float64, r float64) float64 {
	logs := make([]float64, 0, len(binomials))
	for k := 2; k < len(binomials); k++ {
		logs = append(logs, binomials[k]+logExpm1(exponent(k, r)))
	}
	return mathx.LogSumExp(logs)
}

func logExpm1(x float64) float64 {
	if x == 0 {
		return math.Inf(-1)
	}
	return mathx.LogExpm1(x)
}

func logOnePlus(x float64) float64 {
	if x > 36 {
		return x + math.Exp(-x)
	}
	return math.Log1p(math.Exp(x))
}

// PrintedReverse returns a published bound, for comparison only, on the moment in [LogMoment] with A and B
// exchanged. The bound is of first order in q, but the exact cost is of second order. The bound is
//
//	log E_{k ~ Bin(lambda, q)} exp((k^2 + k) r/2)
func PrintedReverse(lambda int, q, r float64) float64 {
	logs := binomials(lambda, q)
	for k := range logs {
		logs[k] += logExpm1(exponent(k+1, r))
	}
	return logOnePlus(mathx.LogSumExp(logs))
}
