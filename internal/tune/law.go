package tune

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/rng"
)

// Law is the distribution of the number of runs. If Mean is above 0, the distribution is Poisson. Otherwise
// the distribution is truncated negative binomial on 1, 2, ... with parameters Eta and Gamma. [Poisson] and
// [NegativeBinomial] return a Law for an expected number of runs.
type Law struct {
	Eta   float64 // shape in (-1, 1]: 1 is geometric, 0 is logarithmic
	Gamma float64 // in (0, 1), small for many runs; 0 for Poisson
	Mean  float64 // Poisson mean; 0 otherwise
}

// MaxExpected is the largest expected number of runs.
const MaxExpected = 1e5

// ErrLaw matches every error about a parameter of a [Law].
var ErrLaw = errors.New("tune: bad law")

// Poisson returns a Poisson distribution with this mean for the number of runs. This number is 0 with
// probability e^-mean.
func Poisson(mean float64) (Law, error) {
	l := Law{Mean: mean}
	if !(mean > 0) {
		return l, fmt.Errorf("%w: a Poisson law needs an expected number of runs above 0, got %v", ErrLaw, mean)
	}
	return l, l.Validate()
}

// NegativeBinomial returns the truncated negative binomial distribution with shape eta. The expected number
// of runs, `mean`, must be in (1, MaxExpected].
func NegativeBinomial(eta, mean float64) (Law, error) {
	if !(eta > -1 && eta <= 1) {
		return Law{}, fmt.Errorf("%w: the shape must be above -1 and at most 1, got %v", ErrLaw, eta)
	}
	if !(mean > 1 && mean <= MaxExpected) {
		return Law{}, fmt.Errorf("%w: the expected number of runs must be above 1 and at most %g, got %v",
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

// Event returns the event of the whole search. The argument `run` is the event of one run.
func (l Law) Event(run accountant.Event) accountant.Event {
	if l.Mean != 0 {
		return accountant.PoissonSelection{Mean: l.Mean, Event: run}
	}
	return accountant.Selection{Eta: l.Eta, Gamma: l.Gamma, Event: run}
}

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

// Missed returns the probability that no run uses a given setting: E[(1-share)^N] for N runs. One run uses
// the setting with probability share.
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

// Quantile returns the least k with P(number of runs <= k) >= probability, up to rounding. The argument
// probability is in (0, 1).
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
	p := first * (1 - l.Gamma) // probability of one run
	k := int64(1)
	for sum := p; sum < probability && p > 1e-18; sum += p {
		p *= (1 - l.Gamma) * (float64(k) + l.Eta) / float64(k+1)
		k++
	}
	return k
}

// Price compares the noise and the epsilon of a search and a single run.
type Price struct {
	Law        Law
	Noise      float64 // least noise with which the whole search meets the target
	Epsilon    float64 // epsilon of the search with Noise, at most the target's
	OneNoise   float64 // least noise with which a single run meets the target
	OneEpsilon float64 // epsilon of one run with Noise; the rest of Epsilon is the cost of choosing
}

func (p Price) Ratio() float64 { return p.Noise / p.OneNoise }

// Noisy returns the event of one run with this noise.
type Noisy = func(noise float64) (accountant.Event, error)

// PriceOf returns the price of a search that meets the target. The function event returns the event of
// one run. The search is accounted by Rényi divergences, because no other bounds are known. A single run
// is accounted by the tightest accountant.
func PriceOf(ctx context.Context, l Law, relation accountant.Relation, target accountant.Target, event Noisy) (Price, error) {
	p := Price{Law: l}
	if err := l.Validate(); err != nil {
		return p, err
	}
	search := func(noise float64) (accountant.Event, error) {
		run, err := event(noise)
		if err != nil {
			return nil, err
		}
		return l.Event(run), nil
	}
	noise, bound, err := accountant.CalibrateNoise(ctx, accountant.RDPConfig{Relation: relation}.NewAccount, target, search)
	if err != nil {
		return p, fmt.Errorf("tune: %w", err)
	}
	p, err = PriceAt(ctx, l, relation, target, noise, event)
	p.Epsilon = bound.Upper
	return p, err
}

// PriceAt returns the price of a search with the given noise. It does not compute the epsilon of the search:
// the caller must set target.Epsilon to this epsilon.
func PriceAt(ctx context.Context, l Law, relation accountant.Relation, target accountant.Target, noise float64, event Noisy) (Price, error) {
	p := Price{Law: l, Noise: noise, Epsilon: target.Epsilon}
	var err error
	if p.OneNoise, _, err = accountant.CalibrateNoise(ctx, accountant.AutoConfig{Relation: relation}.NewAccount, target, event); err != nil {
		return p, fmt.Errorf("tune: noise of one run: %w", err)
	}
	run, err := event(noise)
	if err != nil {
		return p, err
	}
	one, err := accountant.Epsilon(ctx, accountant.ByAuto, relation, target.Delta, run)
	if err != nil {
		return p, fmt.Errorf("tune: cost of one run: %w", err)
	}
	p.OneEpsilon = one.Upper
	return p, nil
}

// Draw draws the number of runs. The distribution is exact for the float64 parameters of l.
func (l Law) Draw(s *rng.Stream) int64 {
	// Every decision compares random bits with a ratio of integers or with the digits of a parameter.
	switch {
	case l.Mean != 0:
		return poisson(s, l.Mean)
	case l.Eta < 0:
		return heavy(s, -l.Eta, l.Gamma)
	}
	return geometric(s, l.Eta, l.Gamma)
}

func poisson(s *rng.Stream, mean float64) int64 {
	// It adds floor(mean) Poisson numbers of mean 1 and one of mean p = mean-floor(mean). For the last, it
	// draws a Poisson number of mean 1 and keeps each count with probability p.
	whole, rest := math.Modf(mean)
	n := int64(0)
	for range int64(whole) {
		n += poissonOne(s)
	}
	for range poissonOne(s) {
		if bernoulli(s, rest) {
			n++
		}
	}
	return n
}

func poissonOne(s *rng.Stream) int64 {
	// It proposes k with probability 2^-(k+1) and accepts k with probability 2^(k-1)/k!. The acceptance
	// probability is 1/2 for k = 0, and otherwise the product of 2/j over j from 3 to k.
	for {
		k := int64(0)
		for s.Uint64N(2) == 1 {
			k++
		}
		accept := k > 0 || s.Uint64N(2) == 0
		for j := int64(3); j <= k && accept; j++ {
			accept = s.Uint64N(uint64(j)) < 2
		}
		if accept {
			return k
		}
	}
}

func geometric(s *rng.Stream, eta, gamma float64) int64 {
	// The probability of k is proportional to
	//
	//	gamma (1-gamma)^(k-1) prod_{j=1}^{k-1} (j+eta)/(j+1),   0 <= eta <= 1.
	//
	// Step k returns k with probability gamma. Otherwise the loop continues with step k+1 with probability
	// (k+eta)/(k+1), and restarts at step 1 with the remaining probability.
	for k := uint64(1); ; k++ {
		if bernoulli(s, gamma) {
			return int64(k)
		}
		if u := s.Uint64N(k + 1); u == k && !bernoulli(s, eta) {
			k = 0
		}
	}
}

// heavy draws from the truncated negative binomial distribution with shape eta = -alpha in (-1, 0).
func heavy(s *rng.Stream, alpha, gamma float64) int64 {
	// The probability of k is proportional to
	//
	//	(1-gamma)^k (alpha/k) prod_{j=1}^{k-1} (1 - alpha/j),   alpha = -eta in (0, 1).
	//
	// Trial k restarts at trial 1 with probability gamma. Otherwise it returns k with probability alpha/k, as
	// in the Sibuya distribution.
	for k := uint64(1); ; k++ {
		if bernoulli(s, gamma) {
			k = 0
			continue
		}
		if s.Uint64N(k) == 0 && bernoulli(s, alpha) {
			return int64(k)
		}
	}
}

func bernoulli(s *rng.Stream, p float64) bool {
	if p == 1 {
		return true
	}
	frac, exponent := math.Frexp(p)
	for zeros := -exponent; zeros > 0; zeros -= 64 {
		if s.Uint64()>>(64-min(zeros, 64)) != 0 {
			return false
		}
	}
	return s.Uint64()>>11 < uint64(math.Ldexp(frac, 53))
}
