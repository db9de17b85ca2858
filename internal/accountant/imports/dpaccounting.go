package imports

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/pate-go/pate/accountant"
)

// DPAccounting reads the repr of a DpEvent of Google's dp_accounting, or a list of DpEvents, such as
//
//	SelfComposedDpEvent(event=PoissonSampledDpEvent(sampling_probability=0.01,
//	    event=GaussianDpEvent(noise_multiplier=1.0)), count=1000)
//
// Arguments must be named. If the input has a RandomizedResponseDpEvent or SampledWithoutReplacementDpEvent,
// the relation is replace_one, otherwise add_remove. Under replace_one, Poisson sampling is an error, and so
// is Gaussian, Laplace or discrete Laplace noise. This noise is relative to a clipping norm, but a replaced
// record can change a clipped sum by twice this norm.
func DPAccounting(r io.Reader) (accountant.Schedule, error) {
	v, err := readValue(r)
	if err != nil {
		return accountant.Schedule{}, err
	}
	var b builder
	l, several := v.(list)
	if !several {
		l = list{v}
	}
	events, err := b.events(l)
	if err != nil {
		return accountant.Schedule{}, err
	}
	if !several {
		if c, ok := events[0].(accountant.Composed); ok {
			events = c.Events
		}
	}
	relation, err := b.relation()
	if err != nil {
		return accountant.Schedule{}, err
	}
	for i, e := range events {
		if err := accountant.Validate(e); err != nil {
			return accountant.Schedule{}, fmt.Errorf("imports: events[%d]: %w", i, err)
		}
	}
	return accountant.Schedule{Relation: relation, Events: events}, nil
}

type builder struct {
	clipped  string // class with a known sensitivity under add_remove only
	replaced string // class that exists under replace_one only
}

func (b *builder) relation() (accountant.Relation, error) {
	switch {
	case b.replaced == "":
		return accountant.AddRemove, nil
	case b.clipped == "":
		return accountant.ReplaceOne, nil
	case b.clipped == "PoissonSampledDpEvent":
		return 0, &UnsupportedError{b.clipped, fmt.Sprintf(
			"%s is accounted under replace_one, Poisson sampling under add_remove", b.replaced)}
	}
	return 0, &UnsupportedError{b.clipped, fmt.Sprintf(
		"%s is accounted under replace_one, where the sensitivity is up to twice the clipping norm that this noise is relative to; "+
			"write the schedule as pate events, with noise relative to the sensitivity", b.replaced)}
}

