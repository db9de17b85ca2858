package tune

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
)

// Law is the law of the number of runs: Poisson if Mean is above 0, else the truncated negative binomial of
// Eta and Gamma, which is at least 1. [Poisson] and [NegativeBinomial] make one with an expected number of
// runs.
type Law struct {
	Eta   float64 // in (-1, 1]: 1 is the geometric law, 0 the logarithmic one
	Gamma float64 // in (0, 1), small for many runs; 0 of a Poisson law
	Mean  float64 // of a Poisson law; 0 of another
}

// MaxExpected bounds the expected number of runs.
const MaxExpected = 1e5

// ErrLaw is matched by every error about the parameters of a Law.
var ErrLaw = errors.New("tune: bad law")

// Poisson returns the Poisson law, under which there is no run with probability e^-mean.
func Poisson(mean float64) (Law, error) {
	l := Law{Mean: mean}
	if !(mean > 0) {
		return l, fmt.Errorf("%w: a Poisson law needs an expected number of runs above 0, got %v", ErrLaw, mean)
	}
	return l, l.Validate()
}

// NegativeBinomial returns the truncated negative binomial law of a shape with this expected number of
// runs, above 1.
func NegativeBinomial(eta, mean float64) (Law, error) {
	if !(eta > -1 && eta <= 1) {
		return Law{}, fmt.Errorf("%w: the shape must be above -1 and at most 1, got %v", ErrLaw, eta)
	}
	if !(mean > 1 && mean <= MaxExpected) {
		return Law{}, fmt.Errorf("%w: a law of at least one run needs an expected number above 1 and at most %g, got %v",
			ErrLaw, float64(MaxExpected), mean)
	}
	at := func(log float64) Law { return Law{Eta: eta, Gamma: math.Exp(log)} }
	const least, most = -700, -1e-9
	if at(least).Expected() < mean || at(most).Expected() > mean {
		return Law{}, fmt.Errorf("%w: no law of shape %v has %v runs expected", ErrLaw, eta, mean)
	}
	l := at(mathx.Bisect(func(log float64) bool { return at(log).Expected() <= mean }, least, most))
	return l, l.Validate()
}

// Validate reports the first parameter that is out of range.
func (l Law) Validate() error {
	switch {
	case l.Mean != 0 && (l.Eta != 0 || l.Gamma != 0):
		return fmt.Errorf("%w: a Poisson law has neither eta nor gamma", ErrLaw)
	case l.Mean != 0 && !(l.Mean > 0 && l.Mean <= MaxExpected):
		return fmt.Errorf("%w: the expected number of runs must be above 0 and at most %g, got %v",
			ErrLaw, float64(MaxExpected), l.Mean)
	case l.Mean != 0:
		return nil
	case !(l.Eta > -1 && l.Eta <= 1):
		return fmt.Errorf("%w: the shape must be above -1 and at most 1, got %v", ErrLaw, l.Eta)
	case !(l.Gamma > 0 && l.Gamma < 1):
		return fmt.Errorf("%w: gamma must be in (0, 1), got %v", ErrLaw, l.Gamma)
	case !(l.Expected() <= MaxExpected*(1+1e-6)):
		return fmt.Errorf("%w: %.3g runs are expected, at most %g may be", ErrLaw, l.Expected(), float64(MaxExpected))
	}
	return nil
}

// Event returns the cost of the whole search if every run costs this.
func (l Law) Event(run accountant.Event) accountant.Event {
	if l.Mean != 0 {
		return accountant.PoissonSelection{Mean: l.Mean, Event: run}
	}
	return accountant.Selection{Eta: l.Eta, Gamma: l.Gamma, Event: run}
}

// String names the law.
func (l Law) String() string {
	switch {
	case l.Mean != 0:
		return "poisson"
	case l.Eta == 1:
		return "geometric"
	case l.Eta == 0:
		return "logarithmic"
	}
	return fmt.Sprintf("negative-binomial:%g", l.Eta)
}

// Expected returns the expected number of runs.
func (l Law) Expected() float64 {
	if l.Mean != 0 {
		return l.Mean
	}
	log := math.Log(l.Gamma)
	shape := -log // the limit at 0 of (1-gamma^eta)/eta
	if l.Eta != 0 {
		shape = -math.Expm1(l.Eta*log) / l.Eta
	}
	return (1 - l.Gamma) / (l.Gamma * shape)
}

// Missed returns the probability that a setting is never run, if each run has it with probability share:
// the probability generating function of the number of runs at 1-share. Missed(1) is the probability of no
// run.
func (l Law) Missed(share float64) float64 {
	if l.Mean != 0 {
		return math.Exp(-l.Mean * share)
	}
	log := math.Log(l.Gamma + (1-l.Gamma)*share)
	if l.Eta == 0 {
		return math.Max(0, log/math.Log(l.Gamma)) // no -0
	}
	return math.Max(0, math.Expm1(-l.Eta*log)/math.Expm1(-l.Eta*math.Log(l.Gamma)))
}

// Quantile returns the least number of runs that is not exceeded with this probability, in (0, 1), up to
// rounding, to plan the time of a search.
func (l Law) Quantile(probability float64) int64 {
	if l.Mean != 0 {
		law := distuv.Poisson{Lambda: l.Mean}
		k := int64(0)
		for step := int64(1) << 40; step > 0; step /= 2 {
			if k+step < 1<<40 && law.CDF(float64(k+step-1)) < probability {
				k += step
			}
		}
		return k
	}
	first := 1.0 / -math.Log(l.Gamma)
	if l.Eta != 0 {
		first = l.Eta / math.Expm1(-l.Eta*math.Log(l.Gamma))
	}
	p := first * (1 - l.Gamma) // of one run
	k := int64(1)
	for sum := p; sum < probability && p > 1e-18; sum += p {
		p *= (1 - l.Gamma) * (float64(k) + l.Eta) / float64(k+1)
		k++
	}
	return k
}
