package aggregate

import (
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// PermuteAndFlipConfig holds the parameters of a permute-and-flip mechanism. No parameter has a default.
type PermuteAndFlipConfig struct {
	Scale   float64 // difference of counts that changes a class's acceptance probability by a factor e, in votes; [2^-10, 2^40]
	Queries int     // cap on queries; the whole cap is charged; >= 1
}

// PermuteAndFlip visits the classes in random order and answers with the first accepted class. A class with n
// votes is accepted with probability exp((n - max)/Scale), where max is the largest count (McKenna, Sheldon
// 2020). One-sided exponential noise on the counts gives an argmax of the same distribution (Ding et al.
// 2021). At the same Scale, PermuteAndFlip is right more often than Exponential. Both mechanisms are
// 2/Scale-differentially private. Many queries cost more than with Exponential, because the Rényi curve of
// Exponential is smaller.
type PermuteAndFlip struct {
	single
	distances *rng.DiscreteLaplace
}

// NewPermuteAndFlip returns the mechanism for cfg. Each query costs an epsilon of 2/Scale, rounded up.
func NewPermuteAndFlip(cfg PermuteAndFlipConfig) (*PermuteAndFlip, error) {
	distances, err := laplaceNoiseFor(cfg.Scale, cfg.Queries)
	if err != nil {
		return nil, err
	}
	cost := accountant.PureDP{Epsilon: mathx.DivUp(2, distances.Scale())}
	return &PermuteAndFlip{single{oneTurn{turns{"permute-and-flip", distances}}, cost, cfg.Queries}, distances}, nil
}

type oneTurn struct{ turns }

func (m oneTurn) draw(noise []int64, s *rng.Stream, classes int) []int64 {
	order := make([]int, classes)
	s.Perm(order)
	for _, class := range order {
		noise = append(noise, int64(class), m.distances.Geometric(s))
	}
	return noise
}

// Law returns the output distribution of one query. Class j with n_j votes is accepted with probability p_j =
// exp((n_j-max)/Scale). Then
//
//	P[r] = p_r integral_0^1 prod_{j != r} (1 - u p_j) du.
func (m *PermuteAndFlip) Law(h Histogram) (Law, error) {
	// Proof: let each class arrive at an independent uniform time, and class r at time u. Class r wins if and
	// only if it is accepted and no accepted class arrived before u. The integrand is a polynomial of degree
	// K-1 in u for K classes, so Gauss-Legendre quadrature is exact.
	return always(h, func(counts []int64) ([]float64, error) {
		accept := logAcceptances(counts, m.distances.Scale())
		k := len(counts)
		nodes, weights := legendre(k)
		sums := newLogSums(k)
		factor := make([]float64, k)
		for q, u := range nodes {
			late := nodes[len(nodes)-1-q] // 1-u
			total := math.Log(weights[q])
			for j, a := range accept {
				factor[j] = math.Log(late - u*math.Expm1(a)) // 1 - u p_j
				total += factor[j]
			}
			for i := range sums {
				sums[i].add(total - factor[i])
			}
		}
		logs := logsOf(sums)
		for i, a := range accept {
			logs[i] += a
		}
		return logs, nil
	})
}

func permuteAndFlipDescription() Description {
	return Description{
		Name: "permute-and-flip", Short: "classes in random order, until one is accepted", Cost: "epsilon = 2/scale, and no rho",
		Parameters: []Parameter{noiseParameter("scale", "noise")},
		New: making(func(s Setting) (*PermuteAndFlip, error) {
			return NewPermuteAndFlip(PermuteAndFlipConfig{Scale: s.Values["scale"], Queries: s.Queries})
		}),
		Chances: func(s Setting, classes int, _ bool) (Chances, error) {
			return Chances{Right: permuteAndFlipChance(s.Values["scale"], classes)}, nil
		},
		Ahead:      oneSidedAhead,
		Laws:       []NamedLaw{{Name: "permute-and-flip", Short: "Classes in random order, until one is accepted", Noise: "exact"}},
		Audit:      Setting{Mechanism: "permute-and-flip", Values: map[string]float64{"scale": 2}},
		Neighbours: [2][]int{{8, 2, 0}, {7, 3, 0}}, Pure: true,
	}
}