func (b *builder) events(l list) ([]accountant.Event, error) {
	out := make([]accountant.Event, len(l))
	for i, v := range l {
		var err error
		if out[i], err = b.event(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *builder) event(v value) (accountant.Event, error) {
	c, ok := v.(call)
	if !ok {
		return nil, fmt.Errorf("%w: expected an event, got %s", ErrSyntax, v.kind())
	}
	a := &arguments{call: c, used: make([]bool, len(c.keys))}
	e := b.read(a)
	if err := a.done(); err != nil {
		return nil, err
	}
	return e, nil
}

func (b *builder) read(a *arguments) accountant.Event {
	switch a.class {
	case "NoOpDpEvent":
		return nothing()
	case "NonPrivateDpEvent":
		return accountant.NonPrivate{}
	case "GaussianDpEvent":
		b.clip(a)
		return gaussian(a.float("noise_multiplier"))
	case "LaplaceDpEvent":
		b.clip(a)
		scale := a.float("noise_multiplier")
		if scale == 0 {
			return accountant.NonPrivate{}
		}
		return accountant.Laplace{NoiseMultiplier: scale}
	case "DiscreteLaplaceDpEvent":
		b.clip(a)
		return discreteLaplace(a.float("noise_parameter"), a.integer("sensitivity"))
	case "DiscreteGaussianDpEvent":
		return discreteGaussian(a)
	case "ZCDpEvent":
		if xi := a.optional("xi", 0); xi != 0 {
			a.refuse(fmt.Sprintf("a divergence of xi + rho a has no event here unless xi is 0, got %v", xi))
		}
		return accountant.ZCDP{Rho: a.float("rho")}
	case "EpsilonDeltaDpEvent":
		return epsilonDelta(a.float("epsilon"), a.float("delta"))
	case "ExponentialMechanismDpEvent":
		return accountant.ExponentialMechanism{Epsilon: a.float("epsilon")}
	case "RandomizedResponseDpEvent":
		b.replace(a)
		return randomizedResponse(a)
	case "PoissonSampledDpEvent":
		b.clip(a)
		return accountant.PoissonSampled{Probability: a.float("sampling_probability"), Event: a.event(b)}
	case "SampledWithoutReplacementDpEvent":
		b.replace(a)
		return accountant.SampledWithoutReplacement{
			Size: a.integer("sample_size"), Population: a.integer("source_dataset_size"), Event: a.event(b)}
	case "SelfComposedDpEvent":
		return accountant.Repeated{Count: a.integer("count"), Event: a.event(b)}
	case "ComposedDpEvent":
		return accountant.Composed{Events: a.events(b)}
	}
	a.refuse(whyNot(a.class))
	return nil
}

func (b *builder) clip(a *arguments) {
	// Error messages should contain the mechanism, not its sampling.
	if b.clipped == "" || b.clipped == "PoissonSampledDpEvent" {
		b.clipped = a.class
	}
}

func (b *builder) replace(a *arguments) {
	if b.replaced == "" {
		b.replaced = a.class
	}
}

func whyNot(class string) string {
	const nothing = "it says nothing about the mechanism"
	return cmp.Or(map[string]string{
		"DpEvent": nothing, "UnsupportedDpEvent": nothing,
		"SampledWithReplacementDpEvent":     "sampling with replacement has no event here",
		"SingleEpochTreeAggregationDpEvent": "tree aggregation has no event here, nor has replacing by a special record a relation",
		"RepeatAndSelectDpEvent": "it gives the mean number of runs, selection here gives gamma; " +
			"write it as selection or poisson_selection",
		"MixtureOfGaussiansDpEvent": "a mixture of Gaussians has no event here",
		"PermuteAndFlipDpEvent":     "permute-and-flip has no event of its own here; pure of the same epsilon is an upper bound",
		"TruncatedSubsampledGaussianDpEvent": "it gives one size for both neighbours; " +
			"write it as truncated_poisson, with an upper bound of the size",
	}[class], "no such class is known here")
}

// Opacus reads the history of an Opacus accountant, printed by Python or written as JSON. The history is a
// list of (noise_multiplier, sample_rate, steps), such as
//
//	[(1.1, 0.004, 14062), (0.9, 0.004, 100)]
//
// Each entry is read as Gaussian steps with Poisson sampling under add_remove. The caller must ensure that no
// step ran with poisson_sampling=False. The history does not record this flag.
func Opacus(r io.Reader) (accountant.Schedule, error) {
	v, err := readValue(r)
	if err != nil {
		return accountant.Schedule{}, err
	}
	history, ok := v.(list)
	if !ok {
		return accountant.Schedule{}, fmt.Errorf("%w: a history is a list, not %s", ErrSyntax, v.kind())
	}
	out := accountant.Schedule{Relation: accountant.AddRemove, Events: make([]accountant.Event, len(history))}
	for i, v := range history {
		if out.Events[i], err = phase(v); err != nil {
			return accountant.Schedule{}, fmt.Errorf("history[%d]: %w", i, err)
		}
	}
	return out, nil
}

func phase(v value) (accountant.Event, error) {
	l, ok := v.(list)
	if !ok || len(l) != 3 {
		return nil, fmt.Errorf("%w: expected (noise_multiplier, sample_rate, steps)", ErrSyntax)
	}
	var numbers [3]number
	for i, name := range []string{"noise_multiplier", "sample_rate", "steps"} {
		if numbers[i], ok = l[i].(number); !ok {
			return nil, fmt.Errorf("%w: %s must be a number, not %s", ErrSyntax, name, l[i].kind())
		}
	}
	if !numbers[2].whole {
		return nil, fmt.Errorf("%w: steps must be a whole number, got %v", ErrSyntax, numbers[2].x)
	}
	e := accountant.Repeated{
		Event: accountant.PoissonSampled{Probability: numbers[1].x, Event: gaussian(numbers[0].x)},
		Count: numbers[2].n,
	}
	if err := accountant.Validate(e); err != nil {
		return nil, fmt.Errorf("imports: %w", err)
	}
	return e, nil
}

func nothing() accountant.Event { return accountant.Composed{Events: []accountant.Event{}} }

func gaussian(noiseMultiplier float64) accountant.Event {
	if noiseMultiplier == 0 {
		return accountant.NonPrivate{}
	}
	return accountant.Gaussian{NoiseMultiplier: noiseMultiplier}
}

func discreteLaplace(a float64, sensitivity int64) accountant.Event {
	scale := 1 / a
	if math.FMA(scale, a, -1) > 0 { // round the scale down: less noise is the safe direction
		scale = math.Nextafter(scale, 0)
	}
	return accountant.DiscreteLaplace{Scale: scale, Sensitivity: sensitivity}
}

func discreteGaussian(a *arguments) accountant.Event {
	if a.has("dimension") {
		if _, unknown := a.value("dimension").(none); !unknown && a.integer("dimension") < 1 {
			a.fail("dimension must be None or at least 1")
		}
	}
	return accountant.DiscreteGaussian{Sigma: a.float("sigma"), Sensitivity: a.optional("sensitivity", 1)}
}

// epsilonDelta returns an event that dominates every (epsilon, delta)-private mechanism (Kairouz, Oh,
// Viswanath 2017, Theorem 3.1).
func epsilonDelta(epsilon, delta float64) accountant.Event {
	switch {
	case math.IsInf(epsilon, 1) && delta >= 0 && delta <= 1, delta == 1 && epsilon >= 0:
		return accountant.NonPrivate{}
	case delta == 0:
		return accountant.PureDP{Epsilon: epsilon}
	}
	return accountant.WithFailure{Event: accountant.PureDP{Epsilon: epsilon}, Delta: delta}
}

func randomizedResponse(a *arguments) accountant.Event {
	// The true answer has probability 1 - p + p/k, and each other answer p/k. So epsilon is log(1 +
	// k(1-p)/p).
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
		// p may be subnormal, where math.Log is wrong on some machines.
		fraction, exponent := math.Frexp(p)
		epsilon = math.Log(float64(k)) + math.Log1p(-p) - math.Log(fraction) - float64(exponent)*math.Ln2
	}
	// The relative error of epsilon is at most the relative error of ratio.
	return accountant.KaryResponse{Epsilon: epsilon * (1 + 2e-15), Categories: k}
}
