package aggregate

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/integrate/quad"

	"github.com/pate-go/pate/rng"
)

// This file has fast versions of the Law methods for plans. A Law method returns accurate log probabilities
// of all classes, even tiny ones. A plan needs the probability of one class per query, with absolute error
// 1e-12, for thousands of queries. Tests compare both versions.

type chance = func(counts []int64, label int) float64

func argmaxChance(noise rng.Masses, stride int64) chance {
	// It sums, over all x at which no factor is negligible,
	//
	//	p(x-n_label) prod_{j < label} P[Z <= x-1-n_j] prod_{j > label} P[Z <= x-n_j]
	//
	// A stride above 1 gives a trapezoid rule.
	return func(counts []int64, label int) float64 {
		own := counts[label]
		from := max(own, slices.Max(counts)) - noise.Reach
		var block [256]float64 // products at consecutive x
		sum := 0.0
		for end := own + noise.Reach; from <= end; from += int64(len(block)) * stride {
			products := block[:min((end-from)/stride+1, int64(len(block)))]
			noise.FillAt(products, from-own, stride)
			for j, n := range counts {
				switch {
				case j < label:
					noise.TimesAtMost(products, from-1-n, stride)
				case j > label:
					noise.TimesAtMost(products, from-n, stride)
				}
			}
			for _, p := range products {
				sum += p
			}
		}
		return math.Min(1, sum*float64(stride))
	}
}

func gaussianChance(sigma float64, classes int) (chance, error) {
	// The summand of argmaxChance is at least as smooth as a Gaussian with standard deviation sigma/sqrt(K)
	// for K classes. A stride of at most a quarter of this deviation keeps the error below exp(-2 pi^2 4^2).
	noise, err := rng.NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, err
	}
	stride := max(1, int64(sigma/4/math.Sqrt(float64(max(classes, 4)))))
	return argmaxChance(rng.NewMasses(noise.LogProb, int64(math.Ceil(9*sigma))+1), stride), nil
}

// laplaceChance has an error of at most 1e-2 if rough is set.
func laplaceChance(scale float64, rough bool) (chance, error) {
	noise, err := rng.NewDiscreteLaplace(scale)
	if err != nil {
		return nil, err
	}
	stride := int64(1)
	if rough {
		stride = max(1, int64(scale/8))
	}
	return argmaxChance(rng.NewMasses(noise.LogProb, int64(math.Ceil(32*scale))+1), stride), nil
}

func exponentialChance(scale float64) chance {
	return func(counts []int64, label int) float64 {
		sum := 0.0
		for _, n := range counts {
			sum += math.Exp(float64(n-counts[label]) / scale)
		}
		return 1 / sum
	}
}

func permuteAndFlipChance(scale float64, classes int) chance {
	nodes, weights := make([]float64, (classes+1)/2), make([]float64, (classes+1)/2)
	quad.Legendre{}.FixedLocations(nodes, weights, 0, 1)
	return func(counts []int64, label int) float64 {
		high := slices.Max(counts)
		accept := make([]float64, len(counts))
		for j, n := range counts {
			accept[j] = math.Exp(float64(n-high) / scale)
		}
		sum := 0.0
		for q, u := range nodes {
			product := weights[q]
			for j, p := range accept {
				if j != label {
					product *= 1 - u*p
				}
			}
			sum += product
		}
		return accept[label] * sum
	}
}

func thresholdChance(sigma float64, threshold int64) (func(counts []int64) float64, error) {
	noise, err := rng.NewDiscreteGaussian(sigma)
	if err != nil {
		return nil, err
	}
	law := rng.NewMasses(noise.LogProb, int64(math.Ceil(9*sigma))+1)
	return func(counts []int64) float64 {
		return law.AtMost(slices.Max(counts) - threshold) // P[Z >= threshold-max], by symmetry
	}, nil
}

// The functions below return the probability that one class wins against all rivals under continuous noise,
// if the count of each rival is lower by x noise scales. For one rival, tests compare with closed forms.

func gaussianAhead(x float64, rivals int) float64 {
	if rivals == 1 {
		return math.Erfc(-x/2) / 2
	}
	step := 1 / (20 + 5*math.Sqrt(float64(rivals)))
	total := 0.0
	for z := -10.0; z <= 10; z += step {
		win := math.Pow(math.Erfc(-(z+x)/math.Sqrt2)/2, float64(rivals))
		total += math.Exp(-z*z/2) * win
	}
	return total * step / math.Sqrt(2*math.Pi)
}

func gumbelAhead(x float64, rivals int) float64 {
	return 1 / (1 + float64(rivals)*math.Exp(-x))
}

// oneSidedAhead computes the integral of (1-u e^-x)^rivals du over [0, 1]. Permute-and-flip is the largest
// count plus exponential noise E, and u = e^-E is uniform.
func oneSidedAhead(x float64, rivals int) float64 {
	y, k := math.Exp(-x), float64(rivals+1)
	if y == 0 {
		return 1
	}
	return -math.Expm1(k*math.Log1p(-y)) / (k * y)
}

func laplaceAhead(x float64, rivals int) float64 {
	// laplaceAhead is for LNMax: the integral of f(z) F(z+x)^rivals dz. Let y = e^-x and K = rivals+1. The
	// interval below -x adds y/(K 2^K). The interval above 0 adds integral_0^{1/2} (1-uy)^rivals du, with u =
	// P[Z > z]. Between -x and 0 the integrand is smooth.
	y, k := math.Exp(-x), float64(rivals+1)
	if y == 0 {
		return 1
	}
	total := y * math.Exp2(-k) / k
	total -= math.Expm1(k*math.Log1p(-y/2)) / (k * y)
	const nodes, reach = 32, 4.0
	at, weight := make([]float64, nodes), make([]float64, nodes)
	from := math.Max(-x, -60) // less than e^-60 of the probability lies below
	for from < 0 {
		to := math.Min(0, from+reach/math.Max(1, math.Log2(k)))
		quad.Legendre{}.FixedLocations(at, weight, from, to)
		for i, z := range at {
			total += weight[i] * math.Exp(z) / 2 * math.Pow(1-math.Exp(-z-x)/2, float64(rivals))
		}
		from = to
	}
	return total
}
