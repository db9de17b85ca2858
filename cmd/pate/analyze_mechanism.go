package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate/analysis"
)

// analyzedFlags say what answered the queries.
type analyzedFlags struct {
	mechanism string
	sigma     float64
	threshold float64
	sigma1    float64
	sigma2    float64
	scale     float64
}

// analyzeNoise are the flags of each mechanism; all are required.
func analyzeNoise() map[string][]string {
	return map[string][]string{
		"gnmax":     {"sigma"},
		"confident": {"threshold", "sigma1", "sigma2"},
		"lnmax":     {"scale"},
	}
}

func (f *analyzedFlags) addMechanism(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.mechanism, "mechanism", "", "gnmax|confident|lnmax (required)")
	flags.Float64Var(&f.sigma, "sigma", 0, "gnmax: standard deviation of the noise on each count, in votes")
	flags.Float64Var(&f.threshold, "threshold", 0, "confident: what the largest count must reach, in votes")
	flags.Float64Var(&f.sigma1, "sigma1", 0, "confident: standard deviation of the noise on the largest count, in votes")
	flags.Float64Var(&f.sigma2, "sigma2", 0, "confident: standard deviation of the noise on each count of an answer, in votes")
	flags.Float64Var(&f.scale, "scale", 0, "lnmax: scale of the noise on each count, in votes")
}

// described is the mechanism that the flags describe.
func (f *analyzedFlags) described(cmd *cobra.Command) (analysis.Mechanism, error) {
	wanted, ok := analyzeNoise()[f.mechanism]
	if !ok {
		return nil, usageError("votes", fmt.Errorf("--mechanism %q: must be gnmax, confident or lnmax", f.mechanism))
	}
	for name, flags := range analyzeNoise() {
		for _, flag := range flags {
			switch given := cmd.Flags().Changed(flag); {
			case name == f.mechanism && !given:
				return nil, usageError("votes", fmt.Errorf("--mechanism %s needs --%s", name, strings.Join(wanted, ", --")))
			case name != f.mechanism && given:
				return nil, usageError("votes", fmt.Errorf("--%s is for --mechanism %s", flag, name))
			}
		}
	}
	var m analysis.Mechanism
	switch f.mechanism {
	case "gnmax":
		m = analysis.GNMax{Sigma: f.sigma}
	case "confident":
		m = analysis.ConfidentGNMax{Threshold: f.threshold, Sigma1: f.sigma1, Sigma2: f.sigma2}
	default:
		m = analysis.LNMax{Scale: f.scale}
	}
	if err := m.Validate(); err != nil {
		return nil, usageError("votes", err)
	}
	return m, nil
}
