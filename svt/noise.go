package svt

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// Kind names a law of noise. Mechanisms draw the discrete ones. The continuous ones are
// those of the literature, for laws and bounds.
type Kind int

const (
	Laplace          Kind = iota + 1 // density exp(-|x|/b)/(2b)
	Exponential                      // density exp(-x/b)/b, x >= 0
	Gaussian                         // standard deviation b
	DiscreteLaplace                  // mass proportional to exp(-|k|/b)
	Geometric                        // mass proportional to exp(-k/b), k >= 0: one-sided
	DiscreteGaussian                 // mass proportional to exp(-k^2/(2 b^2))
)

// Noise is a law and its scale b. The zero Noise means no noise at all. Only broken variants have it.
type Noise struct {
	Kind  Kind
	Scale float64
}

func (n Noise) discrete() bool {
	return n.Kind == DiscreteLaplace || n.Kind == Geometric || n.Kind == DiscreteGaussian
}

func (n Noise) check() error {
	if n == (Noise{}) {
		return nil
	}
	if n.Kind < Laplace || n.Kind > DiscreteGaussian || !(n.Scale >= 0x1p-10 && n.Scale <= 0x1p40) {
		return fmt.Errorf("svt: %+v is not a Noise with a scale in [2^-10, 2^40]", n)
	}
	return nil
}

// density returns the density of the law at x, or the mass of the integer x.
func (n Noise) density(x float64) float64 {
	z, t := x/n.Scale, 1/n.Scale
	switch {
	case n.Kind == Laplace:
		return math.Exp(-math.Abs(z)) * t / 2
	case n.Kind == Gaussian:
		return math.Exp(-z*z/2) * t / math.Sqrt(2*math.Pi)
	case n.Kind == DiscreteLaplace:
		return math.Tanh(t/2) * math.Exp(-math.Abs(z))
	case n.Kind == DiscreteGaussian:
		return math.Exp(-z*z/2 - mathx.LogTheta(n.Scale))
	case x < 0: // the one-sided laws
		return 0
	case n.Kind == Exponential:
		return math.Exp(-z) * t
	}
	return -math.Expm1(-t) * math.Exp(-z)
}

// split returns P[noise < x] and P[noise >= x], each to its own relative accuracy. The
// argument tails is a table for discrete Gaussian noise.
func (n Noise) split(x float64, tails gaussianTails) (below, above float64) {
	if n.discrete() {
		x = math.Ceil(x)
	}
	z, r := x/n.Scale, math.Exp(-1/n.Scale)
	switch n.Kind {
	case Laplace:
		if z > 0 {
			return 1 - math.Exp(-z)/2, math.Exp(-z) / 2
		}
		return math.Exp(z) / 2, 1 - math.Exp(z)/2
	case Gaussian:
		return math.Erfc(-z/math.Sqrt2) / 2, math.Erfc(z/math.Sqrt2) / 2
	case DiscreteLaplace:
		if x > 0 {
			tail := math.Exp(-z) / (1 + r)
			return 1 - tail, tail
		}
		tail := math.Exp(z) * r / (1 + r) // P[noise <= x-1]
		return tail, 1 - tail
	case DiscreteGaussian:
		return tails.split(int64(max(-0x1p60, min(0x1p60, x))))
	case Exponential, Geometric:
		if x <= 0 {
			return 0, 1
		}
		return -math.Expm1(-z), math.Exp(-z)
	}
	if x > 0 { // no noise
		return 1, 0
	}
	return 0, 1
}

// reach returns how far from 0 the noise has any probability that matters.
func (n Noise) reach() float64 {
	if n.Kind == Gaussian || n.Kind == DiscreteGaussian {
		return 14*n.Scale + 2
	}
	return 45*n.Scale + 2
}

// gaussianTails holds P[noise >= m] for m = 0, 1, ...
type gaussianTails []float64

func newGaussianTails(n Noise) gaussianTails {
	if n.Kind != DiscreteGaussian {
		return nil
	}
	tails := make(gaussianTails, int(n.reach())+2)
	sum := 0.0
	for m := len(tails) - 1; m >= 0; m-- {
		sum += n.density(float64(m))
		tails[m] = sum
	}
	return tails
}

func (t gaussianTails) split(m int64) (below, above float64) {
	tail := func(m int64) float64 { // m >= 1
		if m >= int64(len(t)) {
			return 0
		}
		return t[m]
	}
	if m >= 1 {
		return 1 - tail(m), tail(m)
	}
	return tail(1 - m), 1 - tail(1-m)
}

// sampler draws from a discrete law.
type sampler func(*rng.Stream) int64

func (n Noise) sampler() (sampler, error) {
	switch n.Kind {
	case DiscreteLaplace, Geometric:
		d, err := rng.NewDiscreteLaplace(n.Scale)
		if err != nil {
			return nil, fmt.Errorf("svt: %w", err)
		}
		if n.Kind == Geometric {
			return d.Geometric, nil
		}
		return d.Sample, nil
	}
	return nil, fmt.Errorf("svt: noise of kind %d is not drawn, only DiscreteLaplace and Geometric are", n.Kind)
}
