package analysis

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// Mechanism describes the noise of the analysed mechanism: GNMax, Confident-GNMax (Papernot et al. 2018,
// section 4.1 and Algorithm 1) or LNMax (Papernot et al. 2017).
type Mechanism struct {
	Laplace           bool    // LNMax: the noise on the counts is Laplace instead of Gaussian
	Noise             float64 // scale or standard deviation of the noise on the counts, in votes
	Tested            bool    // Confident-GNMax: the largest count plus noise must reach Threshold
	Threshold, Sigma1 float64 // in votes; Sigma1 is the standard deviation of the test's noise
}

var published = []string{"gnmax", "confident", "lnmax"}

// Published reports whether the named mechanism has a published data-dependent cost.
func Published(name string) bool { return slices.Contains(published, name) }

func Of(name string, values map[string]float64) (Mechanism, error) {
	var m Mechanism
	switch name {
	case "gnmax":
		m = Mechanism{Noise: values["sigma"]}
	case "confident":
		m = Mechanism{Noise: values["sigma2"], Tested: true, Threshold: values["threshold"], Sigma1: values["sigma1"]}
	case "lnmax":
		m = Mechanism{Laplace: true, Noise: values["scale"]}
	default:
		return m, fmt.Errorf("analysis: no data-dependent cost of %q is published", name)
	}
	return m, m.validate()
}

func (m Mechanism) validate() error {
	if !mathx.IsFinite(m.Threshold) {
		return fmt.Errorf("analysis: Threshold must be finite, not %v", m.Threshold)
	}
	name, x := "Sigma", m.Noise
	switch {
	case m.Laplace:
		name = "Scale"
	case m.Tested && !positive(m.Sigma1):
		name, x = "Sigma1", m.Sigma1
	case m.Tested:
		name = "Sigma2"
	}
	if !positive(x) {
		return fmt.Errorf("analysis: %s must be a finite number above 0, not %v", name, x)
	}
	return nil
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// MarshalJSON writes the parameters by name. Its result is part of the identity of a release.
func (m Mechanism) MarshalJSON() ([]byte, error) {
	switch {
	case m.Laplace:
		return json.Marshal(struct{ Scale float64 }{m.Noise})
	case m.Tested:
		return json.Marshal(struct{ Threshold, Sigma1, Sigma2 float64 }{m.Threshold, m.Sigma1, m.Noise})
	}
	return json.Marshal(struct{ Sigma float64 }{m.Noise})
}

func (m Mechanism) laws(integer bool) (laws, error) {
	switch {
	case !integer && m.Laplace:
		return &instance{noise: laplaceNoise{m.Noise}}, nil
	case !integer:
		return &instance{noise: gaussianNoise{m.Noise}}, nil
	case m.Laplace:
		return newLaplaceLattice(m.Noise)
	}
	e, err := newGaussianLattice(m.Noise)
	if err != nil || !m.Tested {
		return e, err
	}
	if e.test, err = rng.NewDiscreteGaussian(m.Sigma1); err != nil {
		return nil, &IntegerNoiseError{Scale: m.Sigma1, Err: err}
	}
	return e, nil
}

type query struct {
	answer              float64 // probability of an answer
	test, testWorst     spent   // of the threshold test; nil without a test
	argmax, argmaxWorst spent   // of the noisy argmax, if it answers
}

func (m Mechanism) bounds(t tally, orders []float64) query {
	costs := func(cost func(a float64) float64) spent { return costs(orders, cost) }
	q := query{answer: 1}
	if m.Laplace {
		logQ := t.logFlipLaplace(m.Noise)
		q.argmax = costs(func(a float64) float64 { return lnmaxRDP(logQ, m.Noise, a) })
		q.argmaxWorst = costs(func(a float64) float64 { return lnmaxWorst(m.Noise, a) })
		return q
	}
	if m.Tested {
		pass, fail := thresholdLaw(float64(t[0]), m.Threshold, m.Sigma1)
		q.answer = math.Exp(pass)
		q.test = costs(func(a float64) float64 { return thresholdRDP(pass, fail, m.Sigma1, a) })
		q.testWorst = costs(func(a float64) float64 { return thresholdWorst(m.Sigma1, a) })
	}
	logQ := t.logFlipGaussian(m.Noise)
	q.argmax = costs(func(a float64) float64 { return gnmaxRDP(logQ, m.Noise, a) })
	q.argmaxWorst = costs(func(a float64) float64 { return gnmaxWorst(m.Noise, a) })
	return q
}

func costs(orders []float64, cost func(a float64) float64) spent {
	s := make(spent, len(orders))
	for i, a := range orders {
		s[i] = cost(a)
	}
	return s
}

func (m Mechanism) exact(e laws, counts []int, orders []float64) (divergences, error) {
	return compare(e, counts, orders, func(law []float64, counts []int) []float64 {
		if !m.Tested {
			return law
		}
		pass, fail := e.threshold(slices.Max(counts), m.Threshold, m.Sigma1)
		for i := range law {
			law[i] += pass
		}
		return append(law, fail)
	})
}

func (m Mechanism) run(queries, answers int) (aggregate.Mechanism, error) {
	switch {
	case m.Laplace:
		return aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: m.Noise, Queries: queries})
	case m.Tested:
		return aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
			Threshold: m.Threshold, Sigma1: m.Sigma1, Sigma2: m.Noise, Queries: queries, Answers: max(1, answers)})
	}
	return aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: m.Noise, Queries: queries})
}

