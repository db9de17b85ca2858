package account

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
)

// explainAccount prints the same Rényi account under the conventions of other tools, then the differences
// that no number shows. Where stdout holds data it goes to stderr.
func explainAccount(ctx context.Context, g *shell.Globals, cfg accountant.RDPConfig, schedule accountant.Schedule, report accountReport) error {
	out := g.Stdout
	if !g.Prose() { // prose is no data
		out = g.Stderr
	}
	if report.Delta != nil {
		t := shell.TableOf("<the same run by", "epsilon", "<what that changes")
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
	grid, _ := shell.ParseOrders("1.1:10.9:0.1,11:63") // well formed
	integers, _ := shell.ParseOrders("2:63")
	return []explainVariant{
		{"all real orders, improved conversion", nil, accountant.Improved, "what pate answers"},
		{"orders 1.1 to 10.9 and 11 to 63", grid, accountant.Improved, "the grid of Opacus, without the best"},
		{"whole orders 2 to 63", integers, accountant.Improved, "loses where the best order is low"},
		{"the same, classic conversion", integers, accountant.Classic, "conversion: as in papers before 2020"},
		{"whole orders 2 to 33, classic conversion", integers[:32], accountant.Classic, "the moments accountant of 2016"},
	}
}

// explanations has a paragraph for each difference without a number to show it.
//
//go:embed explain.txt
var explanations string

// explanation returns what differs without a number to show it; of samplers only where one is.
func explanation(schedule accountant.Schedule) string {
	text := strings.Replace(explanations, "{{relation}}", schedule.Relation.String(), 1)
	if !hasSampling(schedule.Events) {
		text = text[:strings.Index(text, "sampler ")] + text[strings.Index(text, "counts "):]
	}
	return text
}

func hasSampling(events []accountant.Event) bool {
	return slices.ContainsFunc(events, func(e accountant.Event) bool {
		switch e := e.(type) {
		case accountant.PoissonSampled, accountant.SampledWithoutReplacement, accountant.TruncatedPoisson:
			return true
		case accountant.Repeated:
			return hasSampling([]accountant.Event{e.Event})
		case accountant.Composed:
			return hasSampling(e.Events)
		case accountant.WithFailure:
			return hasSampling([]accountant.Event{e.Event})
		}
		return false
	})
}
