package accountant

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// A curve is an upper bound of the Rényi divergence at each order a in (1, +Inf].
type curve func(a float64) float64

func chord(a float64, moment func(order int) float64) float64 {
	// A log moment is convex in the order.
	lo := math.Floor(a)
	x := a - lo
	if x == 0 {
		return moment(int(lo))
	}
	return (1-x)*moment(int(lo)) + x*moment(int(lo)+1)
}

func gaussianCurve(ratio float64) curve {
	return linearCurve(math.Max(ratio*ratio/2, math.SmallestNonzeroFloat64))
}

func linearCurve(rho float64) curve {
	return func(a float64) float64 {
		if rho == 0 {
			return 0
		}
		return a * rho
	}
}

func pureCurve(eps float64) curve {
	// The curve is log((e^{a eps} + e^{eps - a eps})/(1 + e^eps))/(a-1). Randomised response attains this
	// curve. The logarithm is log(1 + b) with b = 4 sinh(a eps/2) sinh((a-1) eps/2) e^{eps/2}/(1+e^eps) = 2
	// sinh(a eps/2) sinh((a-1) eps/2)/cosh(eps/2). This form is accurate for tiny eps and does not overflow
	// for large eps.
	if math.IsInf(eps, 1) {
		return infiniteCurve
	}
	return func(a float64) float64 {
		if math.IsInf(a, 1) || eps == 0 {
			return eps
		}
		x, y := a*eps/2, (a-1)*eps/2
		if x < 300 {
			bracket := 2 * math.Sinh(x) * math.Sinh(y) / math.Cosh(eps/2)
			return math.Min(eps, atLeastTiny(math.Log1p(bracket)/(a-1)))
		}
		log := (a-1)*eps + math.Log1p(math.Exp((1-2*a)*eps)) - math.Log1p(math.Exp(-eps))
		return math.Min(eps, log/(a-1))
	}
}

func laplaceCurve(eps float64) curve {
	// The curve is log(a/(2a-1) e^{(a-1) eps} + (a-1)/(2a-1) e^{-a eps})/(a-1) (Mironov 2017, Proposition 6).
	// The weights sum to one, so the argument of the logarithm is 1 plus a sum of expm1 terms.
	if math.IsInf(eps, 1) {
		return infiniteCurve
	}
	return func(a float64) float64 {
		if math.IsInf(a, 1) {
			return eps
		}
		y := (a - 1) * eps
		if y > 300 {
			return math.Min(eps, (math.Log(a/(2*a-1))+mathx.LogAddExp(y, math.Log((a-1)/a)-a*eps))/(a-1))
		}
		var s float64
		if a*eps < 0.01 {
			// a expm1(y) + (a-1) expm1(-a eps) cancels to second order. It equals a(a-1) eps [ h(y) - h(-a
			// eps) ] with h(t) = (e^t-1-t)/t.
			s = a * (a - 1) * eps * (tail(y) - tail(-a*eps)) / (2*a - 1)
		} else {
			s = (a*math.Expm1(y) + (a-1)*math.Expm1(-a*eps)) / (2*a - 1)
		}
		return math.Min(eps, atLeastTiny(math.Log1p(s)/(a-1)))
	}
}

// tail returns (e^t - 1 - t)/t. The argument must have |t| < 0.01.
func tail(t float64) float64 {
	return t / 2 * (1 + t/3*(1+t/4*(1+t/5*(1+t/6*(1+t/7)))))
}

// sampledPureCurve bounds the Rényi divergence of an eps-DP mechanism on a Poisson sample of rate q.
// Neighbours differ by one added or removed record.
func sampledPureCurve(q, eps float64) curve {
	// The worst mechanism is randomised response. Its two outcomes have likelihood ratios 1+u and 1-v, with u
	// = q(e^eps - 1) and v = q(1-e^-eps), and masses 1/(1+e^eps) and e^eps/(1+e^eps). The ratio 1+x has mean
	// 1, so the moment of order a minus 1 is the mean of (1+x)^a - 1 - a x. Swapping the outcomes swaps both
	// distributions. So the larger direction is the divergence of the mixture from its base (Mironov, Talwar,
	// Zhang 2019, Theorem 5).
	pure := pureCurve(math.Min(eps, mathx.LogMix(q, eps)*(1+1e-15)))
	high, low := 1/(1+math.Exp(eps)), 1/(1+math.Exp(-eps))
	u, v := q*math.Expm1(eps), q*math.Expm1(-eps)
	lu, lv := math.Log1p(u), math.Log1p(v)
	return func(a float64) float64 {
		if math.IsInf(a, 1) || (a+1)*lu > 300 || -(a+1)*lv > 300 {
			return pure(a)
		}
		forward := math.Log1p(high*excess(u, lu, a)+low*excess(v, lv, a)) / (a - 1)
		return math.Min(pure(a), atLeastTiny(forward*(1+1e-12)))
	}
}

