package accountant

import (
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// GNMax is one noisy argmax of vote counts, with Gaussian noise of standard deviation Sigma on every count
// (Papernot et al. 2018, Proposition 8). Continuous and discrete noise have the same Rényi curve (Canonne,
// Kamath, Steinke 2020), but different privacy loss distributions.
type GNMax struct {
	Sigma    float64 `json:"sigma" in:">0"`      // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Gaussian noise on integer counts
}

func (e GNMax) votes() gaussianVotes {
	// A moved vote changes two counts by 1, so the L2 norm of the change is sqrt(2).
	return gaussianVotes{e.Sigma, math.Sqrt2, e.Discrete}
}

func (GNMax) row() row {
	return row{"gnmax", "noisy argmax of votes", "{discrete}Gaussian, σ {sigma}", bounded}
}

func (e GNMax) curve() curve             { return e.votes().curve() }
func (e GNMax) rho() float64             { return e.votes().rho() }
func (e GNMax) sampledAs() (Event, bool) { return e.votes().sampledAs() }
func (e GNMax) pair() (pld.Pair, error)  { return e.votes().pair() }

func (e GNMax) group(n int64) (Event, error) {
	if e.Discrete {
		return e.votes().groupRho(n), nil
	}
	return GNMax{Sigma: downBy(e.Sigma, float64(n))}, nil
}

// attained bounds the cost from below, by a vote on two classes with counts that differ by one.
func (e GNMax) attained(s *pld.Sum, n int64) (dominating bool) {
	// The moved vote reverses their order. With integer noise the first class wins a tie, so P[Z1 = Z2] is
	// added.
	if e.Discrete {
		s.AddOdds(tieOdds(mathx.LogTheta(e.Sigma/math.Sqrt2)-2*mathx.LogTheta(e.Sigma)), n)
	} else {
		s.AddOdds(normalOdds(math.Sqrt2/2/e.Sigma), n)
	}
	return false
}

// Threshold is one noisy comparison of the largest vote count with a public threshold (Papernot et al. 2018,
// Algorithm 1, step 1). The noise is Gaussian of standard deviation Sigma. A record changes the largest count
// by at most 1.
type Threshold struct {
	Sigma    float64 `json:"sigma" in:">0"`      // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Gaussian noise; count and threshold are integers
}

func (e Threshold) votes() gaussianVotes { return gaussianVotes{e.Sigma, 1, e.Discrete} }

func (Threshold) row() row {
	return row{"threshold", "threshold test of the top vote", "{discrete}Gaussian, σ {sigma}", bounded}
}

func (e Threshold) curve() curve             { return e.votes().curve() }
func (e Threshold) rho() float64             { return e.votes().rho() }
func (e Threshold) sampledAs() (Event, bool) { return e.votes().sampledAs() }
func (e Threshold) pair() (pld.Pair, error)  { return e.votes().pair() }

func (e Threshold) group(n int64) (Event, error) {
	if e.Discrete {
		return e.votes().groupRho(n), nil
	}
	return Threshold{Sigma: downBy(e.Sigma, float64(n))}, nil
}

// attained bounds the cost from below, by neighbours with counts half a vote above and below the threshold.
func (e Threshold) attained(s *pld.Sum, n int64) (dominating bool) {
	// With integer noise one count equals the threshold, and the other is 1 less.
	if e.Discrete {
		s.AddOdds(tieOdds(-mathx.LogTheta(e.Sigma)), n)
	} else {
		s.AddOdds(normalOdds(0.5/e.Sigma), n)
	}
	return false
}

// gaussianVotes is a function of vote counts, released with Gaussian noise. The field norm is the L2
// sensitivity of this function.
type gaussianVotes struct {
	sigma, norm float64
	discrete    bool
}

func (v gaussianVotes) counts() Event {
	if v.discrete {
		return DiscreteGaussian{v.sigma, v.norm}
	}
	return Gaussian{downBy(v.sigma, v.norm)}
}

func (v gaussianVotes) curve() curve             { return gaussianCurve(v.norm / v.sigma) }
func (v gaussianVotes) rho() float64             { return gaussianRho(v.norm / v.sigma) }
func (v gaussianVotes) sampledAs() (Event, bool) { return v.counts(), false }

func (v gaussianVotes) pair() (pld.Pair, error) {
	if !v.discrete {
		return pld.Gaussian(v.sigma, v.norm), nil
	}
	return pairOf(v.counts())
}

func (v gaussianVotes) groupRho(n int64) Event {
	g := float64(n)
	return ZCDP{mathx.Up(v.rho() * g * g * (1 + 2e-15))}
}

// LNMax is one noisy argmax of vote counts, with Laplace noise on every count (Papernot et al. 2017). A moved
// vote changes two counts, so LNMax is 2/Scale-differentially private.
type LNMax struct {
	Scale    float64 `json:"scale" in:">0"`      // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Laplace noise on integer counts
}

func (LNMax) row() row {
	return row{"lnmax", "noisy argmax of votes", "{discrete}Laplace, scale {scale}", bounded}
}

func (e LNMax) noisyCount() Event {
	// LNMax costs two such events, because a moved vote changes two counts, and the argmax is post-processing
	// of the noisy counts. An integer count that changes by 1 has the losses +-1/Scale of a randomised
	// response.
	if e.Discrete {
		return RandomizedResponse{mathx.Up(1 / e.Scale)}
	}
	return Laplace{e.Scale}
}

func (e LNMax) curve() curve {
	both, one := pureCurve(2/e.Scale), curveOf(e.noisyCount())
	return func(a float64) float64 { return math.Min(both(a), 2*one(a)) }
}

func (e LNMax) guarantee() (guarantee, bool) { return guarantee{mathx.Up(2 / e.Scale), 0}, true }
func (e LNMax) rho() float64                 { return 2 * PropertiesOf(e.noisyCount()).Rho }

func (e LNMax) pairs(s *pld.Sum, n int64) error {
	both, err := mul(n, 2)
	if err != nil {
		return err
	}
	return addPairs(s, e.noisyCount(), both)
}

// attained bounds the cost from below, by neighbours with class counts (k, k+1) and (k+1, k).
func (e LNMax) attained(s *pld.Sum, n int64) (dominating bool) {
	// The probability that the class with fewer votes wins is (2+1/b) e^{-1/b}/4. With integer noise P[Z1 =
	// Z2] is tanh(1/2b)^2 (1+r^2)/(1-r^2) with r = e^{-1/b}.
	if e.Discrete {
		s.AddOdds(tieOdds(2*math.Log(math.Tanh(0.5/e.Scale))-math.Log(math.Tanh(1/e.Scale))), n)
	} else {
		logP := math.Log((2+1/e.Scale)/4) - 1/e.Scale
		s.AddOdds(math.Log1p(-math.Exp(logP))-logP, n)
	}
	return false
}

// tieOdds returns log((1+p)/(1-p)), rounded down, where p = e^logP is the probability of a tie.
func tieOdds(logP float64) float64 { return 2 * math.Atanh(math.Exp(logP)*(1-1e-14)) }

func normalOdds(a float64) float64 { return mathx.LogNormalCDF(a) - mathx.LogNormalCDF(-a) }

// GNSS is one release of a real function plus Gaussian noise. Let S be a smooth upper bound of the function's
// local sensitivity. S changes by a factor of at most e^Beta between neighbours (Nissim, Raskhodnikova, Smith
// 2007). The standard deviation of the noise is Sigma times S. The released value also contains a margin of
// Margin standard deviations. The margin makes the released value probably too large. The margin is
// proportional to S and so depends on the data. The event includes the cost of the margin. GNSS can release,
// for example, a data-dependent cost (Papernot et al. 2018, app. B).
type GNSS struct {
	Beta   float64 `json:"beta" in:">0"`    // > 0
	Sigma  float64 `json:"sigma" in:">0"`   // noise standard deviation / S, > 0
	Margin float64 `json:"margin" in:">=0"` // in standard deviations of the noise, >= 0
}

func (GNSS) row() row {
	return row{"gnss", "noisy value of smooth sensitivity",
		"Gaussian, σ {sigma} × sensitivity, β {beta}, margin {margin} σ", bounded}
}

func (e GNSS) curve() curve {
	// The standard deviation of the second distribution is smaller by the factor e^-Beta. The function values
	// differ by the smaller S. The margins are proportional to S. In units of S, let c = 1 - a(1-e^{-2 Beta})
	// be the variance of the mixture. Let d = e^-Beta + Margin Sigma (1-e^-Beta) be the shift. At order a the
	// divergence is infinite for c <= 0, and otherwise
	//
	//	a d^2/(2 Sigma^2 c) - (a Beta + log(c)/2)/(a-1).
	//
	// Both terms grow as the ratio of the two S departs from 1, and grow more if the second S is smaller. The
	// cost in Papernot et al. 2018, Theorem 23, is too small at orders above about 1/(4 Beta). At the paper's
	// parameters this cost is too small by a factor of up to five.
	shrink := -math.Expm1(-2 * e.Beta)
	shift := math.Exp(-e.Beta) - e.Margin*e.Sigma*math.Expm1(-e.Beta)
	return func(a float64) float64 {
		c := 1 - a*shrink
		if !(c > 0) {
			return math.Inf(1)
		}
		c -= 4e-16 * (1 + a*shrink) // rounding is relative to 1, and c may be small
		if !(c > 0) {
			return math.Inf(1)
		}
		r := shift / e.Sigma
		return a*r*r/(2*c) - (a*e.Beta+math.Log1p(c-1)/2)/(a-1)
	}
}

// MStab is one propose-test-release of a stable answer (Dwork, Lei 2009; Smith, Thakurta 2013). It adds
// continuous Laplace noise of scale 1/Epsilon to the distance to instability. If the sum exceeds Threshold,
// the answer is released. For discrete Laplace noise and an integer threshold, charge
// WithFailure{PureDP{Epsilon}, exp(-Epsilon*Threshold)/2} instead.
type MStab struct {
	Epsilon   float64 `json:"epsilon" in:">0"`    // of the distance, which has sensitivity 1, > 0
	Threshold float64 `json:"threshold" in:">=0"` // >= 0
}

func (e MStab) failure() float64 {
	log := math.Max(-800, -e.Epsilon*e.Threshold) // e^-800 is already 0
	return math.Min(1, mathx.Up(0.5*math.Exp(log)*(1+4e-16*(2-log))))
}

func (MStab) row() row {
	return row{"m_stab", "release of a stable answer", "ε {^epsilon}, threshold {threshold}", bounded}
}

func (e MStab) flatten(t *terms, count int64) {
	t.check(t.fail(e.failure(), count))
	t.add(e, count)
}

// curve and pair are valid unless the noise exceeds Threshold. The method flatten charges this failure
// separately.
func (e MStab) curve() curve                 { return laplaceCurve(e.Epsilon) }
func (e MStab) guarantee() (guarantee, bool) { return guarantee{e.Epsilon, e.failure()}, true }
func (e MStab) pair() (pld.Pair, error)      { return pld.Laplace(e.Epsilon), nil }

// AboveThreshold is one run of the sparse vector technique with continuous Laplace noise (Dwork, Roth 2014;
// Lyu, Su, Li 2017, Algorithm 7). The threshold has noise of scale 1/Epsilon1, drawn once. Each query has
// fresh noise of scale 2 Answers/Epsilon2. The run halts after Answers positive answers. For integer noise,
// charge PureDP{Epsilon1 + Epsilon2} instead.
type AboveThreshold struct {
	Epsilon1 float64 `json:"epsilon1" in:">0"` // of the threshold, > 0
	Epsilon2 float64 `json:"epsilon2" in:">0"` // of all answers together, > 0
	Answers  int64   `json:"answers" in:"1"`   // >= 1
}

func (AboveThreshold) row() row {
	return row{"above_threshold", "sparse vector", "ε {^epsilon1} + {^epsilon2}, {answers} answers", bounded}
}

func (e AboveThreshold) epsilon() float64             { return mathx.Up(e.Epsilon1 + e.Epsilon2) }
func (e AboveThreshold) guarantee() (guarantee, bool) { return guarantee{e.epsilon(), 0}, true }
func (e AboveThreshold) pair() (pld.Pair, error)      { return pld.Response(e.epsilon()), nil }

func (e AboveThreshold) curve() curve {
	// If Answers is 1, another curve is also valid, and the result is the smaller curve. The other curve is
	// the Laplace curve of the threshold noise plus the pure epsilon of the query noise. Its proof compares
	// the runs on two neighbours with a run whose threshold is shifted (as in Zhu, Wang 2020).
	pure := pureCurve(e.Epsilon1 + e.Epsilon2)
	if e.Answers > 1 {
		return pure
	}
	threshold := laplaceCurve(e.Epsilon1)
	return func(a float64) float64 { return math.Min(pure(a), threshold(a)+e.Epsilon2) }
}

func (e AboveThreshold) group(n int64) (Event, error) {
	g := float64(n)
	return AboveThreshold{mathx.Up(e.Epsilon1 * g), mathx.Up(e.Epsilon2 * g), e.Answers}, nil
}

// StableSVT is one run of the stable sparse vector with one-sided integer noise. The mass of threshold noise
// k >= 0 is proportional to exp(-k/B1). Fresh noise k >= 0 of each query has mass proportional to exp(-k/B2).
// Stable answers are released without further charge until Failures queries have been refused.
type StableSVT struct {
	B1        float64 `json:"b1" in:">0"`       // > 0
	B2        float64 `json:"b2" in:">0"`       // > 0
	Threshold int64   `json:"threshold" in:"0"` // >= 0
	Failures  int64   `json:"failures" in:"1"`  // >= 1
}

// failure returns the probability that the threshold noise exceeds Threshold, rounded up.
func (e StableSVT) failure() float64 {
	return math.Min(1, mathx.Up(math.Exp(-(float64(e.Threshold)+1)/e.B1)*(1+1e-12)))
}

func (e StableSVT) epsilon() float64 {
	return mathx.Up((1/e.B1 + 2*float64(e.Failures)/e.B2) * (1 + 4e-16))
}

func (StableSVT) row() row {
	return row{"stable_svt", "sparse vector of stable answers",
		"b {b1}, {b2}, threshold {threshold}, {failures} failures", bounded}
}

func (e StableSVT) flatten(t *terms, count int64) {
	t.check(t.fail(e.failure(), count))
	t.add(e, count)
}

func (e StableSVT) curve() curve                 { return pureCurve(e.epsilon()) }
func (e StableSVT) guarantee() (guarantee, bool) { return guarantee{e.epsilon(), e.failure()}, true }
func (e StableSVT) pair() (pld.Pair, error)      { return pld.Response(e.epsilon()), nil }
