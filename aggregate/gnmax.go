package aggregate

import (
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
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
	cfg    GNMaxConfig
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
	return &GNMax{cfg: cfg, counts: counts}, nil
}

// Event implements [Mechanism]. Its sigma is the one sampled, to the last bit.
func (m *GNMax) Event() accountant.Event {
	return accountant.Repeated{Event: accountant.GNMax{Sigma: m.counts.Sigma(), Discrete: true}, Count: int64(m.cfg.Queries)}
}

// Start implements [Mechanism].
func (m *GNMax) Start(r *ledger.Reservation, key rng.Key) (Session, error) {
	return start(m, m, r, key, m.cfg.Queries, m.cfg.Queries)
}

func (m *GNMax) noise() (string, []uint64) {
	return "gnmax", []uint64{math.Float64bits(m.counts.Sigma())}
}

func (m *GNMax) draw(noise []int64, s *rng.Stream, classes int) []int64 {
	return drawEach(noise, classes, m.counts, s)
}

func (m *GNMax) decide(counts, noise []int64) Answer {
	return Answer{Label: argmax(counts, noise), Answered: true}
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
		Fast: func(s Setting, classes int, _ bool) (Chances, error) {
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
