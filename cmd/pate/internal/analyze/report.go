package analyze

import (
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/internal/table"
)

const analyzeNote = "computed from the votes and as private as they are; never a claim: pate account says what may be claimed"

// costs returns fields of costs. The independent one is what a ledger of mode reserved claims where there is
// such a number, and the accountant is who proves it; that by Rényi divergences is as published.
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

// reportOf returns the JSON of `pate votes analyze`, and why nothing is sanitised. For mechanism confident the
// epsilons at the top are expected costs, which bound nothing.
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
	if r.Unsanitized == nil { // a release whose cost is proved
		v := r.Sanitized.Valid
		valid = shell.Object{"mean", revealed(v.Mean), "sd", revealed(v.SD), "order", v.Order, "beta", v.GNSS.Beta,
			"sigma_ss", v.GNSS.Sigma, "margin", v.GNSS.Margin, "release_cost", revealed(v.Cost)}
	}
	out = append(out, "order", order) // of the classic data-dependent epsilon
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
