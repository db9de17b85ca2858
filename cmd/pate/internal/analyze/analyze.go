// Package analyze is the commands `pate votes analyze` and `pate votes analyze release`: the private report
// on votes, and the one number that is charged and released.
package analyze

import (
	"errors"
	"iter"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/teachers/votes"
)

type analyzeFlags struct {
	shell.VotesFlags
	analyzedFlags
	orders  string
	answers string
	noise   string
}

func New(g *shell.Globals) *cobra.Command {
	var f analyzeFlags
	cmd := &cobra.Command{
		Use: "analyze VOTES...",
		Args: shell.Wants(cobra.MinimumNArgs(1), func(cmd *cobra.Command, _ []string) []string {
			return append(f.Missing(cmd), shell.Unset(cmd, "mechanism")...)
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return runAnalyze(cmd, g, f, args) },
	}
	f.Add(cmd)
	f.addMechanism(cmd)
	shell.Declare(cmd.Flags(), "analyze", shell.To{"orders": &f.orders, "noise": &f.noise, "answers": &f.answers})
	shell.Without(cmd, "seed")
	cmd.AddCommand(newAnalyzeReleaseCommand(g))
	return cmd
}

func runAnalyze(cmd *cobra.Command, g *shell.Globals, f analyzeFlags, args []string) error {
	m, err := f.analysed(cmd)
	if err != nil {
		return err
	}
	if f.answers != "" && f.Mechanism != "confident" {
		return shell.Usagef("votes", "--answers is for --mechanism confident: the others answer everything")
	}
	orders, err := shell.ParseOrders(f.orders)
	if err != nil {
		return shell.UsageError("votes", err)
	}
	defer f.Close()
	votes, err := f.Open(cmd.Context(), args)
	if err != nil {
		return err
	}
	if err := shell.CheckDelta(g.Delta, votes.Teachers(), "teachers"); err != nil {
		return err
	}
	options := analysis.Options{Delta: g.Delta, Orders: orders, Teachers: votes.Teachers(), IntegerNoise: f.noise == "discrete"}
	if f.answers != "" {
		if options.Answered, err = readAnswers(f.answers, votes); err != nil {
			return err
		}
	}
	report, err := analysis.Analyze(cmd.Context(), m, onlyHistograms(cmd, votes), options)
	var beyond *analysis.IntegerNoiseError
	if errors.As(err, &beyond) {
		return shell.InputError(err, "the exact divergence of discrete noise is a sum over all whole numbers that matter",
			"use --noise continuous", "votes")
	}
	if err != nil {
		return shell.FaultError(err, "votes")
	}
	return writeAnalysis(g, f.Mechanism, f.noise, report)
}

// onlyHistograms drops the numbers of the queries.
func onlyHistograms(cmd *cobra.Command, votes *votes.Source) iter.Seq2[aggregate.Histogram, error] {
	return func(yield func(aggregate.Histogram, error) bool) {
		for ballot, err := range votes.Histograms(cmd.Context()) {
			if !yield(ballot.Histogram, err) {
				return
			}
		}
	}
}

// analyzedFlags describe the mechanism that answered the queries.
type analyzedFlags struct{ shell.ParameterFlags }

// addMechanism adds the mechanisms that can be analysed, and their noise.
func (f *analyzedFlags) addMechanism(cmd *cobra.Command) {
	f.Uncapped = true // caps change no cost of a query
	f.AddParameters(cmd, "what answered the queries (required)", func(d aggregate.Description) bool { return analysis.Published(d.Name) })
}

// analysed returns the mechanism that the flags describe.
func (f *analyzedFlags) analysed(cmd *cobra.Command) (analysis.Mechanism, error) {
	d, s, err := f.Setting(cmd, true)
	if err != nil {
		return analysis.Mechanism{}, err
	}
	m, err := analysis.Of(d.Name, s.Values)
	if err != nil {
		return m, shell.UsageError("mechanisms", err)
	}
	return m, nil
}