// boundedRangeCurve returns the curve of an eps-bounded-range mechanism (Durfee, Rogers 2019). For any two
// neighbours, all privacy losses of this mechanism are in one interval [t-eps, t].
func boundedRangeCurve(eps float64) curve {
	// The worst pair of distributions has two outcomes. Its moment is ((1-e^{-a eps}) e^{(a-1)t} - (e^-eps -
	// e^{-a eps}) e^{at})/(1-e^-eps). With phi(x) = log((1-e^-x)/x), the divergence at the worst t is eps +
	// phi(a eps) - phi((a-1) eps) + (phi(a eps) - phi(eps))/(a-1). The divergence never exceeds a eps^2/8
	// (Cesar, Rogers 2021) or the pure curve.
	pure := pureCurve(eps)
	if math.IsInf(eps*eps, 1) {
		return pure
	}
	return func(a float64) float64 {
		if math.IsInf(a, 1) || eps == 0 {
			return eps
		}
		simple := math.Min(a*eps*eps/8, pure(a))
		var d float64
		if (a-1)*eps < 0.5 && eps < 1000 {
			d = boundedRangeSmall(eps, a)
		} else {
			ratio := math.Log1p(-math.Exp(-a*eps)) - math.Log1p(-math.Exp(-(a-1)*eps))
			if a*eps < 36 {
				ratio = math.Log1p(math.Expm1(eps) / (math.Exp(a*eps) - math.Exp(eps)))
			}
			d = eps + ratio + math.Log1p(-1/a) + (mathx.Log1mExp(a*eps)-mathx.Log1mExp(eps)-math.Log(a))/(a-1)
		}
		return atLeastTiny(math.Min(simple, d))
	}
}

func boundedRangeSmall(eps, a float64) float64 {
	// With x = eps/2, y = (a-1) eps/2 and sinhc(x) = sinh(x)/x the divergence is log(sinhc(x+y)/sinhc(y)) +
	// log(sinhc(x+y)/sinhc(x))/(a-1). By the addition theorem each ratio is 1 + s/a, where s is a sum of
	// positive terms.
	x, y := eps/2, (a-1)*eps/2
	cx, cy := xCothLess1(x), xCothLess1(y)
	sx, sy := sinhcLess1(x), sinhcLess1(y)
	hx, hy := math.Sinh(x/2), math.Sinh(y/2)
	overY := (a-1)*2*hx*hx + cy*(1+sx) + sx
	overX := 2*hy*hy + (a-1)*(cx*(1+sy)+sy)
	return math.Log1p(overY/a) + math.Log1p(overX/a)/(a-1)
}

func sinhcLess1(x float64) float64 {
	y := x * x
	if y < 1 {
		return y / 6 * (1 + y/20*(1+y/42*(1+y/72*(1+y/110*(1+y/156*(1+y/210))))))
	}
	return math.Sinh(x)/x - 1
}

// xCothLess1 returns x coth(x) - 1 = (x cosh(x) - sinh(x))/sinh(x).
func xCothLess1(x float64) float64 {
	y := x * x
	if y < 1 { // the numerator over x^3: sum of 2k/(2k+1)! x^{2k-2} from k = 1
		n := 1 + y/10*(1+y/28*(1+y/54*(1+y/88*(1+y/130*(1+y/180)))))
		return y / 3 * n / (1 + sinhcLess1(x))
	}
	return x/math.Tanh(x) - 1
}

// atLeastTiny replaces 0 after an underflow, so that many runs of a mechanism still have a cost.
func atLeastTiny(divergence float64) float64 {
	return math.Max(divergence, math.SmallestNonzeroFloat64)
}

func infiniteCurve(float64) float64 { return math.Inf(1) }

