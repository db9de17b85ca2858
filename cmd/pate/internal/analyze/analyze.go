// Package analyze is the command `pate votes analyze`, which prints a private report on votes. Its subcommand
// `release` charges and releases one number.
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

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/internal/durable"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/teachers/votes"
)

type analyzeFlags struct {
	shell.VotesFlags
	analyzedFlags
	orders, answers, noise string
}

func New(g *shell.Globals) *cobra.Command {
	var f analyzeFlags
	cmd := shell.Command("analyze VOTES...", "seed", f.Needs(nil, "mechanism"),
		func(cmd *cobra.Command, args []string) error { return runAnalyze(cmd, g, f, args) })
	f.Add(cmd)
	f.addMechanism(cmd)
	shell.Declare(cmd.Flags(), "analyze", shell.To{"orders": &f.orders, "noise": &f.noise, "answers": &f.answers})
	cmd.AddCommand(newAnalyzeReleaseCommand(g))
	return cmd
}

func runAnalyze(cmd *cobra.Command, g *shell.Globals, f analyzeFlags, args []string) error {
	m, err := f.analysed(cmd)
	if err != nil {
		return err
	}
	if f.answers != "" && f.Mechanism != "confident" {
		return shell.Usagef("votes", "--answers needs --mechanism confident: the other mechanisms answer every query")
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
		return shell.InputError(err, "the exact divergence of discrete noise is a sum, which has too many or too small terms here",
			"use --noise continuous", "votes")
	}
	if err != nil {
		return shell.FaultError(err, "votes")
	}
	return writeAnalysis(g, f.Mechanism, f.noise, report)
}

func onlyHistograms(cmd *cobra.Command, votes *votes.Source) iter.Seq2[aggregate.Histogram, error] {
	return func(yield func(aggregate.Histogram, error) bool) {
		for ballot, err := range votes.Histograms(cmd.Context()) {
			if !yield(ballot.Histogram, err) {
				return
			}
		}
	}
}

type analyzedFlags struct{ shell.ParameterFlags }

func (f *analyzedFlags) addMechanism(cmd *cobra.Command) {
	f.Uncapped = true // caps do not change the cost of a query
	f.AddParameters(cmd, "mechanism that answered the queries (required)", func(d aggregate.Description) bool { return analysis.Published(d.Name) })
}

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
			"each line is query,label; the label is empty if the mechanism declined",
			"give the file that pate label wrote for these votes", "votes")
	}
	return answered, nil
}

// parseAnswers returns true at index q-from if query q has a label.
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
			return nil, fmt.Errorf("line %d: query %d occurs twice", line, query)
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
			return nil, fmt.Errorf("query %d is missing", from+i)
		}
	}
	return answered, nil
}

const analyzeNote = "computed from the votes, as private as the votes, and no claim: pate account computes what may be claimed"

func costs(c analysis.Costs) []any {
	independent, by := revealed(c.Independent.Improved), accountant.ByRDP
	if c.Claim != nil {
		independent, by = shell.Number(c.Claim.Upper), c.Claim.By
	}
	return []any{"epsilon_data_independent", independent, "accountant_data_independent", by,
		"epsilon_data_independent_rdp", revealed(c.Independent.Improved),
		"epsilon_data_independent_classic", revealed(c.Independent.Classic),
		"epsilon_data_dependent", revealed(c.DataDependent.Improved),
		"epsilon_data_dependent_classic", revealed(c.DataDependent.Classic)}
}

func revealed(n analysis.Number) shell.Number { return shell.Number(n.Reveal()) }

