package analysis

import "math"

// lnmaxWorst bounds the divergence of order a of one LNMax query on any data, as it was published:
// 2/scale-differential privacy has divergences of at most 2/scale, and a (2/scale)^2/2 (Bun, Steinke
// 2016). The accountant's LNMax has the tight curve, which is lower; claims are made with that.
func lnmaxWorst(scale, a float64) float64 {
	return math.Min(2/scale, 2*a/scale/scale)
}

// lnmaxRDP returns the least of [lnmaxWorst] and [lnmaxFlipBound].
func lnmaxRDP(logQ, scale, a float64) float64 {
	worst := lnmaxWorst(scale, a)
	if bound, ok := lnmaxFlipBound(logQ, scale, a); ok {
		return math.Min(bound, worst)
	}
	return worst
}

// lnmaxFlipBound returns Theorem 3 of Papernot et al. 2017 for a mechanism that is eps-differentially
// private, eps = 2/scale, and deviates from its likeliest answer with probability q at most:
//
//	log( (1-q) ((1-q)/(1-e^eps q))^{a-1} + q e^{eps (a-1)} ) / (a-1)
//
// It is false unless q <= 1/(e^eps + 1), as the theorem demands. The code
// published with the paper asks for q < 1/2 instead; between the two its even
// moments come out too small, or negative. Like Theorem 6 it is one-sided.
func lnmaxFlipBound(logQ, scale, a float64) (float64, bool) {
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
	// The two parts nearly cancel for small q and eps: expm1(likely) is about -q where the flipped part
	// is about q. Taking q from both leaves small positive numbers. expm1(likely) + q = (1-q) (e^r - 1),
	// r = (a-1) log((1-q)/(1-e^eps q)).
	r := (a - 1) * (math.Log1p(-q) - math.Log1p(-math.Exp(eps+logQ)))
	s := (1-q)*math.Expm1(r) + q*math.Expm1(eps*(a-1))
	return math.Log1p(s) / (a - 1), true
}