// excess returns (1+r)^a - 1 - a r, where l = log(1+r).
func excess(r, l, a float64) float64 {
	if x := math.Abs(r) * a; x < 3e-3 {
		return a * (a - 1) / 2 * r * r * (1 + (a-2)/3*r*(1+(a-3)/4*r*(1+(a-4)/5*r*(1+(a-5)/6*r*(1+(a-6)/7*r)))))
	}
	return (1+r)*math.Expm1((a-1)*l) - (a-1)*r
}

func leastCurve(c, d curve) curve {
	return func(a float64) float64 { return math.Min(c(a), d(a)) }
}

func discreteLaplaceCurve(scale float64, sensitivity int64) curve {
	// The noise has ratio r = e^-t, t = 1/scale, and is shifted by the sensitivity s. The divergence is
	// convex in the shift and 0 at shift 0. So in the worst case one coordinate has all of the L1
	// sensitivity. The loss is s t on the mass 1/(1+r), and -s t on the mass r^s/(1+r). The s-1 outcomes
	// between the two give a geometric series. With p = a t and m = (a-1) t the moment of order a is (sinh(p)
	// e^{ms} + sinh(m) e^{-ps})/(sinh(p) + sinh(m)).
	t, s := 1/scale, float64(sensitivity)
	pure := pureCurve(s * t)
	return func(a float64) float64 {
		if math.IsInf(a, 1) || sensitivity == 1 || math.IsInf(s*t, 1) {
			return pure(a)
		}
		p, m := a*t, (a-1)*t
		ratio := math.Exp(-t) // sinh(m)/sinh(p), after the next lines
		if q := math.Expm1(-2*m) / math.Expm1(-2*p); q < 1 {
			ratio *= q
		}
		if m*s > 300 {
			log := m*s + math.Log1p(ratio*math.Exp(-(p+m)*s)) - math.Log1p(ratio)
			return math.Min(log/(a-1), pure(a))
		}
		var above float64 // the moment minus 1
		if p*s < 0.01 {
			// sinh(p) expm1(ms) + sinh(m) expm1(-ps) cancels to second order. With sinhc(x) = sinh(x)/x and
			// tail(x) = (e^x-1-x)/x the sum is s m p times a sum of positive terms.
			sp, sm := sinhc(p), sinhc(m)
			difference := t * (p + m) / 6 * (1 + (p*p+m*m)/20) // sinhc(p) - sinhc(m)
			above = s * m * (difference + sp*tail(m*s) - sm*tail(-p*s)) / (sp + (a-1)/a*sm)
		} else {
			above = (math.Expm1(m*s) + ratio*math.Expm1(-p*s)) / (1 + ratio)
		}
		return atLeastTiny(math.Min(math.Log1p(above)/(a-1), pure(a)))
	}
}

// sinhc returns sinh(x)/x. The argument must have |x| < 0.01.
func sinhc(x float64) float64 { return 1 + x*x/6*(1+x*x/20*(1+x*x/42)) }

func karyCurve(eps float64, categories int64) curve {
	// The curve is log((e^{a eps} + e^{(1-a) eps} + k - 2)/(e^eps + k - 1))/(a-1). As in pureCurve (k = 2),
	// the numerator minus the denominator is 4 sinh(a eps/2) sinh((a-1) eps/2) e^{eps/2}.
	others := float64(categories) - 1
	pure := pureCurve(eps)
	return func(a float64) float64 {
		x, y := a*eps/2, (a-1)*eps/2
		if math.IsInf(a, 1) || eps == 0 || x >= 300 {
			return pure(a) // the other categories are negligible
		}
		bracket := 4 * math.Sinh(x) * math.Sinh(y) * math.Exp(eps/2) / (math.Exp(eps) + others)
		return math.Min(pure(a), atLeastTiny(math.Log1p(bracket)/(a-1)))
	}
}

// maxWithoutReplacement is the largest Rényi order at which sampling without replacement may lower the bound.
// At larger orders, the bound is the curve of the mechanism without sampling.
const maxWithoutReplacement = 512

// The moment of integer order a is at most 1 + sum_{j>=2} C(a,j) q^j t_j (Wang, Balle, Kasiviswanathan 2019,
// Theorem 9). Here q is the sampled fraction, and t_j depends on the mechanism.

// withoutReplacement bounds the Rényi divergence of a mechanism on a random subset of fixed size. Neighbours
// differ in one replaced record.
type withoutReplacement struct {
	logq    float64
	inner   curve
	logTerm func(j int) float64 // log t_j
	terms   []float64           // terms[j] = log t_j, computed on demand
	moments []float64           // log moments at integer orders; NaN if not yet computed
}

