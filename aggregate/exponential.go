package aggregate

import (
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/aggregate/acceptance"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// ExponentialConfig holds the parameters of an exponential mechanism. No parameter has a default.
type ExponentialConfig struct {
	Scale   float64 // difference of counts that changes the odds by a factor e, in votes; [2^-10, 2^40]
	Queries int     // cap on queries; the whole cap is charged; >= 1
}

// Exponential is the exponential mechanism (McSherry, Talwar 2007). A class with n votes is the answer with
// probability proportional to exp(n/Scale). If one vote moves, the changes of all log probabilities lie in an
// interval of length 2/Scale (bounded range; Durfee, Rogers 2019).
type Exponential struct {
	single
	distances *rng.DiscreteLaplace
}

// NewExponential returns the mechanism for cfg. The epsilon of each query is 2/Scale, rounded up.
func NewExponential(cfg ExponentialConfig) (*Exponential, error) {
	distances, err := laplaceNoiseFor(cfg.Scale, cfg.Queries)
	if err != nil {
		return nil, err
	}
	cost := accountant.ExponentialMechanism{Epsilon: mathx.DivUp(2, distances.Scale())}
	return &Exponential{single{manyTurns{turns{"exponential", distances}}, cost, cfg.Queries}, distances}, nil
}

type manyTurns struct{ turns }

func (m manyTurns) draw(noise []int64, s *rng.Stream, classes int) []int64 {
	return acceptance.Draw(noise, classes, m.distances, s)
}

// Law returns the output distribution of one query. A class with n votes has probability proportional to
// exp(n/Scale).
func (m *Exponential) Law(h Histogram) (Law, error) {
	return always(h, func(counts []int64) ([]float64, error) {
		logs := logAcceptances(counts, m.distances.Scale())
		sum := newLogSums(1)
		for _, l := range logs {
			sum[0].add(l)
		}
		total := sum[0].log()
		for j := range logs {
			logs[j] -= total
		}
		return logs, nil
	})
}

func exponentialDescription() Description {
	return Description{
		Name: "exponential", Short: "P proportional to exp(count/scale)", Cost: "epsilon = 2/scale, and rho = 1/(2 scale^2)",
		Parameters: []Parameter{noiseParameter("scale", "noise")},
		New: making(func(s Setting) (*Exponential, error) {
			return NewExponential(ExponentialConfig{Scale: s.Values["scale"], Queries: s.Queries})
		}),
		Chances: func(s Setting, _ int, _ bool) (Chances, error) {
			return Chances{Right: exponentialChance(s.Values["scale"])}, nil
		},
		Ahead:      gumbelAhead,
		Laws:       []NamedLaw{{Name: "exponential", Short: "Probability proportional to exp(count/scale)", Noise: "exact"}},
		Audit:      Setting{Mechanism: "exponential", Values: map[string]float64{"scale": 2}},
		Neighbours: [2][]int{{8, 2, 0}, {7, 3, 0}}, Pure: true,
	}
}

// The exponential mechanism and permute-and-flip both visit the classes in a random order and answer with the
// first accepted class. Class j is accepted with probability exp(-(max - n_j)/Scale). Let D have the
// geometric distribution P[D >= d] = exp(-d/Scale). Then the event D >= max - n_j has exactly that
// probability. So the order and the distances D can be drawn as integers before the votes are read.

type turns struct {
	name      string
	distances *rng.DiscreteLaplace
}

func (t turns) noise() (string, []uint64) {
	return t.name, []uint64{math.Float64bits(t.distances.Scale())}
}

func (turns) decide(counts, noise []int64) Answer { return firstAccepted(counts, noise) }

func firstAccepted(counts, turns []int64) Answer {
	return Answer{Label: acceptance.First(counts, turns), Answered: true}
}

func logAcceptances(counts []int64, scale float64) []float64 {
	high := slices.Max(counts)
	logs := make([]float64, len(counts))
	for j, n := range counts {
		logs[j] = float64(n-high) / scale
	}
	return logs
}
