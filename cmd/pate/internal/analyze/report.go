package analyze

import (
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/analysis"
	"github.com/pate-go/pate/internal/table"
)

const schemaAnalyze = "pate.analyze/1"

const analyzeNote = "computed from the votes and as private as they are; never a claim: pate account says what may be claimed"

// analyzeReport is the JSON of `pate votes analyze`. For mechanism confident the four
// epsilons at the top are expected costs, which bound nothing.
type analyzeReport struct {
	Schema           string       `json:"schema"`
	Private          bool         `json:"private"` // always true
	Note             string       `json:"note"`
	Mechanism        string       `json:"mechanism"`
	Delta            float64      `json:"delta"`
	Queries          int          `json:"queries"`
	ExpectedAnswered shell.Number `json:"expected_answered"`
	ExpectedCost     bool         `json:"expected_cost"` // the next four are expectations
	analyzeCosts
	Sanitized   *analyzeSanitized `json:"epsilon_sanitized,omitempty"`
	Order       float64           `json:"order"` // of the classic data-dependent epsilon
	AllAnswered *analyzeCosts     `json:"all_answered,omitempty"`
	Realised    *analyzeRealised  `json:"realised,omitempty"`
	Exact       analyzeExact      `json:"exact"`
	Valid       *analyzeValid     `json:"epsilon_sanitized_valid,omitempty"`
	Unsanitized string            `json:"unsanitized,omitempty"` // Why there is no epsilon_sanitized
}

type analyzeCosts struct {
	// Independent is what a ledger of mode reserved claims where there is such a number, and
	// Accountant who proves it; IndependentRDP is that by Rényi divergences, as published.
	Independent        shell.Number      `json:"epsilon_data_independent"`
	Accountant         accountant.Method `json:"accountant_data_independent"`
	IndependentRDP     shell.Number      `json:"epsilon_data_independent_rdp"`
	IndependentClassic shell.Number      `json:"epsilon_data_independent_classic"`
	Dependent          shell.Number      `json:"epsilon_data_dependent"`
	DependentClassic   shell.Number      `json:"epsilon_data_dependent_classic"`
}

type analyzeRealised struct {
	Answered int `json:"answered"`
	analyzeCosts
}

// analyzeExact are the divergences themselves, in the direction of the published
// bounds and in both.
type analyzeExact struct {
	Noise          string       `json:"noise"` // continuous or discrete
	Forward        shell.Number `json:"epsilon_forward"`
	ForwardClassic shell.Number `json:"epsilon_forward_classic"`
	Both           shell.Number `json:"epsilon_both"`
	BothClassic    shell.Number `json:"epsilon_both_classic"`
}

type analyzeSanitized struct {
	Mean shell.Number `json:"mean"`
	SD   shell.Number `json:"sd"`
}

// analyzeValid is a release whose cost is proved.
type analyzeValid struct {
	analyzeSanitized
	Order   float64      `json:"order"`
	Beta    float64      `json:"beta"`
	SigmaSS float64      `json:"sigma_ss"`
	Margin  float64      `json:"margin"`
	Cost    shell.Number `json:"release_cost"`
}

func newAnalyzeCosts(c analysis.Costs) analyzeCosts {
	out := analyzeCosts{
		Independent: revealed(c.Independent.Improved), Accountant: accountant.ByRDP,
		IndependentRDP: revealed(c.Independent.Improved), IndependentClassic: revealed(c.Independent.Classic),
		Dependent: revealed(c.DataDependent.Improved), DependentClassic: revealed(c.DataDependent.Classic),
	}
	if c.Claim != nil {
		out.Independent, out.Accountant = shell.Number(c.Claim.Upper), c.Claim.By
	}
	return out
}

func revealed(n analysis.Number) shell.Number { return shell.Number(n.Reveal()) }

func newAnalyzeReport(mechanism, noise string, r *analysis.Report) analyzeReport {
	out := analyzeReport{
		Schema: schemaAnalyze, Private: true, Note: analyzeNote, Mechanism: mechanism, Delta: r.Delta,
		Queries: r.Queries, ExpectedAnswered: shell.Number(r.Queries), analyzeCosts: newAnalyzeCosts(r.All), Order: r.All.DataDependent.ClassicOrder,
		Exact: analyzeExact{
			Noise:   noise,
			Forward: revealed(r.Exact.Forward.Improved), ForwardClassic: revealed(r.Exact.Forward.Classic),
			Both: revealed(r.Exact.Both.Improved), BothClassic: revealed(r.Exact.Both.Classic),
		},
	}
	if r.Expected != nil {
		all := out.analyzeCosts
		out.AllAnswered, out.ExpectedCost = &all, true
		out.ExpectedAnswered = revealed(r.Expected.Answered)
		out.analyzeCosts, out.Order = newAnalyzeCosts(r.Expected.Costs), r.Expected.DataDependent.ClassicOrder
	}
	if r.Realised != nil {
		out.Realised = &analyzeRealised{r.Realised.Answered, newAnalyzeCosts(r.Realised.Costs)}
	}
	if r.Unsanitized != nil {
		out.Unsanitized = r.Unsanitized.Error()
		return out
	}
	if p := r.Sanitized.Published; p != nil {
		out.Sanitized = &analyzeSanitized{revealed(p.Mean), revealed(p.SD)}
	} else {
		out.Unsanitized = r.Sanitized.Unpublished.Error()
	}
	v := r.Sanitized.Valid
	out.Valid = &analyzeValid{
		analyzeSanitized: analyzeSanitized{revealed(v.Mean), revealed(v.SD)},
		Order:            v.Order, Beta: v.GNSS.Beta, SigmaSS: v.GNSS.Sigma, Margin: v.GNSS.Margin, Cost: revealed(v.Cost),
	}
	return out
}

func writeAnalysis(g *shell.Globals, mechanism, noise string, r *analysis.Report) error {
	out := newAnalyzeReport(mechanism, noise, r)
	if format := g.ParsedFormat(); format != table.JSON {
		if err := out.table(r).Write(g.Stdout, format); err != nil {
			return err
		}
		if out.Unsanitized != "" {
			g.Logf("not sanitized: %s", out.Unsanitized)
		}
		if out.ExpectedCost {
			g.Logf("%d queries, %.1f answers expected, delta %g; expected costs are no bounds, \"all answered\" is", r.Queries,
				float64(out.ExpectedAnswered), r.Delta)
		} else {
			g.Logf("%d queries, delta %g", r.Queries, r.Delta)
		}
		g.Logf("private: %s", analyzeNote)
		return nil
	}
	return shell.WriteJSON(g.Stdout, out)
}

func (out analyzeReport) table(r *analysis.Report) table.Table {
	t := table.Table{Header: []string{"private epsilon", "improved", "classic", "order", "holds"}, Left: []bool{true, false, false, false, true}}
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
