package account

import (
	"context"
	"math"
	"strconv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
)

// explained compares the accountants on a schedule.
type explained struct {
	// Tightest is the accountant with the least epsilon.
	Tightest string   `json:"tightest"`
	Gaps     []gap    `json:"gaps"`
	SaidAs   []saidAs `json:"said_as"`
}

// gap is how far one accountant is above the tightest.
type gap struct {
	Accountant   string        `json:"accountant"`
	Epsilon      *shell.Number `json:"epsilon,omitempty"`
	EpsilonLower *shell.Number `json:"epsilon_lower,omitempty"` // what the dominating pairs cost at least
	Above        *shell.Number `json:"above,omitempty"`         // the tightest
	Unsupported  string        `json:"unsupported,omitempty"`
	Why          string        `json:"why"` // it is above
}

// accountantOf is an accountant in the table of gaps.
type accountantOf struct {
	name  string
	why   string
	start func(accountant.Relation) (accountant.Accountant, error)
}

// gapAccountants lists all that claim, with both conversions of Rényi divergences.
func gapAccountants() []accountantOf {
	whys := map[string]string{
		"pld":      "sees the whole loss; gives up the width of its grid",
		"rdp":      "keeps one number per order, and one order answers for all",
		"moments":  "tries whole orders to 32 alone, with the conversion of 2016",
		"zcdp":     "a line above the divergences; for Gaussian noise, the same",
		"basic":    "adds up as if every run lost its most at once",
		"advanced": "knows one (epsilon, delta) of each run; bounds a sum's tail",
		"optimal":  "knows one (epsilon, delta) of each run, and uses all of it",
	}
	var all []accountantOf
	for _, name := range shell.AccountantNames() {
		entry, _ := shell.FindAccountant(name)
		all = append(all, accountantOf{name, whys[name], func(r accountant.Relation) (accountant.Accountant, error) {
			return entry.Start(accountant.RDPConfig{Relation: r})
		}})
		if name == "rdp" {
			all = append(all, accountantOf{"rdp classic", "the same divergences by the looser rule of 2017",
				func(r accountant.Relation) (accountant.Accountant, error) {
					return accountant.NewRDP(accountant.RDPConfig{Relation: r, Conversion: accountant.Classic})
				}})
		}
	}
	return all
}

// explain compares all accountants at delta, and the ways to state the result.
func explain(ctx context.Context, cfg accountant.RDPConfig, schedule accountant.Schedule, delta float64) (*explained, error) {
	out := &explained{}
	least := math.Inf(1)
	for _, a := range gapAccountants() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		account, err := a.start(cfg.Relation)
		if err != nil {
			return nil, err
		}
		g := gap{Accountant: a.name, Why: a.why}
		if g.Unsupported, err = composeAll(account.Compose, schedule.Events); err != nil {
			return nil, err
		}
		if g.Unsupported == "" {
			b, err := account.Epsilon(ctx, delta)
			if err != nil {
				return nil, err
			}
			g.Epsilon = (*shell.Number)(&b.Upper)
			if b.Lower > 0 {
				g.EpsilonLower = (*shell.Number)(&b.Lower)
			}
			if b.Upper < least {
				least, out.Tightest = b.Upper, a.name
			}
		}
		out.Gaps = append(out.Gaps, g)
	}
	for i, g := range out.Gaps {
		if g.Epsilon != nil && !math.IsInf(least, 1) {
			above := shell.Number(float64(*g.Epsilon) - least)
			if out.Gaps[i].Above = &above; above == 0 {
				out.Gaps[i].Why = "the least here: " + g.Why
			}
		}
	}
	var err error
	out.SaidAs, err = saidWays(ctx, schedule, delta)
	return out, err
}

// tables prints an explanation; none if there is none.
func (e *explained) tables(format table.Format) []table.Table {
	if e == nil {
		return nil
	}
	exact := format == table.CSV
	gaps := table.Table{Header: []string{"accountant", "epsilon", "at least", "above the least", "by %", "why it is above"},
		Left: []bool{true, false, false, false, false, true}}
	for _, g := range e.Gaps {
		row := []string{g.Accountant, "unsupported", "", "", "", g.Unsupported}
		if g.Epsilon != nil {
			row = []string{g.Accountant, shell.FormatUp(float64(*g.Epsilon), exact), "", "", "", g.Why}
		}
		if g.EpsilonLower != nil {
			row[2] = shell.FormatDown(float64(*g.EpsilonLower))
		}
		if g.Above != nil {
			row[3] = shell.FormatUp(float64(*g.Above), exact)
			if share := float64(*g.Above) / (float64(*g.Epsilon) - float64(*g.Above)); share > 0 && !math.IsInf(share, 1) {
				row[4] = strconv.FormatFloat(100*share, 'f', 1, 64)
			}
		}
		if format == table.Text && g.Unsupported != "" { // which may be long, and stands above
			row[5] = "cannot hold an event of this list"
		}
		gaps.Rows = append(gaps.Rows, row)
	}
	said := table.Table{Header: []string{"said as", "which is", "epsilon", "finds at 1 %", "what that leaves out"}, Left: []bool{true, true,
		false, false, true}}
	for _, s := range e.SaidAs {
		said.Rows = append(said.Rows, []string{s.As, s.Value, shell.FormatUp(float64(s.Epsilon), exact), shell.FormatUp(s.TPR, exact), s.Loss})
	}
	return append(reasonsBelow(gaps, format), reasonsBelow(said, format)...)
}
