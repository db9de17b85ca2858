package account

import (
	"context"
	"math"
	"slices"
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

// gapAccountants lists all that claim, with both conversions of Rényi divergences.
func gapAccountants() []shell.AccountantEntry {
	all := shell.Accountants()
	for i, entry := range all {
		if entry.Name == "rdp" {
			classic := shell.AccountantEntry{Name: "rdp classic", Gap: "the same divergences by the looser rule of 2017"}
			classic.Start = func(c accountant.RDPConfig) (accountant.Accountant, error) {
				c.Conversion = accountant.Classic
				return entry.Start(c)
			}
			return slices.Insert(all, i+1, classic)
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
		account, err := a.Start(accountant.RDPConfig{Relation: cfg.Relation})
		if err != nil {
			return nil, err
		}
		g := gap{Accountant: a.Name, Why: a.Gap}
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
				least, out.Tightest = b.Upper, a.Name
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
	gaps := shell.TableOf("<accountant", "epsilon", "at least", "above the least", "by %", "<why it is above")
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
	said := shell.TableOf("<said as", "<which is", "epsilon", "finds at 1 %", "<what that leaves out")
	for _, s := range e.SaidAs {
		said.Rows = append(said.Rows, []string{s.As, s.Value, shell.FormatUp(float64(s.Epsilon), exact), shell.FormatUp(s.TPR, exact), s.Loss})
	}
	return append(reasonsBelow(gaps, format), reasonsBelow(said, format)...)
}
