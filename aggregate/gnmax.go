package aggregate

import (
	"cmp"
	"math"
	"slices"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// GNMaxConfig holds the parameters of a GNMax mechanism. No parameter has a default.
type GNMaxConfig struct {
	Sigma   float64 // standard deviation of the noise on each count, in votes; [2^-10, 2^40]
	Queries int     // cap on queries; the whole cap is charged; >= 1
}

// GNMax answers with the largest count plus discrete Gaussian noise (Papernot et al. 2018, section 4.1).
type GNMax struct {
	single
	counts *rng.DiscreteGaussian
}

func NewGNMax(cfg GNMaxConfig) (*GNMax, error) {
	counts, err := sampler("Sigma", cfg.Sigma)
	if err = cmp.Or(err, checkCap("Queries", cfg.Queries, maxQueries)); err != nil {
		return nil, err
	}
	cost := accountant.GNMax{Sigma: counts.Sigma(), Discrete: true}
	return &GNMax{single{noisyCounts{"gnmax", counts.Sigma(), counts}, cost, cfg.Queries}, counts}, nil
}

func gnmaxDescription() Description {
	one := func(s Setting) (*GNMax, error) {
		return NewGNMax(GNMaxConfig{Sigma: s.Values["sigma"], Queries: s.Queries})
	}
	return Description{
		Name: "gnmax", Short: "largest noisy count (Gaussian)", Cost: "rho = 1/sigma^2",
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

// As functions of the noisy count, the terms are log-concave with curvature at least 1/sigma^2. For up to
// 2^22 classes, their maximum lies between the lowest count and 6 sigmas above the largest count. Ten sigmas
// outside this range, each term is at most e^-50 of the maximum.

// gaussianReach is how far Law extends below the smallest count and above the largest count, in sigmas.
const gaussianReach = 16

// Law returns the output distribution of one query with discrete Gaussian noise. Time and memory grow with
// Sigma plus the spread of the counts. If a sum has more than 2^22 terms, Law returns an error.
func (m *GNMax) Law(h Histogram) (Law, error) {
	return always(h, func(counts []int64) ([]float64, error) {
		return discreteArgmax(counts, gaussianNoise{m.counts})
	})
}

// ContinuousLaw returns the output distribution for continuous Gaussian noise, as in the paper.
func (m *GNMax) ContinuousLaw(h Histogram) (Law, error) {
	return always(h, func(counts []int64) ([]float64, error) {
		return gaussianArgmax(counts, m.counts.Sigma())
	})
}

func gaussianArgmax(counts []int64, sigma float64) ([]float64, error) {
	// gaussianArgmax returns log P[i] for counts plus N(0, sigma^2), with
	//
	//	P[i] = integral of phi((x-n_i)/sigma)/sigma prod_{j != i} Phi((x-n_j)/sigma) dx
	//
	// by the trapezoid rule in log space. The integrand is entire and log-concave, with a width of at least
	// sigma/sqrt(K) for K classes. The step is at most a fifth of this width, so the error is of order exp(-2
	// pi^2 5^2).
	k := len(counts)
	low := float64(slices.Min(counts))
	spread := (float64(slices.Max(counts)) - low) / sigma
	step := 1 / max(20, 5*math.Sqrt(float64(k)))
	points := math.Ceil((spread+2*gaussianReach)/step) + 1
	if points > maxLawPoints {
		return nil, errLawTooWide(points)
	}
	sums := newLogSums(k)
	cdf := make([]float64, k)
	for p := range int(points) {
		x := float64(p)*step - gaussianReach // in sigmas above the lowest count
		total := 0.0
		for i, n := range counts {
			cdf[i] = mathx.LogNormalCDF(x - (float64(n)-low)/sigma)
			total += cdf[i]
		}
		for i, n := range counts {
			sums[i].add(total - cdf[i] + mathx.LogNormalPDF(x-(float64(n)-low)/sigma))
		}
	}
	logs := logsOf(sums)
	for i := range logs {
		logs[i] += math.Log(step)
	}
	return logs, nil
}

type gaussianNoise struct{ *rng.DiscreteGaussian }

func (noise gaussianNoise) reach(int) float64 { return gaussianReach * noise.Sigma() }

// cdf tabulates the distribution function F of the noise on [-reach, reach].
func (noise gaussianNoise) cdf(reach int64) latticeCDF {
	// For the lower half, F(m) = p(m) S(m) with S(m) = 1 + S(m-1) p(m-1)/p(m). The upper half follows by
	// symmetry.
	c := newLatticeCDF(reach)
	sigma := noise.Sigma()
	logAtReach := logAtLeast(noise.DiscreteGaussian, reach)
	c.logs[0] = logAtReach
	s := math.Exp(logAtReach - noise.LogProb(reach))
	for m := 1 - reach; m <= 0; m++ {
		s = 1 + s*math.Exp((2*float64(m)-1)/sigma/sigma/2)
		c.logs[m+reach] = noise.LogProb(m) + math.Log(s)
	}
	for m := int64(1); m <= reach; m++ {
		above := logAtReach // upper bound at m = reach, where the tail is below the last bit of 1
		if m < reach {
			above = c.logs[reach-m-1]
		}
		c.logs[m+reach] = mathx.Log1mExp(-above)
	}
	return c
}

func logAtLeast(noise *rng.DiscreteGaussian, m int64) float64 {
	// Term i is exp(-(i^2 + 2 i m)/(2 sigma^2)) times the first term. The terms fall below the last bit
	// within 9 sigma.
	if m <= 0 {
		return mathx.Log1mExp(-logAtLeast(noise, 1-m))
	}
	sigma, sum := noise.Sigma(), 0.0
	for i := 0.0; ; i++ {
		term := math.Exp(-i * (i + 2*float64(m)) / sigma / sigma / 2)
		if sum += term; term < 1e-17*sum {
			return noise.LogProb(m) + math.Log(sum)
		}
	}
}
