package aggregate

import (
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/rng"
)

// LNMaxConfig holds the parameters of an LNMax mechanism. No parameter has a default.
type LNMaxConfig struct {
	Scale   float64 // scale of the noise on each count, in votes (1/gamma in the papers); [2^-10, 2^40]
	Queries int     // cap on queries; the whole cap is charged; >= 1
}

// LNMax adds discrete Laplace noise to counts and answers with the largest (Papernot et al. 2017, section
// 2.2). Each answer is 2/Scale-differentially private, because a moved vote changes two counts.
type LNMax struct {
	single
	counts *rng.DiscreteLaplace
}

func NewLNMax(cfg LNMaxConfig) (*LNMax, error) {
	counts, err := laplaceNoiseFor(cfg.Scale, cfg.Queries)
	if err != nil {
		return nil, err
	}
	cost := accountant.LNMax{Scale: counts.Scale(), Discrete: true}
	return &LNMax{single{noisyCounts{"lnmax", counts.Scale(), counts}, cost, cfg.Queries}, counts}, nil
}

func lnmaxDescription() Description {
	one := func(s Setting) (*LNMax, error) {
		return NewLNMax(LNMaxConfig{Scale: s.Values["scale"], Queries: s.Queries})
	}
	return Description{
		Name: "lnmax", Short: "largest noisy count (Laplace)", Cost: "epsilon = 2/scale, and rho = 1/scale^2",
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

// Law returns the output distribution of one query with discrete Laplace noise. Time and memory are
// proportional to the sum of Scale and the spread of the counts. If a sum has more than 2^22 terms, Law
// returns an error.
func (m *LNMax) Law(h Histogram) (Law, error) {
	return always(h, func(counts []int64) ([]float64, error) {
		return discreteArgmax(counts, laplaceNoise{m.counts})
	})
}

// ContinuousLaw returns the output distribution for continuous Laplace noise, as in the paper.
func (m *LNMax) ContinuousLaw(h Histogram) (Law, error) {
	return always(h, func(counts []int64) ([]float64, error) {
		return laplaceArgmax(counts, m.counts.Scale())
	})
}

type laplaceNoise struct{ *rng.DiscreteLaplace }

func (noise laplaceNoise) reach(classes int) float64 {
	// The winning noisy count of a class is, up to a tail of e^-42 of its P[i], at most 42 scales above the
	// largest count plus Scale log K. Below the lowest count, at least two factors of a summand fall by
	// exp(1/Scale) per step.
	return noise.Scale() * (42 + math.Log(float64(classes)))
}

func (noise laplaceNoise) cdf(reach int64) latticeCDF {
	// It uses P[Z <= -m] = P[Z >= m] = r^m/(1+r) for m > 0, with r = exp(-1/Scale).
	c := newLatticeCDF(reach)
	b := noise.Scale()
	r := math.Exp(-1 / b)
	for m := -reach; m < 0; m++ {
		c.logs[m+reach] = float64(m)/b - math.Log1p(r)
	}
	for m := int64(0); m <= reach; m++ {
		c.logs[m+reach] = math.Log1p(-math.Exp(-float64(m+1)/b) / (1 + r))
	}
	return c
}

// The log of the integrand changes by at most panelSlope on a panel. Sixteen Gauss-Legendre nodes integrate
// e^{8x} over [0, 1] to 1e-16.

const (
	panelNodes = 16
	panelSlope = 8
)

func laplaceArgmax(counts []int64, b float64) ([]float64, error) {
	// laplaceArgmax returns log P[i] for counts plus continuous Laplace noise of scale b, with
	//
	//	P[i] = integral of f(x-n_i) prod_{j != i} F(x-n_j) dx
	//
	// The integrand has kinks at the counts and is entire between them. Below the lowest count it is
	// exponential with rate K/b for K classes, so the integral has a closed form. Above the largest count the
	// integrand is a polynomial of degree K-1 in t = e^{-(x-high)/b}, so Gauss-Legendre is exact. Between
	// counts the slope of its log is at most (K+1)/b, which determines the width of panels.
	k := len(counts)
	knots := slices.Clone(counts)
	slices.Sort(knots)
	knots = slices.Compact(knots)
	low, high := knots[0], knots[len(knots)-1]
	panelsPerScale := float64(k+1) / panelSlope
	if points := panelNodes * (float64(high-low)/b*panelsPerScale + float64(k)); points > maxLawPoints {
		return nil, errLawTooWide(points)
	}
	sums := newLogSums(k)
	cdf := make([]float64, k)
	// add adds the integration point x = at + offset b with weight b exp(logWeight).
	add := func(at int64, offset, logWeight float64) {
		total := logWeight
		for j, n := range counts {
			cdf[j] = logLaplaceCDF(float64(at-n)/b + offset)
			total += cdf[j]
		}
		for i, n := range counts {
			sums[i].add(total - cdf[i] - math.Abs(float64(at-n)/b+offset) - math.Ln2)
		}
	}

	add(low, 0, -math.Log(float64(k)))
	nodes, weights := legendre(2*panelNodes - 2)
	for i, from := range knots[:len(knots)-1] {
		width := float64(knots[i+1]-from) / b
		panels := math.Ceil(width * panelsPerScale)
		for p := range int(panels) {
			for q, u := range nodes {
				add(from, width*(float64(p)+u)/panels, math.Log(weights[q]*width/panels))
			}
		}
	}
	nodes, weights = legendre(k)
	for q, t := range nodes {
		add(high, -math.Log(t), math.Log(weights[q]/t)) // dx/b = dt/t
	}
	return logsOf(sums), nil
}

func logLaplaceCDF(x float64) float64 {
	if x < 0 {
		return x - math.Ln2
	}
	return math.Log1p(-math.Exp(-x) / 2)
}
