package accountant

import (
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
)

// Selection runs Event a random number of times, independently, and releases the run with the best score. The
// output of Event includes the score. This is a private search over hyper-parameters (Liu, Talwar 2019;
// Papernot, Steinke 2022). The number of runs has a truncated negative binomial distribution. Eta = 1 gives a
// geometric distribution with mean 1/Gamma, and Eta = 0 a logarithmic one. The distribution must be public,
// but the number of runs must stay secret.
type Selection struct {
	Eta   float64 `json:"eta" in:">-1" alone:"true"` // shape, > -1
	Gamma float64 `json:"gamma" in:"(0, 1)"`         // in (0, 1); a small Gamma means many runs
	Event Event   `json:"event"`
}

// PoissonSelection is Selection with a Poisson distributed number of runs, which may be 0.
type PoissonSelection struct {
	Mean  float64 `json:"mean" in:">0"` // > 0
	Event Event   `json:"event"`
}

func (Selection) row() row {
	return row{"selection", "best of a random number of runs", "η {eta}, γ {gamma}", bounded}
}

func (e Selection) flatten(t *terms, count int64) {
	t.selection(e, selected{eta: e.Eta, gamma: e.Gamma}, e.Event, count)
}

func (e Selection) group(n int64) (Event, error) {
	return Selection{e.Eta, e.Gamma, Group{n, e.Event}}, nil
}

func (PoissonSelection) row() row {
	return row{"poisson_selection", "best of a Poisson number of runs", "mean {mean}", bounded}
}

func (e PoissonSelection) flatten(t *terms, count int64) {
	t.selection(e, selected{mean: e.Mean}, e.Event, count)
}

func (e PoissonSelection) group(n int64) (Event, error) {
	return PoissonSelection{e.Mean, Group{n, e.Event}}, nil
}

// logMean returns the log of the expected number of runs, rounded up. This number is eta (1-gamma) / (gamma
// (1-gamma^eta)), or (1/gamma - 1)/log(1/gamma) for eta = 0.
func (e Selection) logMean() float64 {
	l := math.Log(e.Gamma)
	shape := -l // the limit of (1-gamma^eta)/eta
	if x := e.Eta * l; math.Abs(x) > 1e-290 {
		shape = -math.Expm1(x) / e.Eta
	}
	log, logShape := math.Log1p(-e.Gamma), math.Log(shape)
	// The terms cancel if the expected number of runs is close to 1.
	return log - l - logShape + 8e-16*(math.Abs(l)+math.Abs(log)+math.Abs(logShape))
}

type selected struct {
	eta, gamma, mean float64
	rel              Relation
	inner            string
}

func (selected) row() row { return row{name: "selection"} }

func (e selected) pair() (pld.Pair, error) {
	return pld.Pair{}, &UnsupportedEventError{e, "a selection has a divergence bound, but no known dominating pair"}
}

// selection adds leaf to t, count times. selection refuses an inner event that can fail, because failures of
// unboundedly many runs add up.
func (t *terms) selection(e Event, leaf selected, inner Event, count int64) {
	if base := t.alone(inner, 1); len(base.failures.Keys) > 0 {
		t.refuse(e, "a selection among runs that may fail has no divergence bound")
	}
	data, err := MarshalEvent(inner)
	t.check(err)
	leaf.rel, leaf.inner = t.rel, string(data)
	t.add(leaf, count)
}

func (e selected) base() curve {
	inner, err := UnmarshalEvent([]byte(e.inner))
	if err != nil {
		return infiniteCurve
	}
	t := terms{rel: e.rel}
	if t.flatten(inner, 1); t.err != nil {
		return infiniteCurve
	}
	return t.total()
}

func (e selected) curve() curve {
	// The theorems bound the divergence at each order separately. A divergence grows with the order, so the
	// bounds at larger orders are also valid, and curve returns the least.
	base := e.base()
	orders := DefaultOrders()
	values := make([]float64, len(orders))
	for i, a := range orders {
		values[i] = base(a)
	}
	at := e.negativeBinomial(base, orders, values)
	if e.gamma == 0 {
		at = e.poisson(base, orders, values)
	}
	least := make([]float64, len(orders)+1)
	least[len(orders)] = math.Inf(1)
	for i := len(orders) - 1; i >= 0; i-- {
		least[i] = math.Min(least[i+1], at(orders[i]))
	}
	return func(a float64) float64 {
		v := at(a)
		for i := len(orders) - 1; i >= 0 && orders[i] >= a; i-- {
			v = math.Min(v, least[i])
		}
		return v
	}
}

// negativeBinomial follows Papernot, Steinke 2022, Theorem 2.
func (e selected) negativeBinomial(base curve, orders, values []float64) curve {
	// At order a, for any order b, the bound is eps(a) + (1+eta)(1-1/b) eps(b) + (1+eta) log(1/gamma)/b + log
	// E[K]/(a-1). For a = b = +Inf the bound is (2+eta) eps, which is 3 eps for the geometric distribution
	// (Liu, Talwar 2019).
	law := Selection{Eta: e.eta, Gamma: e.gamma}
	logMean, logGamma := law.logMean(), math.Log(e.gamma)
	second := -logGamma // b = 1
	for i, b := range orders {
		second = math.Min(second, (1-1/b)*values[i]-logGamma/b)
	}
	pure := pureCurve((2 + e.eta) * base(math.Inf(1)))
	return func(a float64) float64 {
		v := pure(a)
		if r := base(a); !math.IsInf(r, 1) && !math.IsInf(a, 1) {
			v = math.Min(v, r+(1+e.eta)*second+logMean/(a-1))
		}
		return math.Max(0, v)
	}
}

// poisson bounds the divergence for a Poisson number of runs (Papernot, Steinke 2022, Theorem 6).
func (e selected) poisson(base curve, orders, values []float64) curve {
	// If the inner run is (log(1 + 1/(a-1)), delta)-DP, the bound is eps(a) + mean delta + log(mean)/(a-1). A
	// mean below 1 is accounted as mean 1. Then each run happens with probability mean, and otherwise has the
	// worst score. Such a run costs no more.
	mean := math.Max(1, e.mean)
	return func(a float64) float64 {
		if math.IsInf(a, 1) {
			return math.Inf(1)
		}
		eps, logDelta := math.Log1p(1/(a-1)), 0.0
		for i, b := range orders {
			logDelta = math.Min(logDelta, Improved.logDelta(b, values[i], eps))
		}
		return base(a) + mean*math.Exp(logDelta) + math.Log(mean)/(a-1)
	}
}
