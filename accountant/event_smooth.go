package accountant

import (
	"errors"
	"fmt"
	"math"
)

// GNSS is one release of a real function plus Gaussian noise whose standard
// deviation is Sigma times a smooth upper bound S of the function's local
// sensitivity: S changes by a factor of at most e^Beta between neighbours
// (Nissim, Raskhodnikova, Smith 2007). Margin standard deviations of the noise
// are added to the value, so that it errs upwards; they depend on the data too
// and are part of what is paid for. A sanitised data-dependent cost is one
// (Papernot et al. 2018, appendix B).
type GNSS struct {
	Beta   float64 `json:"beta"`   // > 0
	Sigma  float64 `json:"sigma"`  // noise standard deviation / S, > 0
	Margin float64 `json:"margin"` // in standard deviations of the noise, >= 0
}

// Validate implements Event.
func (e GNSS) Validate() error { return validTree(e, 0) }

type gnssRow struct {
	leaf
	GNSS
}

func (e GNSS) row() row { return gnssRow{leafOf(e), e} }

func (gnssRow) name() string   { return "gnss" }
func (r gnssRow) curve() curve { return r.GNSS.curve() }

func (r gnssRow) words(p printer) (mechanism, parameters string) {
	return "noisy value of smooth sensitivity", fmt.Sprintf("Gaussian, σ %s × sensitivity, β %s, margin %s σ",
		p.number(r.Sigma), p.number(r.Beta), p.number(r.Margin))
}

func (r gnssRow) check() error {
	return errors.Join(positive("gnss", "beta", r.Beta), positive("gnss", "sigma", r.Sigma), nonNegative("gnss", "margin", r.Margin))
}

// curve returns the divergence of two normal laws, the worst that smooth sensitivity
// allows: the second has a standard deviation smaller by e^-Beta, the means are as
// far apart as the smaller S allows, and the margins differ with S. Of order a, with
// c = 1 - a(1-e^{-2 Beta}) > 0 the variance of the mixture and the shift
// d = e^-Beta + Margin Sigma (1-e^-Beta), in units of S, it is
//
//	a d^2/(2 Sigma^2 c) - (a Beta + log(c)/2)/(a-1),
//
// and infinite if c <= 0. Both terms grow as the ratio of the S departs from 1, and
// grow more towards a smaller second one. The cost printed in Papernot et al. 2018,
// Theorem 23, is less than this for orders above about 1/(4 Beta), up to five
// times at the parameters its authors use, and so no bound.
func (e GNSS) curve() curve {
	shrink := -math.Expm1(-2 * e.Beta)
	shift := math.Exp(-e.Beta) - e.Margin*e.Sigma*math.Expm1(-e.Beta)
	return func(a float64) float64 {
		c := 1 - a*shrink
		if !(c > 0) {
			return math.Inf(1)
		}
		r := shift / e.Sigma
		// Rounding of c is relative to 1, and c may be small.
		c -= 4e-16 * (1 + a*shrink)
		if !(c > 0) {
			return math.Inf(1)
		}
		return a*r*r/(2*c) - (a*e.Beta+math.Log1p(c-1)/2)/(a-1)
	}
}
