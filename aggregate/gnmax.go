package aggregate

import (
	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

// GNMaxConfig are the parameters of a GNMax mechanism; none has a default.
type GNMaxConfig struct {
	Sigma   float64 // standard deviation of the noise on each count, in votes; [2^-10, 2^40]
	Queries int     // cap on questions, all of which are charged; >= 1
}

// GNMax answers with the class whose count plus discrete Gaussian noise is
// largest (Papernot et al. 2018, section 4.1).
type GNMax struct {
	single
	counts *rng.DiscreteGaussian
}

// NewGNMax returns the mechanism for cfg.
func NewGNMax(cfg GNMaxConfig) (*GNMax, error) {
	counts, err := sampler("Sigma", cfg.Sigma)
	if err != nil {
		return nil, err
	}
	if err := checkCap("Queries", cfg.Queries, maxQueries); err != nil {
		return nil, err
	}
	cost := accountant.GNMax{Sigma: counts.Sigma(), Discrete: true}
	return &GNMax{single{noisyCounts{"gnmax", counts.Sigma(), counts}, cost, cfg.Queries}, counts}, nil
}

// gnmaxDescription describes GNMax.
func gnmaxDescription() Description {
	one := func(s Setting) (*GNMax, error) {
		return NewGNMax(GNMaxConfig{Sigma: s.Values["sigma"], Queries: s.Queries})
	}
	return Description{
		Name: "gnmax", Short: "largest count + Gaussian noise", Cost: "rho = 1/sigma^2",
		Parameters: []Parameter{noiseParameter("sigma", "noise on each count")},
		New:        making(one),
		Chances: func(s Setting, classes int, _ bool) (Chances, error) {
			right, err := gaussianChance(s.Values["sigma"], classes)
			return Chances{Right: right}, err
		},
		Ahead: gaussianAhead,
		Laws: []NamedLaw{
			{Name: "gnmax", Short: "Largest count plus Gaussian noise", Noise: "continuous", Law: continuous(one)},
			{Name: "discrete-gaussian", Short: "Largest count plus integer Gaussian noise", Noise: "discrete"},
		},
		Audit:      Setting{Mechanism: "gnmax", Values: map[string]float64{"sigma": 2}},
		Neighbours: [2][]int{{4, 6, 0}, {5, 5, 0}},
	}
}
