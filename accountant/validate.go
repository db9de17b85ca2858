package accountant

import (
	"errors"
	"fmt"

	"github.com/pate-go/pate/internal/mathx"
)

// ErrInvalidEvent is returned, wrapped, for an event with a parameter out of
// range; the message names the parameter.
var ErrInvalidEvent = errors.New("accountant: invalid event")

// maxDepth bounds how deep events may be nested, in memory and in JSON.
const maxDepth = 64

func positive(event, field string, x float64) error {
	if !mathx.IsFinite(x) || x <= 0 {
		return fmt.Errorf("%w: %s: %s must be a finite number above 0, got %v", ErrInvalidEvent, event, field, x)
	}
	return nil
}

func nonNegative(event, field string, x float64) error {
	if !mathx.IsFinite(x) || x < 0 {
		return fmt.Errorf("%w: %s: %s must be a finite number, at least 0, got %v", ErrInvalidEvent, event, field, x)
	}
	return nil
}

func atLeast(event, field string, x, least int64) error {
	if x < least {
		return fmt.Errorf("%w: %s: %s must be at least %d, got %d", ErrInvalidEvent, event, field, least, x)
	}
	return nil
}

// validTree checks e and everything below it.
func validTree(e Event, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: nested more than %d deep", ErrInvalidEvent, maxDepth)
	}
	switch e := e.(type) {
	case nil:
		return fmt.Errorf("%w: missing (nil)", ErrInvalidEvent)
	case PoissonSampled:
		if !(e.Probability >= 0 && e.Probability <= 1) {
			return fmt.Errorf("%w: poisson_sampled: probability must be in [0, 1], got %v", ErrInvalidEvent, e.Probability)
		}
		return validTree(e.Event, depth+1)
	case Composed:
		for i, inner := range e.Events {
			if err := validTree(inner, depth+1); err != nil {
				return fmt.Errorf("composed, events[%d]: %w", i, err)
			}
		}
		return nil
	case Repeated:
		if err := atLeast("repeated", "count", e.Count, 0); err != nil {
			return err
		}
		return validTree(e.Event, depth+1)
	case WithFailure:
		if !(e.Delta >= 0 && e.Delta < 1) {
			return fmt.Errorf("%w: with_failure: delta must be in [0, 1), got %v", ErrInvalidEvent, e.Delta)
		}
		return validTree(e.Event, depth+1)
	case Group:
		if err := atLeast("group", "size", e.Size, 1); err != nil {
			return err
		}
		return validTree(e.Event, depth+1)
	case SampledWithoutReplacement:
		if err := errors.Join(atLeast("sampled_without_replacement", "size", e.Size, 0),
			atLeast("sampled_without_replacement", "population", e.Population, max(e.Size, 1))); err != nil {
			return err
		}
		return validTree(e.Event, depth+1)
	case TruncatedPoisson:
		if !(e.Probability >= 0 && e.Probability <= 1) {
			return fmt.Errorf("%w: truncated_poisson: probability must be in [0, 1], got %v", ErrInvalidEvent, e.Probability)
		}
		if err := errors.Join(atLeast("truncated_poisson", "max_batch", e.MaxBatch, 1),
			atLeast("truncated_poisson", "population", e.Population, 1)); err != nil {
			return err
		}
		return validTree(e.Event, depth+1)
	case Selection:
		if err := e.validate(); err != nil {
			return err
		}
		return validTree(e.Event, depth+1)
	case PoissonSelection:
		if err := positive("poisson_selection", "mean", e.Mean); err != nil {
			return err
		}
		return validTree(e.Event, depth+1)
	default:
		return e.Validate()
	}
}

// Validate implements Event.
func (e Gaussian) Validate() error {
	return positive("gaussian", "noise_multiplier", e.NoiseMultiplier)
}

// Validate implements Event.
func (e Laplace) Validate() error {
	return positive("laplace", "noise_multiplier", e.NoiseMultiplier)
}

// Validate implements Event.
func (e DiscreteGaussian) Validate() error {
	return errors.Join(positive("discrete_gaussian", "sigma", e.Sigma),
		positive("discrete_gaussian", "sensitivity", e.Sensitivity))
}

// Validate implements Event.
func (e DiscreteLaplace) Validate() error {
	return errors.Join(positive("discrete_laplace", "scale", e.Scale),
		atLeast("discrete_laplace", "sensitivity", e.Sensitivity, 1))
}

// Validate implements Event.
func (e ExponentialMechanism) Validate() error {
	return nonNegative("exponential", "epsilon", e.Epsilon)
}

// Validate implements Event.
func (e PureDP) Validate() error { return nonNegative("pure", "epsilon", e.Epsilon) }

// Validate implements Event.
func (e RandomizedResponse) Validate() error {
	return nonNegative("randomized_response", "epsilon", e.Epsilon)
}

// Validate implements Event.
func (e KaryResponse) Validate() error {
	return errors.Join(nonNegative("k_randomized_response", "epsilon", e.Epsilon),
		atLeast("k_randomized_response", "categories", e.Categories, 2))
}

// Validate implements Event.
func (e ZCDP) Validate() error { return nonNegative("zcdp", "rho", e.Rho) }

// Validate implements Event.
func (e GNMax) Validate() error { return positive("gnmax", "sigma", e.Sigma) }

// Validate implements Event.
func (e Threshold) Validate() error { return positive("threshold", "sigma", e.Sigma) }

// Validate implements Event.
func (e LNMax) Validate() error { return positive("lnmax", "scale", e.Scale) }

// Validate implements Event.
func (e MStab) Validate() error {
	return errors.Join(positive("m_stab", "epsilon", e.Epsilon),
		nonNegative("m_stab", "threshold", e.Threshold))
}

// Validate implements Event.
func (e AboveThreshold) Validate() error {
	return errors.Join(positive("above_threshold", "epsilon1", e.Epsilon1),
		positive("above_threshold", "epsilon2", e.Epsilon2),
		atLeast("above_threshold", "answers", e.Answers, 1))
}

// Validate implements Event.
func (e StableSVT) Validate() error {
	return errors.Join(positive("stable_svt", "b1", e.B1), positive("stable_svt", "b2", e.B2),
		atLeast("stable_svt", "threshold", e.Threshold, 0),
		atLeast("stable_svt", "failures", e.Failures, 1))
}

// Validate implements Event.
func (e PoissonSampled) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (e Composed) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (e Repeated) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (e WithFailure) Validate() error { return validTree(e, 0) }

// Validate implements Event.
func (NonPrivate) Validate() error { return nil }
