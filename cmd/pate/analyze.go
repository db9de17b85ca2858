package main

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/aggregate/analysis"
	"github.com/pate-go/pate/teachers"
)

type analyzeFlags struct {
	votesFlags
	mechanism string
	sigma     float64
	threshold float64
	sigma1    float64
	sigma2    float64
	scale     float64
	orders    string
	answers   string
	noise     string
}

// analyzeNoise are the flags of each mechanism; all are required.
func analyzeNoise() map[string][]string {
	return map[string][]string{
		"gnmax":     {"sigma"},
		"confident": {"threshold", "sigma1", "sigma2"},
		"lnmax":     {"scale"},
	}
}

func newAnalyzeCommand(g *globals) *cobra.Command {
	var f analyzeFlags
	cmd := &cobra.Command{
		Use:   "analyze VOTES...",
		Short: "The private report: what a mechanism costs on these votes, never a claim",
		Long: `The private report: what a mechanism costs on these votes, never a claim.

Where teachers agree, one vote more or less changes hardly anything, and a query
costs far less than the worst case that a ledger charges. The report shows, at
--delta and the best Rényi order:

  data-independent  what the queries cost on any votes
  data-dependent    the published bound on these votes (Theorem 6 of Papernot
                    et al. 2018; LNMax: Theorem 3 of 2017); it is one-sided
  exact             the divergence itself, forward (the side the published
                    bound is about) and in both directions
  sanitized         what the data-dependent epsilon would be if it were
                    published with noise from smooth sensitivity

All numbers are computed from the votes and are as private as they are. They hold
for these votes only, so they are no (epsilon, delta) guarantee; telling one,
stopping at one or choosing noise by one leaks. For what may be claimed see
pate account; pate label charges that.

With --mechanism confident the first two are expected costs: that of the
threshold tests plus that of each answer times its probability. It is the number
that papers print, and no bound of anything; "all answered" is one. --answers FILE
(query,label lines, an empty label where the mechanism declined) adds the cost of
what was answered, which is no bound either.`,
		Example: `  pate analyze votes.npy --classes 10 --mechanism gnmax --sigma 40 --delta 1e-5
  pate analyze votes.npy --classes 10 --mechanism confident --threshold 200 --sigma1 150 --sigma2 40 --queries 0:640
  pate analyze counts.csv --counts --mechanism lnmax --scale 20 --format json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runAnalyze(cmd, g, f, args) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.mechanism, "mechanism", "", "gnmax|confident|lnmax (required)")
	flags.Float64Var(&f.sigma, "sigma", 0, "gnmax: standard deviation of the noise on each count, in votes")
	flags.Float64Var(&f.threshold, "threshold", 0, "confident: what the largest count must reach, in votes")
	flags.Float64Var(&f.sigma1, "sigma1", 0, "confident: standard deviation of the noise on the largest count, in votes")
	flags.Float64Var(&f.sigma2, "sigma2", 0, "confident: standard deviation of the noise on each count of an answer, in votes")
	flags.Float64Var(&f.scale, "scale", 0, "lnmax: scale of the noise on each count, in votes")
	flags.StringVar(&f.orders, "orders", "", "Rényi orders to choose from, as 1.5,2:64 (default: those of the published analysis)")
	flags.StringVar(&f.noise, "noise", "continuous", "noise of the exact divergences: continuous, as in the papers, or discrete, as pate label draws it")
	flags.StringVar(&f.answers, "answers", "", "confident: what was answered, a CSV file of query,label as pate label writes it")
	return cmd
}

// described is the mechanism that the flags describe.
func (f *analyzeFlags) described(cmd *cobra.Command) (analysis.Mechanism, error) {
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
	if f.answers != "" && f.mechanism != "confident" {
		return nil, usageError("votes", errors.New("--answers is for --mechanism confident: the others answer everything"))
	}
	if f.noise != "continuous" && f.noise != "discrete" {
		return nil, usageError("votes", fmt.Errorf("--noise %q: must be continuous or discrete", f.noise))
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

func runAnalyze(cmd *cobra.Command, g *globals, f analyzeFlags, args []string) error {
	m, err := f.described(cmd)
	if err != nil {
		return err
	}
	orders, err := parseOrders(f.orders)
	if err != nil {
		return usageError("votes", err)
	}
	votes, err := f.open(cmd.Context(), args)
	if err != nil {
		return err
	}
	if n := votes.Teachers(); n > 0 && g.delta >= 1/float64(n) {
		return inputError(fmt.Errorf("--delta %g is not below 1/%d, one over the number of teachers", g.delta, n),
			"every teacher holds a record at least; such a delta allows giving one away", "choose a smaller --delta", "privacy")
	}
	options := analysis.Options{Delta: g.delta, Orders: orders, Teachers: votes.Teachers(), IntegerNoise: f.noise == "discrete"}
	if f.answers != "" {
		if options.Answered, err = readAnswers(f.answers, votes); err != nil {
			return err
		}
	}
	report, err := analysis.Analyze(cmd.Context(), m, onlyHistograms(cmd, votes), options)
	if err != nil {
		return votesError(err)
	}
	return writeAnalysis(g, f.mechanism, f.noise, report)
}

// onlyHistograms drops the numbers of the queries.
func onlyHistograms(cmd *cobra.Command, votes *teachers.VoteSource) iter.Seq2[aggregate.Histogram, error] {
	return func(yield func(aggregate.Histogram, error) bool) {
		for ballot, err := range votes.Histograms(cmd.Context()) {
			if !yield(ballot.Histogram, err) {
				return
			}
		}
	}
}
