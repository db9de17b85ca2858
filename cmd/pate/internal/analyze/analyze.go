// Package analyze is the commands `pate votes analyze` and `pate votes analyze release`: the private report
// on votes, and the one number that is charged and released.
package analyze

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/internal/durable"
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

// readAnswers reads which of the chosen queries were answered, from the file that
// `pate label` wrote.
func readAnswers(path string, votes *votes.Source) ([]bool, error) {
	file, err := durable.OpenRegular(path)
	if err != nil {
		return nil, shell.InputError(err, "the answers are read from this file", "check its name", "votes")
	}
	defer file.Close()
	from, to := votes.Range()
	answered, err := parseAnswers(file, from, to, votes.Classes(), votes.ClassNames())
	if err != nil {
		return nil, shell.InputError(fmt.Errorf("%s: %w", path, err),
			"answers are lines query,label with an empty label where the mechanism declined",
			"give the file that pate label wrote for these votes", "votes")
	}
	return answered, nil
}

// parseAnswers reads lines query,label, where an empty label is a declined query,
// below a header or none. A label is one of the names, if there are any. Every query
// from <= q < to must be there, once; others are passed over.
func parseAnswers(r io.Reader, from, to, classes int, names []string) ([]bool, error) {
	answered, seen := make([]bool, to-from), make([]bool, to-from)
	in := csv.NewReader(r)
	in.FieldsPerRecord, in.ReuseRecord = 2, true
	for line := 1; ; line++ {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if line == 1 && record[0] == "query" {
			continue
		}
		query, err := strconv.Atoi(record[0])
		if err != nil || query < 0 {
			return nil, fmt.Errorf("line %d: %.20q is not the number of a query", line, record[0])
		}
		if query < from || query >= to {
			continue
		}
		if seen[query-from] {
			return nil, fmt.Errorf("line %d: query %d stands there twice", line, query)
		}
		if record[1] != "" && !slices.Contains(names, record[1]) {
			if label, err := strconv.Atoi(record[1]); err != nil || names != nil || label < 0 || label >= classes {
				return nil, fmt.Errorf("line %d: %.20q is not a class", line, record[1])
			}
		}
		seen[query-from], answered[query-from] = true, record[1] != ""
	}
	for i, ok := range seen {
		if !ok {
			return nil, fmt.Errorf("query %d is not there", from+i)
		}
	}
	return answered, nil
}
