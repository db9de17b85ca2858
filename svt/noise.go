package svt

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/rng"
)

// Kind is a law of noise. Mechanisms draw the discrete kinds. The continuous ones are for laws of the
// literature.
type Kind int

const (
	Laplace         Kind = iota + 1 // density exp(-|x|/b)/(2b)
	Exponential                     // density exp(-x/b)/b, x >= 0
	Gaussian                        // standard deviation b
	DiscreteLaplace                 // mass proportional to exp(-|k|/b)
	Geometric                       // mass proportional to exp(-k/b), k >= 0: one-sided
)

// Noise is a law and its scale b. The zero Noise means no noise at all. Only broken variants have it.
type Noise struct {
	Kind  Kind
	Scale float64
}

func (n Noise) discrete() bool { return n.Kind == DiscreteLaplace || n.Kind == Geometric }

func (n Noise) check() error {
	if n == (Noise{}) {
		return nil
	}
	if n.Kind < Laplace || n.Kind > Geometric || !(n.Scale >= 0x1p-10 && n.Scale <= 0x1p40) {
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
	case x < 0: // the one-sided laws
		return 0
	case n.Kind == Exponential:
		return math.Exp(-z) * t
	}
	return -math.Expm1(-t) * math.Exp(-z)
}

// split returns P[noise < x] and P[noise >= x], each to its own relative accuracy.
func (n Noise) split(x float64) (below, above float64) {
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
	if n.Kind == Gaussian {
		return 14*n.Scale + 2
	}
	return 45*n.Scale + 2
}

// sampler draws from a discrete law.
type sampler func(*rng.Stream) int64

func (n Noise) sampler() (sampler, error) {
	if !n.discrete() {
		return nil, fmt.Errorf("svt: noise of kind %d is not drawn, only DiscreteLaplace and Geometric are", n.Kind)
	}
	d, err := rng.NewDiscreteLaplace(n.Scale)
	if err != nil {
		return nil, fmt.Errorf("svt: %w", err)
	}
	if n.Kind == Geometric {
		return d.Geometric, nil
	}
	return d.Sample, nil
}
