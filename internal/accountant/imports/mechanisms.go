package imports

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

func nothing() accountant.Event { return accountant.Composed{Events: []accountant.Event{}} }

// gaussian returns Gaussian noise with a multiplier relative to the clipping norm, which is the sensitivity
// under add_remove.
func gaussian(noiseMultiplier float64) accountant.Event {
	if noiseMultiplier == 0 {
		return accountant.NonPrivate{}
	}
	return accountant.Gaussian{NoiseMultiplier: noiseMultiplier}
}

// discreteLaplace converts the law exp(-a|k|) to exp(-|k|/scale).
func discreteLaplace(a float64, sensitivity int64) accountant.Event {
	scale := 1 / a
	if math.FMA(scale, a, -1) > 0 { // rounded up: less noise is the safe side
		scale = math.Nextafter(scale, 0)
	}
	return accountant.DiscreteLaplace{Scale: scale, Sensitivity: sensitivity}
}

// discreteGaussian reads the discrete Gaussian, with the sensitivity of the function under the relation of
// the account. Its dimension does not matter: the event here has noise on every coordinate.
func discreteGaussian(a *arguments) accountant.Event {
	if a.has("dimension") {
		if _, unknown := a.value("dimension").(none); !unknown && a.integer("dimension") < 1 {
			a.fail("dimension must be None or at least 1")
		}
	}
	return accountant.DiscreteGaussian{Sigma: a.float("sigma"), Sensitivity: a.optional("sensitivity", 1)}
}

// epsilonDelta returns any (epsilon, delta)-private mechanism: a pure one that fails with probability delta
// (Kairouz, Oh, Viswanath 2017, Theorem 3.1).
func epsilonDelta(epsilon, delta float64) accountant.Event {
	switch {
	case math.IsInf(epsilon, 1) && delta >= 0 && delta <= 1, delta == 1 && epsilon >= 0:
		return accountant.NonPrivate{}
	case delta == 0:
		return accountant.PureDP{Epsilon: epsilon}
	}
	return accountant.WithFailure{Event: accountant.PureDP{Epsilon: epsilon}, Delta: delta}
}

// randomizedResponse reads the response that is uniform over k answers with probability p and true
// otherwise. The true answer has probability 1 - p + p/k, each other p/k, a log-ratio of log(1 + k(1-p)/p).
func randomizedResponse(a *arguments) accountant.Event {
	p, k := a.float("noise_parameter"), a.integer("num_buckets")
	switch {
	case !(p >= 0 && p <= 1):
		a.fail(fmt.Sprintf("noise_parameter must be in [0, 1], got %v", p))
		return nil
	case k < 1:
		a.fail(fmt.Sprintf("num_buckets must be at least 1, got %d", k))
		return nil
	case k == 1:
		return nothing()
	case p == 0:
		return accountant.NonPrivate{}
	}
	ratio := float64(k) * (1 - p) / p
	epsilon := math.Log1p(ratio)
	if math.IsInf(ratio, 1) {
		// p is tiny, perhaps subnormal, where math.Log is wrong on some machines.
		fraction, exponent := math.Frexp(p)
		epsilon = math.Log(float64(k)) + math.Log1p(-p) - math.Log(fraction) - float64(exponent)*math.Ln2
	}
	// The relative error of ratio becomes no larger one of epsilon.
	return accountant.KaryResponse{Epsilon: epsilon * (1 + 2e-15), Categories: k}
}
