package account

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
)

// explainAccount prints the same Rényi account under the conventions of other tools, then the differences
// that no number shows. Where stdout holds data it goes to stderr.
func explainAccount(ctx context.Context, g *shell.Globals, cfg accountant.RDPConfig, schedule accountant.Schedule, report accountReport) error {
	out := g.Stdout
	if format := g.ParsedFormat(); format != table.Text && format != table.Markdown { // prose is no data
		out = g.Stderr
	}
	if report.Delta != nil {
		t := table.Table{
			Header: []string{"the same run by", "epsilon", "what that changes"},
			Left:   []bool{true, false, true},
		}
		for _, v := range explainVariants() {
			account, err := accountant.NewRDP(accountant.RDPConfig{Relation: cfg.Relation, Orders: v.orders, Conversion: v.conversion})
			if err != nil {
				return err
			}
			refused, err := composeAll(account.Compose, schedule.Events)
			if err != nil {
				return err
			}
			if refused != "" {
				break
			}
			b, err := account.Epsilon(ctx, *report.Delta)
			if err != nil {
				return err
			}
			t.Rows = append(t.Rows, []string{v.name, shell.FormatUp(b.Upper, false), v.what})
		}
		if len(t.Rows) > 0 {
			format := g.ParsedFormat()
			if format != table.Markdown {
				format = table.Text
			}
			for _, t := range reasonsBelow(t, format) {
				fmt.Fprintln(out)
				if err := t.Write(out, format); err != nil {
					return err
				}
			}
		}
	}
	_, err := fmt.Fprint(out, explanation(schedule))
	return err
}

type explainVariant struct {
	name       string
	orders     []float64
	conversion accountant.Conversion
	what       string
}

func explainVariants() []explainVariant {
	var grid, integers []float64
	for i := 11; i <= 109; i++ {
		grid = append(grid, float64(i)/10)
	}
	for a := 11.0; a <= 63; a++ {
		grid = append(grid, a)
	}
	for a := 2.0; a <= 63; a++ {
		integers = append(integers, a)
	}
	return []explainVariant{
		{"all real orders, improved conversion", nil, accountant.Improved, "what pate answers"},
		{"orders 1.1 to 10.9 and 11 to 63", grid, accountant.Improved, "the grid of Opacus, without the best"},
		{"whole orders 2 to 63", integers, accountant.Improved, "loses where the best order is low"},
		{"the same, classic conversion", integers, accountant.Classic, "conversion: as in papers before 2020"},
		{"whole orders 2 to 33, classic conversion", integers[:32], accountant.Classic, "the moments accountant of 2016"},
	}
}

// explanation returns what differs without a number to show it.
func explanation(schedule accountant.Schedule) string {
	text := `
relation   under ` + schedule.Relation.String() + `. Noise multipliers are relative to the sensitivity
           under that relation: a sum clipped to C moves by C when a record is
           added or removed, by 2C when one is replaced. Some tools keep C for
           both and answer too little.
`
	if hasSampling(schedule.Events) {
		text += `sampler    every sampled event is what it says: poisson_sampled takes each
           record by its own coin. Batches that are shuffled or of fixed size
           cost more under the same name; sampled_without_replacement and
           truncated_poisson are events of their own.
`
	}
	return text + `counts     an event repeated n times is charged n times; one well-known library
           charges exponential mechanisms and randomized responses once
           whatever their count.
errors     every bound is rounded outwards. A Rényi account has no grid of
           losses, so discretisation costs nothing; what it gives up against
           pld, the account of the whole loss distribution, is 3 to 8 percent
           for typical DP-SGD, and much more for a few steps or rare sampling.
           pld adds all its numerical errors to the answer and shows the other
           side.
`
}

func hasSampling(events []accountant.Event) bool {
	for _, e := range events {
		switch e := e.(type) {
		case accountant.PoissonSampled, accountant.SampledWithoutReplacement, accountant.TruncatedPoisson:
			return true
		case accountant.Repeated:
			if hasSampling([]accountant.Event{e.Event}) {
				return true
			}
		case accountant.Composed:
			if hasSampling(e.Events) {
				return true
			}
		case accountant.WithFailure:
			if hasSampling([]accountant.Event{e.Event}) {
				return true
			}
		}
	}
	return false
}
