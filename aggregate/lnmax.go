package aggregate

import (
	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

// LNMaxConfig are the parameters of an LNMax mechanism; none has a default.
type LNMaxConfig struct {
	Scale   float64 // of the noise on each count, in votes (the papers' 1/gamma); [2^-10, 2^40]
	Queries int     // cap on questions, all of which are charged; >= 1
}

// LNMax answers with the class whose count plus discrete Laplace noise is largest (Papernot et al. 2017,
// section 2.2). A moved vote changes two counts: each answer is 2/Scale-differentially private, not 1/Scale.
type LNMax struct {
	single
	counts *rng.DiscreteLaplace
}

// NewLNMax returns the mechanism for cfg.
func NewLNMax(cfg LNMaxConfig) (*LNMax, error) {
	counts, err := laplaceNoiseFor(cfg.Scale, cfg.Queries)
	if err != nil {
		return nil, err
	}
	cost := accountant.LNMax{Scale: counts.Scale(), Discrete: true}
	return &LNMax{single{noisyCounts{"lnmax", counts.Scale(), counts}, cost, cfg.Queries}, counts}, nil
}

// lnmaxDescription describes LNMax.
func lnmaxDescription() Description {
	one := func(s Setting) (*LNMax, error) {
		return NewLNMax(LNMaxConfig{Scale: s.Values["scale"], Queries: s.Queries})
	}
	return Description{
		Name: "lnmax", Short: "largest count + Laplace noise", Cost: "epsilon = 2/scale, and rho = 1/scale^2",
		Parameters: []Parameter{noiseParameter("scale", "noise")},
		New:        making(one),
		Chances: func(s Setting, _ int, rough bool) (Chances, error) {
			right, err := laplaceChance(s.Values["scale"], rough)
			return Chances{Right: right}, err
		},
		Ahead: laplaceAhead,
		Laws: []NamedLaw{
			{Name: "lnmax", Short: "Largest count plus Laplace noise", Noise: "continuous", Law: continuous(one)},
			{Name: "discrete-laplace", Short: "Largest count plus integer Laplace noise", Noise: "discrete"},
		},
		Audit:      Setting{Mechanism: "lnmax", Values: map[string]float64{"scale": 2}},
		Neighbours: [2][]int{{9, 1, 0}, {8, 2, 0}}, Pure: true,
	}
}
