package accountant

import (
	"math"

	"github.com/pate-go/pate/accountant/internal/pld"
	"github.com/pate-go/pate/internal/mathx"
)

// GNMax is one noisy argmax of vote counts with Gaussian noise of standard
// deviation Sigma on every count (Papernot et al. 2018, Proposition 8). Its
// Rényi curve is that of either noise (Canonne, Kamath, Steinke 2020); its loss
// distribution is not, so Discrete says which was drawn.
type GNMax struct {
	Sigma    float64 `json:"sigma"`              // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Gaussian noise on integer counts
}

// Validate implements Event.
func (e GNMax) Validate() error { return validTree(e, 0) }

// gnmaxRow: a moved vote changes two counts by one, an L2 norm of sqrt(2).
type gnmaxRow struct {
	gaussianVotes
	GNMax
}

func (e GNMax) row() row {
	return gnmaxRow{gaussianVotes{leafOf(e), e.Sigma, math.Sqrt2, e.Discrete}, e}
}

func (gnmaxRow) name() string { return "gnmax" }

func (r gnmaxRow) words(p printer) (mechanism, parameters string) {
	return "noisy argmax of votes", lawName(r.Discrete, "Gaussian") + "σ " + p.number(r.Sigma)
}

func (r gnmaxRow) check() error { return positive("gnmax", "sigma", r.Sigma) }

func (r gnmaxRow) group(n int64) (Event, error) {
	if r.Discrete {
		return r.groupRho(n), nil
	}
	return GNMax{Sigma: downBy(r.Sigma, float64(n))}, nil
}

// attained adds two classes one vote apart, which the move turns around. With
// integer noise ties go to the first class, which only adds to P[Z1 = Z2].
func (r gnmaxRow) attained(s *pld.Sum, n int64) (dominating bool) {
	if r.Discrete {
		s.AddOdds(tieOdds(mathx.LogTheta(r.Sigma/math.Sqrt2)-2*mathx.LogTheta(r.Sigma)), n)
	} else {
		s.AddOdds(normalOdds(math.Sqrt2/2/r.Sigma), n)
	}
	return false
}

// Threshold is one noisy comparison of the largest vote count with a public
// threshold, Gaussian noise of standard deviation Sigma (Papernot et al. 2018,
// Algorithm 1, step 1). The largest count has sensitivity 1.
type Threshold struct {
	Sigma    float64 `json:"sigma"`              // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Gaussian noise; count and threshold are integers
}

// Validate implements Event.
func (e Threshold) Validate() error { return validTree(e, 0) }

type thresholdRow struct {
	gaussianVotes
	Threshold
}

func (e Threshold) row() row {
	return thresholdRow{gaussianVotes{leafOf(e), e.Sigma, 1, e.Discrete}, e}
}

func (thresholdRow) name() string { return "threshold" }

func (r thresholdRow) words(p printer) (mechanism, parameters string) {
	return "threshold test of the top vote", lawName(r.Discrete, "Gaussian") + "σ " + p.number(r.Sigma)
}

func (r thresholdRow) check() error { return positive("threshold", "sigma", r.Sigma) }

func (r thresholdRow) group(n int64) (Event, error) {
	if r.Discrete {
		return r.groupRho(n), nil
	}
	return Threshold{Sigma: downBy(r.Sigma, float64(n))}, nil
}

// attained adds a count half a vote from the threshold, or, with integer noise, at it
// and one below.
func (r thresholdRow) attained(s *pld.Sum, n int64) (dominating bool) {
	if r.Discrete {
		s.AddOdds(tieOdds(-mathx.LogTheta(r.Sigma)), n)
	} else {
		s.AddOdds(normalOdds(0.5/r.Sigma), n)
	}
	return false
}

