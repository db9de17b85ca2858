package statement

import (
	"fmt"
	"math"
	"strings"

	"github.com/pate-go/pate/accountant"
)

// Part is one kind of release within an event.
type Part struct {
	Mechanism  string `json:"mechanism"`  // in words
	Parameters string `json:"parameters"` // in symbols
	Count      int64  `json:"count"`      // how often it runs
}

// Parts takes an event apart into the mechanisms that it runs.
func Parts(e accountant.Event) []Part {
	switch e := e.(type) {
	case accountant.Repeated:
		return times(Parts(e.Event), e.Count)
	case accountant.Composed:
		var parts []Part
		for _, inner := range e.Events {
			parts = append(parts, Parts(inner)...)
		}
		return parts
	case accountant.PoissonSampled:
		return within(e.Event, "on a Poisson sample", "q "+digits(e.Probability))
	case accountant.TruncatedPoisson:
		return within(e.Event, "on a Poisson sample with a largest size", fmt.Sprintf("q %s, at most %d", digits(e.Probability), e.MaxBatch))
	case accountant.SampledWithoutReplacement:
		return within(e.Event, "on a sample without replacement", fmt.Sprintf("%d of %d", e.Size, e.Population))
	case accountant.WithFailure:
		return within(e.Event, "that may fail", "δ "+most(e.Delta))
	case accountant.Selection:
		return within(e.Event, "best of a random number of runs", fmt.Sprintf("η %s, γ %s", digits(e.Eta), digits(e.Gamma)))
	case accountant.PoissonSelection:
		return within(e.Event, "best of a Poisson number of runs", "mean "+digits(e.Mean))
	case accountant.Group:
		return within(e.Event, "for groups", fmt.Sprintf("of %d", e.Size))
	}
	p := Part{Count: 1}
	p.Mechanism, p.Parameters = words(e)
	return []Part{p}
}

func times(parts []Part, n int64) []Part {
	for i := range parts {
		if n != 0 && parts[i].Count > math.MaxInt64/n {
			parts[i].Count = math.MaxInt64 // far beyond what any budget holds
			continue
		}
		parts[i].Count *= n
	}
	return parts
}

// within says of every part of inner what is done around it.
func within(inner accountant.Event, mechanism, parameters string) []Part {
	parts := Parts(inner)
	for i := range parts {
		parts[i].Mechanism += ", " + mechanism
		parts[i].Parameters = strings.TrimPrefix(parts[i].Parameters+", "+parameters, ", ")
	}
	return parts
}

// words names a single mechanism.
func words(e accountant.Event) (mechanism, parameters string) {
	law := func(discrete bool, name string) string {
		if discrete {
			return "discrete " + name + ", "
		}
		return name + ", "
	}
	switch e := e.(type) {
	case accountant.GNMax:
		return "noisy argmax of votes", law(e.Discrete, "Gaussian") + "σ " + digits(e.Sigma)
	case accountant.LNMax:
		return "noisy argmax of votes", law(e.Discrete, "Laplace") + "scale " + digits(e.Scale)
	case accountant.Threshold:
		return "threshold test of the top vote", law(e.Discrete, "Gaussian") + "σ " + digits(e.Sigma)
	case accountant.Gaussian:
		return "noisy sum", "Gaussian, " + digits(e.NoiseMultiplier) + " × sensitivity"
	case accountant.Laplace:
		return "noisy sum", "Laplace, " + digits(e.NoiseMultiplier) + " × sensitivity"
	case accountant.DiscreteGaussian:
		return "noisy sum", fmt.Sprintf("discrete Gaussian, σ %s, sensitivity %s", digits(e.Sigma), digits(e.Sensitivity))
	case accountant.DiscreteLaplace:
		return "noisy sum", fmt.Sprintf("discrete Laplace, scale %s, sensitivity %d", digits(e.Scale), e.Sensitivity)
	case accountant.ExponentialMechanism:
		return "exponential mechanism", "ε " + most(e.Epsilon)
	case accountant.PureDP:
		return "mechanism of pure ε", "ε " + most(e.Epsilon)
	case accountant.RandomizedResponse:
		return "randomised response", "ε " + most(e.Epsilon)
	case accountant.KaryResponse:
		return "randomised response", fmt.Sprintf("ε %s among %d", most(e.Epsilon), e.Categories)
	case accountant.ZCDP:
		return "mechanism of zero-concentrated cost", "ρ " + most(e.Rho)
	case accountant.MStab:
		return "release of a stable answer", fmt.Sprintf("ε %s, threshold %s", most(e.Epsilon), digits(e.Threshold))
	case accountant.AboveThreshold:
		return "sparse vector", fmt.Sprintf("ε %s + %s, %d answers", most(e.Epsilon1), most(e.Epsilon2), e.Answers)
	case accountant.StableSVT:
		return "sparse vector of stable answers", fmt.Sprintf("b %s, %s, threshold %d, %d failures", digits(e.B1), digits(e.B2), e.Threshold, e.Failures)
	case accountant.GNSS:
		return "noisy value of smooth sensitivity", fmt.Sprintf("Gaussian, σ %s × sensitivity, β %s, margin %s σ", digits(e.Sigma), digits(e.Beta), digits(e.Margin))
	case accountant.NonPrivate:
		return "release without protection", ""
	}
	return fmt.Sprintf("%T", e), fmt.Sprintf("%+v", e)
}