func reportOf(mechanism, noise string, r *analysis.Report) (out shell.Object, unsanitized string) {
	top, answered, order := r.All, shell.Number(r.Queries), r.All.DataDependent.ClassicOrder
	if r.Expected != nil {
		top, answered, order = r.Expected.Costs, revealed(r.Expected.Answered), r.Expected.DataDependent.ClassicOrder
	}
	out = append(shell.Object{"schema", "pate.analyze/1", "private", true, "note", analyzeNote, "mechanism", mechanism,
		"delta", r.Delta,
		"queries", r.Queries, "expected_answered", answered, "expected_cost", r.Expected != nil}, costs(top)...)
	var valid shell.Object
	switch {
	case r.Unsanitized != nil:
		unsanitized = r.Unsanitized.Error()
	case r.Sanitized.Published == nil:
		unsanitized = r.Sanitized.Unpublished.Error()
	default:
		p := r.Sanitized.Published
		out = append(out, "epsilon_sanitized", shell.Object{"mean", revealed(p.Mean), "sd", revealed(p.SD)})
	}
	if r.Unsanitized == nil { // a release with a proved cost
		v := r.Sanitized.Valid
		valid = shell.Object{"mean", revealed(v.Mean), "sd", revealed(v.SD), "order", v.Order, "beta", v.GNSS.Beta,
			"sigma_ss", v.GNSS.Sigma, "margin", v.GNSS.Margin, "release_cost", revealed(v.Cost)}
	}
	out = append(out, "order", order) // order with the smallest classic data-dependent epsilon
	if r.Expected != nil {
		out = append(out, "all_answered", shell.Object(costs(r.All)))
	}
	if r.Realised != nil {
		out = append(out, "realised", append(shell.Object{"answered", r.Realised.Answered}, costs(r.Realised.Costs)...))
	}
	forward, both := r.Exact.Forward, r.Exact.Both
	return append(out, "exact", shell.Object{"noise", noise,
		"epsilon_forward", revealed(forward.Improved), "epsilon_forward_classic", revealed(forward.Classic),
		"epsilon_both", revealed(both.Improved), "epsilon_both_classic", revealed(both.Classic)},
		"epsilon_sanitized_valid?", valid, "unsanitized?", unsanitized), unsanitized
}

func writeAnalysis(g *shell.Globals, mechanism, noise string, r *analysis.Report) error {
	out, unsanitized := reportOf(mechanism, noise, r)
	err := g.Print(out, func(table.Format) table.Table { return tableOf(r) })
	if err != nil || g.ParsedFormat() == table.JSON {
		return err
	}
	if unsanitized != "" {
		g.Logf("not sanitized: %s", unsanitized)
	}
	if r.Expected != nil {
		g.Logf("%d queries, %.1f answers expected, delta %g; expected costs are no bounds, \"all answered\" is", r.Queries,
			r.Expected.Answered.Reveal(), r.Delta)
	} else {
		g.Logf("%d queries, delta %g", r.Queries, r.Delta)
	}
	g.Logf("private: %s", analyzeNote)
	return nil
}

func tableOf(r *analysis.Report) table.Table {
	t := shell.TableOf("<private epsilon", "improved", "classic", "order", "<holds")
	row := func(name string, e analysis.Epsilon, holds string) {
		t.Rows = append(t.Rows, []string{name, fmt.Sprintf("%.4f", e.Improved.Reveal()), fmt.Sprintf("%.4f", e.Classic.Reveal()),
			fmt.Sprintf("%g", e.ClassicOrder), holds})
	}
	costs := func(name string, c analysis.Costs, independent, dependent string) {
		if c.Claim != nil {
			t.Rows = append(t.Rows, []string{fmt.Sprintf("claim by %s%s", c.Claim.By, name), shell.FormatEpsilon(c.Claim.Upper, false), "",
				"", independent})
		}
		row("data-independent"+name, c.Independent, independent)
		row("data-dependent"+name, c.DataDependent, dependent)
	}
	suffix, anyVotes := "", "on any votes"
	if r.Expected != nil {
		costs(", expected", r.Expected.Costs, "no bound", "no bound")
		suffix = ", all answered"
	}
	costs(suffix, r.All, anyVotes, "one-sided")
	if r.Realised != nil {
		costs(", realised", r.Realised.Costs, "if capped", "no bound")
	}
	row("exact, forward", r.Exact.Forward, "one-sided")
	row("exact, both directions", r.Exact.Both, "on these votes")
	release := func(name string, s analysis.Preview, holds string) {
		t.Rows = append(t.Rows, []string{name, "", fmt.Sprintf("%.2f ± %.2f", s.Mean.Reveal(), s.SD.Reveal()), fmt.Sprintf("%g", s.Order), holds})
	}
	if s := r.Sanitized; s != nil {
		if s.Published != nil {
			release("sanitized, as published", *s.Published, "no bound")
		}
		release("sanitized, valid", s.Valid, "one-sided")
	}
	return t
}