// gaussianVotes is what votes with Gaussian noise on counts share: counts move by a
// vector of the given norm, and the answer is a function of the noisy counts.
type gaussianVotes struct {
	leaf
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

func (v gaussianVotes) curve() curve { return gaussianCurve(v.norm / v.sigma) }
func (v gaussianVotes) rho() float64 { return gaussianRho(v.norm / v.sigma) }

func (v gaussianVotes) sampledAs() (inner Event, same bool) { return v.counts(), false }

func (v gaussianVotes) pair() (pld.Pair, error) {
	if !v.discrete {
		return pld.Gaussian(v.sigma, v.norm), nil
	}
	return v.counts().row().pair()
}

// groupRho returns the group of integer noise: a shift by n is not a shift by one at sigma/n, but
// the curve is the same.
func (v gaussianVotes) groupRho(n int64) Event {
	g := float64(n)
	return ZCDP{mathx.Up(v.rho() * g * g * (1 + 2e-15))}
}

// LNMax is one noisy argmax of vote counts with Laplace noise of the given
// scale on every count (Papernot et al. 2017). A moved vote changes two
// counts, so it is 2/Scale-differentially private.
type LNMax struct {
	Scale    float64 `json:"scale"`              // per vote count, > 0
	Discrete bool    `json:"discrete,omitempty"` // discrete Laplace noise on integer counts
}

// Validate implements Event.
func (e LNMax) Validate() error { return validTree(e, 0) }

type lnmaxRow struct {
	leaf
	LNMax
}

func (e LNMax) row() row { return lnmaxRow{leafOf(e), e} }

func (lnmaxRow) name() string { return "lnmax" }

func (r lnmaxRow) words(p printer) (mechanism, parameters string) {
	return "noisy argmax of votes", lawName(r.Discrete, "Laplace") + "scale " + p.number(r.Scale)
}

func (r lnmaxRow) check() error { return positive("lnmax", "scale", r.Scale) }

// twice returns one noisy count: a moved vote changes two, each with noise of its own,
// of which the argmax is a function. A count of integer noise that moves by one has the
// losses +-1/Scale, those of a randomised response.
func (r lnmaxRow) twice() Event {
	if r.Discrete {
		return RandomizedResponse{mathx.Up(1 / r.Scale)}
	}
	return Laplace{r.Scale}
}

// curve returns that of two counts, or of the choice as a whole.
func (r lnmaxRow) curve() curve {
	both, one := pureCurve(2/r.Scale), curveOf(r.twice())
	return func(a float64) float64 { return math.Min(both(a), 2*one(a)) }
}

func (r lnmaxRow) guarantee() (guarantee, bool) { return guarantee{mathx.Up(2 / r.Scale), 0}, true }
func (r lnmaxRow) rho() float64                 { return 2 * PropertiesOf(r.twice()).Rho }

func (r lnmaxRow) pairs(s *pld.Sum, n int64) error {
	both, err := mul(n, 2)
	if err != nil {
		return err
	}
	return r.twice().row().pairs(s, both)
}

// attained adds two classes one vote apart: P[loser] = (2+1/b) e^{-1/b}/4, and with
// integer noise P[Z1 = Z2] = tanh(1/2b)^2 (1+r^2)/(1-r^2), r = e^{-1/b}.
func (r lnmaxRow) attained(s *pld.Sum, n int64) (dominating bool) {
	if r.Discrete {
		s.AddOdds(tieOdds(2*math.Log(math.Tanh(0.5/r.Scale))-math.Log(math.Tanh(1/r.Scale))), n)
	} else {
		logP := math.Log((2+1/r.Scale)/4) - 1/r.Scale
		s.AddOdds(math.Log1p(-math.Exp(logP))-logP, n)
	}
	return false
}

// tieOdds returns the log odds of an outcome against its complement that differ by
// the mass e^logP of a tie: (1+p)/2 against (1-p)/2.
func tieOdds(logP float64) float64 { return 2 * math.Atanh(math.Exp(logP)*(1-1e-14)) }

// normalOdds returns the log odds of a normal variable below a.
func normalOdds(a float64) float64 { return mathx.LogNormalCDF(a) - mathx.LogNormalCDF(-a) }

// lawName names the law of the noise.
func lawName(discrete bool, name string) string {
	if discrete {
		return "discrete " + name + ", "
	}
	return name + ", "
}
