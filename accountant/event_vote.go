package accountant

import (
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// GNMax is one noisy argmax of vote counts with Gaussian noise of standard deviation Sigma on every count
// (Papernot et al. 2018, Proposition 8). Its Rényi curve is the same for either noise (Canonne, Kamath,
// Steinke 2020); its privacy loss distribution is not, so Discrete records which was drawn.
type GNMax struct {
	Sigma    float64 `json:"sigma" in:">0"`      // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Gaussian noise on integer counts
}

// votes: a moved vote changes two counts by one, an L2 norm of sqrt(2).
func (e GNMax) votes() gaussianVotes { return gaussianVotes{e.Sigma, math.Sqrt2, e.Discrete} }

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

// attained adds two classes one vote apart, which the move turns around. With integer noise ties go to the
// first class, which only adds to P[Z1 = Z2].
func (e GNMax) attained(s *pld.Sum, n int64) (dominating bool) {
	if e.Discrete {
		s.AddOdds(tieOdds(mathx.LogTheta(e.Sigma/math.Sqrt2)-2*mathx.LogTheta(e.Sigma)), n)
	} else {
		s.AddOdds(normalOdds(math.Sqrt2/2/e.Sigma), n)
	}
	return false
}

// Threshold is one noisy comparison of the largest vote count with a public threshold, Gaussian noise of
// standard deviation Sigma (Papernot et al. 2018, Algorithm 1, step 1). The largest count has sensitivity
// 1.
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

// attained adds a count half a vote from the threshold, or, with integer noise, at it and one below.
func (e Threshold) attained(s *pld.Sum, n int64) (dominating bool) {
	if e.Discrete {
		s.AddOdds(tieOdds(-mathx.LogTheta(e.Sigma)), n)
	} else {
		s.AddOdds(normalOdds(0.5/e.Sigma), n)
	}
	return false
}

// gaussianVotes is a function of vote counts with Gaussian noise, which move by a vector of the given norm.
type gaussianVotes struct {
	sigma, norm float64
	discrete    bool
}

// counts returns the release of the noisy counts themselves.
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

// groupRho returns the group of integer noise: a shift by n is not a shift by one at sigma/n, but the curve
// is the same.
func (v gaussianVotes) groupRho(n int64) Event {
	g := float64(n)
	return ZCDP{mathx.Up(v.rho() * g * g * (1 + 2e-15))}
}

// LNMax is one noisy argmax of vote counts with Laplace noise of the given scale on every count (Papernot
// et al. 2017). A moved vote changes two counts, so it is 2/Scale-differentially private.
type LNMax struct {
	Scale    float64 `json:"scale" in:">0"`      // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Laplace noise on integer counts
}

func (LNMax) row() row {
	return row{"lnmax", "noisy argmax of votes", "{discrete}Laplace, scale {scale}", bounded}
}

// twice returns one noisy count: a moved vote changes two, each with noise of its own, and the argmax is a
// function of the counts. A count of integer noise that moves by one has the losses +-1/Scale, as a
// randomised response has.
func (e LNMax) twice() Event {
	if e.Discrete {
		return RandomizedResponse{mathx.Up(1 / e.Scale)}
	}
	return Laplace{e.Scale}
}

// curve returns the lesser of the curves of two counts and of the choice as a whole.
func (e LNMax) curve() curve {
	both, one := pureCurve(2/e.Scale), curveOf(e.twice())
	return func(a float64) float64 { return math.Min(both(a), 2*one(a)) }
}

func (e LNMax) guarantee() (guarantee, bool) { return guarantee{mathx.Up(2 / e.Scale), 0}, true }
func (e LNMax) rho() float64                 { return 2 * PropertiesOf(e.twice()).Rho }

func (e LNMax) pairs(s *pld.Sum, n int64) error {
	both, err := mul(n, 2)
	if err != nil {
		return err
	}
	return addPairs(s, e.twice(), both)
}

// attained adds two classes one vote apart: P[loser] = (2+1/b) e^{-1/b}/4, and with integer noise P[Z1 =
// Z2] = tanh(1/2b)^2 (1+r^2)/(1-r^2), r = e^{-1/b}.
func (e LNMax) attained(s *pld.Sum, n int64) (dominating bool) {
	if e.Discrete {
		s.AddOdds(tieOdds(2*math.Log(math.Tanh(0.5/e.Scale))-math.Log(math.Tanh(1/e.Scale))), n)
	} else {
		logP := math.Log((2+1/e.Scale)/4) - 1/e.Scale
		s.AddOdds(math.Log1p(-math.Exp(logP))-logP, n)
	}
	return false
}

// tieOdds returns the log odds of an outcome against its complement that differ by the mass e^logP of a
// tie: (1+p)/2 against (1-p)/2.
func tieOdds(logP float64) float64 { return 2 * math.Atanh(math.Exp(logP)*(1-1e-14)) }

// normalOdds returns the log odds of a normal variable below a.
func normalOdds(a float64) float64 { return mathx.LogNormalCDF(a) - mathx.LogNormalCDF(-a) }