func withoutReplacementCurve(q float64, e Event) curve {
	inner := curveOf(e)
	w := &withoutReplacement{logq: math.Log(q), inner: inner, terms: []float64{0, 0}, moments: []float64{0, 0}}
	if noise, ok := e.(Gaussian); ok {
		w.logTerm = newRatioMoments(noise.NoiseMultiplier).logTerm
	} else {
		w.logTerm = func(j int) float64 { return generalTerm(inner, j) }
	}
	return func(a float64) float64 {
		plain := inner(a)
		if a > maxWithoutReplacement {
			return plain
		}
		return math.Min(plain, atLeastTiny(chord(a, w.moment)/(a-1)))
	}
}

func generalTerm(inner curve, j int) float64 {
	// t_j is e^{(j-1) eps(j)} min(2, (e^{eps(inf)}-1)^j). For j = 2, t_j is also at most 4 (e^{eps(2)} - 1).
	r := inner(float64(j))
	if r == 0 {
		return math.Inf(-1)
	}
	t := float64(j-1)*r + math.Min(math.Ln2, float64(j)*mathx.LogExpm1(inner(math.Inf(1))))
	if j == 2 {
		t = math.Min(t, math.Log(4)+mathx.LogExpm1(r))
	}
	return t
}

func (w *withoutReplacement) moment(a int) float64 {
	for len(w.moments) <= a {
		w.moments = append(w.moments, math.NaN())
	}
	if a > 1 && math.IsNaN(w.moments[a]) {
		logs, choose := make([]float64, 0, a), math.Log(float64(a))
		for j := 2; j <= a; j++ {
			choose += math.Log(float64(a-j+1) / float64(j))
			logs = append(logs, choose+float64(j)*w.logq+w.term(j))
		}
		w.moments[a] = mathx.LogAddExp(0, mathx.LogSumExp(logs)) * (1 + 1e-13)
	}
	return w.moments[a]
}

func (w *withoutReplacement) term(j int) float64 {
	for len(w.terms) <= j {
		w.terms = append(w.terms, w.logTerm(len(w.terms)))
	}
	return w.terms[j]
}

type ratioMoments struct {
	sigma float64
	even  []float64 // even[l/2] = log E (r-1)^l
}

func newRatioMoments(sigma float64) *ratioMoments {
	return &ratioMoments{sigma: sigma, even: []float64{0}}
}

func (m *ratioMoments) logTerm(j int) float64 {
	// The term is t_j = min(4 sqrt(B(lo) B(hi)), 2 E r^j). The orders lo and hi are the even orders next to
	// j, and B(l) = E |r-1|^l (Wang et al. 2019, Proposition 11 and Theorem 27).
	x := float64(j)
	simple := math.Ln2 + x*(x-1)/(2*m.sigma*m.sigma)
	if m.sigma < 0.05 || x > 3*m.sigma*m.sigma+60 { // B is nearly E r^j here, and its factor 4 exceeds 2
		return simple
	}
	return math.Min(simple, math.Log(4)+0.5*(m.moment(j/2)+m.moment((j+1)/2)))
}

func (m *ratioMoments) moment(half int) float64 {
	for len(m.even) <= half {
		m.even = append(m.even, m.quadrature(float64(2*len(m.even))))
	}
	return m.even[half]
}

func (m *ratioMoments) quadrature(l float64) float64 {
	// The moment is E |e^u - 1|^l with u = z/sigma - 1/(2 sigma^2), by the trapezoid rule in z = x/sigma. The
	// integrand is entire. On the line Im z = y it is at most e^{y^2} times its size on the real line. So the
	// error is below 1e-60. The peaks are at |z| near sqrt(l), at z near l/sigma, or between.

	const step = 0.2
	reach := math.Sqrt(l) + 10
	left, right := int(-reach/step), int((l/m.sigma+reach)/step)+1
	logs := make([]float64, 0, right-left+1)
	for k := left; k <= right; k++ {
		z := float64(k) * step
		u := z/m.sigma - 0.5/(m.sigma*m.sigma)
		var r float64
		if u > 0 {
			r = mathx.LogExpm1(u)
		} else {
			r = mathx.Log1mExp(-u)
		}
		logs = append(logs, l*r-z*z/2)
	}
	return mathx.LogSumExp(logs) + math.Log(step) - 0.5*math.Log(2*math.Pi)
}