func (m Mechanism) claim(ctx context.Context, queries, answers int, delta float64) (*accountant.Claim, error) {
	run, err := m.run(queries, answers)
	if err != nil {
		return nil, nil
	}
	c, err := accountant.Epsilon(ctx, accountant.ByAuto, accountant.AddRemove, delta, run.Event())
	if err != nil {
		return nil, fmt.Errorf("analysis: %w", err)
	}
	return &c, nil
}

func lnmaxWorst(scale, a float64) float64 {
	// A 2/scale-differentially private mechanism has a divergence of at most min(2/scale, 2 a/scale^2) (Bun,
	// Steinke 2016).
	return math.Min(2/scale, 2*a/scale/scale)
}

func lnmaxRDP(logQ, scale, a float64) float64 {
	worst := lnmaxWorst(scale, a)
	if bound, ok := lnmaxFlipBound(logQ, scale, a); ok {
		return math.Min(bound, worst)
	}
	return worst
}

// lnmaxFlipBound returns the divergence bound of Papernot et al. 2017, Theorem 3, if it applies.
func lnmaxFlipBound(logQ, scale, a float64) (float64, bool) {
	// The mechanism is eps-differentially private with eps = 2/scale. q bounds the probability of all answers
	// except the most probable one. The bound is
	//
	//	log( (1-q) ((1-q)/(1-e^eps q))^{a-1} + q e^{eps (a-1)} ) / (a-1)
	//
	// The theorem requires q <= 1/(e^eps + 1); for other q the result is false. The published code requires
	// only q < 1/2, so its even moments can be too small or negative. The bound is one-sided, like Theorem 6.
	eps := 2 / scale
	if !(logQ <= -eps-math.Log1p(math.Exp(-eps))) {
		return 0, false
	}
	q := math.Exp(logQ)
	likely := a*math.Log1p(-q) - (a-1)*math.Log1p(-math.Exp(eps+logQ))
	flipped := eps*(a-1) + logQ
	if flipped > 1 || likely > 1 {
		return (math.Max(likely, flipped) + math.Log1p(math.Exp(-math.Abs(likely-flipped)))) / (a - 1), true
	}
	// For small q and eps, expm1(likely) is about -q, and the second summand about q, so they nearly cancel.
	// After adding q to one and subtracting q from the other, both are small and positive. expm1(likely) + q
	// = (1-q) (e^r - 1) with r = (a-1) log((1-q)/(1-e^eps q)).
	r := (a - 1) * (math.Log1p(-q) - math.Log1p(-math.Exp(eps+logQ)))
	s := (1-q)*math.Expm1(r) + q*math.Expm1(eps*(a-1))
	return math.Log1p(s) / (a - 1), true
}

func gnmaxRDP(logQ, sigma, a float64) float64 {
	worst := gnmaxWorst(sigma, a)
	if bound, ok := flipBound(logQ, sigma, a); ok {
		return math.Min(bound, worst)
	}
	return worst
}

func gnmaxWorst(sigma, a float64) float64 { return a / sigma / sigma }

func thresholdWorst(sigma, a float64) float64 { return gnmaxWorst(math.Sqrt2*sigma, a) }

// flipBound returns the data-dependent Rényi bound of Papernot et al. 2018 for GNMax (Theorem 6). The orders
// mu1 = mu2 + 1 and mu2 = sigma sqrt(log 1/q) are from their Proposition 10.
func flipBound(logQ, sigma, a float64) (float64, bool) {
	// On any votes, the divergence is at most a/sigma^2. q bounds the probability of all answers except the
	// most probable one. The bound is
	//
	//	log( (1-q) A^{a-1} + q B^{a-1} ) / (a-1)
	//	A = (1-q) / (1 - (q e^{mu2/sigma^2})^{1-1/mu2})
	//	B = e^{mu1/sigma^2} q^{-1/mu2}
	//
	// The theorem requires 1 < a < mu1, mu2 > 1, q e^{mu2/sigma^2} < 1, and a q so small that the bound grows
	// with q. Otherwise the result is false. The bound may exceed a/sigma^2.
	//
	// The bound is for D_a(M(h)||M(h')) with the true votes h. In our tests the divergence in the other
	// direction exceeds the bound for one in six random histograms.
	if math.IsInf(logQ, -1) {
		return 0, true
	}
	mu2 := sigma * math.Sqrt(-logQ)
	mu1 := mu2 + 1
	e1, e2 := mu1/sigma/sigma, mu2/sigma/sigma
	if !(mu2 > 1 && a < mu1 && logQ+e2 < 0) {
		return 0, false
	}
	if limit := (mu2-1)*e2 - mu2*(math.Log1p(1/(mu1-1))+math.Log1p(1/(mu2-1))); !(logQ <= limit) {
		return 0, false
	}
	// log of (1-q) A^{a-1}, then log of q B^{a-1}.
	likely := a*math.Log1p(-math.Exp(logQ)) - (a-1)*math.Log1p(-math.Exp((logQ+e2)*(1-1/mu2)))
	flipped := logQ + (a-1)*(e1-logQ/mu2)
	if likely > 1 || flipped > 1 {
		return mathx.LogAddExp(likely, flipped) / (a - 1), true
	}
	return math.Log1p(math.Expm1(likely)+math.Exp(flipped)) / (a - 1), true
}

func thresholdRDP(logPass, logFail, sigma, a float64) float64 {
	// The largest count has sensitivity 1, and the counts of an argmax have sensitivity sqrt(2). So
	// thresholdRDP calls gnmaxRDP with sqrt(2) sigma.
	return gnmaxRDP(math.Min(logPass, logFail), math.Sqrt2*sigma, a)
}

func thresholdLaw(largest, threshold, sigma float64) (logPass, logFail float64) {
	z := (largest - threshold) / sigma
	return mathx.LogNormalCDF(z), mathx.LogNormalCDF(-z)
}
