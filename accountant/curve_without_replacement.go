package accountant

import (
	"math"

	"github.com/pate-go/pate/internal/mathx"
)

// maxWithoutReplacement is the largest order whose sum of as many terms is worth its time; above, the cost
// without sampling is a valid bound.
const maxWithoutReplacement = 512

// withoutReplacement bounds a mechanism on a random subset of fixed size under replace-one (Wang, Balle,
// Kasiviswanathan 2019, Theorem 9): at an integer order a, E <= 1 + sum_{j>=2} C(a,j) q^j t_j. The log
// moment is convex in the order, so a chord bounds the orders between.
type withoutReplacement struct {
	logq    float64
	inner   curve
	logTerm func(j int) float64 // log t_j
	terms   []float64           // terms[j], lazily
	moments []float64           // log moments at integer orders, NaN where not yet known
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

// generalTerm returns the log of t_j for any mechanism: e^{(j-1) eps(j)} min(2, (e^{eps(inf)}-1)^j), and
// for j = 2 also 4 (e^{eps(2)} - 1).
func generalTerm(inner curve, j int) float64 {
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

// ratioMoments are E |r-1|^l for the likelihood ratio r of Gaussian noise and its shift by one sensitivity,
// at even l.
type ratioMoments struct {
	sigma float64
	even  []float64 // even[l/2] = log E (r-1)^l
}

func newRatioMoments(sigma float64) *ratioMoments {
	return &ratioMoments{sigma: sigma, even: []float64{0}}
}

// logTerm returns the log of t_j = min(4 sqrt(B(lo) B(hi)), 2 E r^j) with B the even moments on either side
// of j (Wang et al. 2019, Proposition 11 and Theorem 27).
func (m *ratioMoments) logTerm(j int) float64 {
	x := float64(j)
	simple := math.Ln2 + x*(x-1)/(2*m.sigma*m.sigma)
	if m.sigma < 0.05 || x > 3*m.sigma*m.sigma+60 { // B is nearly E r^j there, and 4 above 2
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

// quadrature returns the trapezoid rule in z = x/sigma for E |e^u - 1|^l with u = z/sigma - 1/(2 sigma^2).
// The integrand is entire, and on a line at height y no larger than e^{y^2} times its size here, so the
// error at this step is below 1e-60. It peaks at |z| near sqrt(l), at z near l/sigma, or between.
func (m *ratioMoments) quadrature(l float64) float64 {
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
