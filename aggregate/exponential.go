package aggregate

import (
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// ExponentialConfig holds the parameters of an exponential mechanism; none has a default.
type ExponentialConfig struct {
	Scale   float64 // votes that change the odds by a factor e; [2^-10, 2^40]
	Queries int     // cap on questions, all of which are charged; >= 1
}

// Exponential answers with class j with probability proportional to exp(n_j/Scale): the exponential
// mechanism (McSherry, Talwar 2007). This is the distribution of the argmax of n_j plus Gumbel noise. For a
// moved vote the log-ratios lie in an interval of length 2/Scale (bounded range; Durfee, Rogers 2019).
type Exponential struct {
	single
	distances *rng.DiscreteLaplace
}

// NewExponential returns the mechanism for cfg. Its epsilon is 2/Scale, rounded up.
func NewExponential(cfg ExponentialConfig) (*Exponential, error) {
	distances, err := laplaceNoiseFor(cfg.Scale, cfg.Queries)
	if err != nil {
		return nil, err
	}
	cost := accountant.ExponentialMechanism{Epsilon: twiceOver(distances.Scale())}
	return &Exponential{single{manyTurns{turns{"exponential", distances}}, cost, cfg.Queries}, distances}, nil
}

// manyTurns is the rule of Exponential, by which a class can have several turns.
type manyTurns struct{ turns }

// draw gives turns to uniformly random classes until every class had one. Then some turn is accepted,
// whatever the votes are. The first accepted turn is of class j with probability proportional to its chance
// of acceptance. A turn with no larger distance than an earlier turn of the same class cannot be the first
// accepted one, and is left out.
func (m manyTurns) draw(noise []int64, s *rng.Stream, classes int) []int64 {
	farthest := make([]int64, classes)
	for i := range farthest {
		farthest[i] = -1
	}
	for left := classes; left > 0; {
		class := int64(s.Uint64N(uint64(classes)))
		distance := m.distances.Geometric(s)
		if farthest[class] < 0 {
			left--
		}
		if distance > farthest[class] {
			farthest[class] = distance
			noise = turn(noise, class, distance)
		}
	}
	return noise
}

// Law returns the output distribution of one query, P[j] proportional to exp(n_j/Scale).
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

// The exponential mechanism and permute-and-flip both go through the classes in a random order and stop at
// the first that is accepted. Class j is accepted with probability exp(-(max - n_j)/Scale), so a class with
// the largest count always is. If D has the geometric distribution P[D >= d] = exp(-d/Scale), then
// D >= max - n_j has exactly that probability. So the order and the distances D can be drawn as integers
// before the votes are read, and the votes only decide where to stop.

// turns is what the rules of the two mechanisms have in common.
type turns struct {
	name      string
	distances *rng.DiscreteLaplace
}

func (t turns) noise() (string, []uint64) {
	return t.name, []uint64{math.Float64bits(t.distances.Scale())}
}

func (turns) decide(counts, noise []int64) Answer { return firstAccepted(counts, noise) }

// turn appends a turn of a class to noise. The class accepts if its count is at most distance below the
// largest count.
func turn(noise []int64, class, distance int64) []int64 { return append(noise, class, distance) }

// firstAccepted returns the class of the first accepted turn. It reads every turn, from the last to the
// first, wherever the accepted turns are.
func firstAccepted(counts, turns []int64) Answer {
	high := slices.Max(counts)
	label := NoLabel
	for i := len(turns) - 2; i >= 0; i -= 2 {
		if turns[i+1] >= high-counts[turns[i]] {
			label = int(turns[i])
		}
	}
	return Answer{Label: label, Answered: true}
}

// twiceOver returns 2/scale, rounded up.
func twiceOver(scale float64) float64 {
	eps := 2 / scale
	if math.FMA(eps, scale, -2) < 0 {
		return mathx.Up(eps)
	}
	return eps
}

// logAcceptances returns (n_j - max)/scale for each class.
func logAcceptances(counts []int64, scale float64) []float64 {
	high := slices.Max(counts)
	logs := make([]float64, len(counts))
	for j, n := range counts {
		logs[j] = float64(n-high) / scale
	}
	return logs
}
