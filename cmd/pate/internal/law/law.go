// Package law is the command `pate learn law`: exact output laws of mechanisms.
package law

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/table"
)

const schemaLaw = "pate.law/1"

// lawReport is the JSON of `pate learn law`. Probabilities that underflow are 0 there
// and finite in LogProbabilities, where only the impossible is null.
type lawReport struct {
	Schema           string             `json:"schema"`
	Mechanism        string             `json:"mechanism"`
	Noise            string             `json:"noise"` // continuous; discrete: integers; exact: drawn without noise
	Parameters       map[string]float64 `json:"parameters"`
	Counts           []int              `json:"counts"`
	Probabilities    []float64          `json:"probabilities"`
	LogProbabilities []shell.Number     `json:"log_probabilities"`
	Answered         *float64           `json:"answered,omitempty"` // of mechanisms that may decline
	Distance         *int64             `json:"distance,omitempty"` // to instability, of stability mechanisms
	Released         *float64           `json:"released,omitempty"` // of stability mechanisms: Answered
}

// New returns the command.
func New(g *shell.Globals) *cobra.Command {
	var children []*cobra.Command
	for _, m := range lawPages() {
		children = append(children, newLawOf(g, m))
	}
	return shell.Parent("law", "mechanisms", append(children, newAboveThresholdLaw(g))...)
}

func newLawOf(g *shell.Globals, m lawPage) *cobra.Command {
	var counts []int
	var prediction []float64
	values := make([]float64, len(m.Parameters))
	cmd := &cobra.Command{
		Use:     m.Name,
		Short:   m.Short,
		Long:    m.long,
		Example: m.examples,
		Args: shell.Wants(cobra.NoArgs, func(cmd *cobra.Command, _ []string) []string {
			needed := []string{"counts"}
			if m.d.Predicts {
				needed = append(needed, "prediction")
			}
			for _, p := range m.Parameters {
				needed = append(needed, p.Name)
			}
			return shell.Unset(cmd, needed...)
		}),
		RunE: func(cmd *cobra.Command, _ []string) error {
			value := make(map[string]float64, len(values))
			for i, p := range m.Parameters {
				value[p.Name] = values[i]
			}
			h, err := aggregate.NewHistogram(counts)
			if err != nil {
				return shell.InputError(fmt.Errorf("--counts: %w", err), "", "give one count of votes for each class, as 60,40,3", "mechanisms")
			}
			law, err := m.law(value, prediction, h)
			if err != nil {
				return shell.InputError(err, "", "see pate learn law "+m.Name+" --help", "mechanisms")
			}
			if m.d.Distances && g.ParsedFormat() != table.JSON {
				if _, distance, err := votesDistance(counts); err == nil {
					g.Logf("distance to instability: %d votes must move before another class can win", distance+1)
				}
			}
			return writeLaw(g, m, value, counts, law)
		},
	}
	cmd.Flags().IntSliceVar(&counts, "counts", nil, "votes of each class, separated by commas (required)")
	if m.d.Predicts {
		cmd.Flags().Float64SliceVar(&prediction, "prediction", nil, "the student's probability of each class, separated by commas (required)")
	}
	for i, p := range m.Parameters {
		cmd.Flags().Float64Var(&values[i], p.Name, 0, shell.DescribeParameter(p)+" (required)")
	}
	shell.Without(cmd, "seed", "delta")
	shell.EpsilonIsNoBudget(cmd)
	return cmd
}

func writeLaw(g *shell.Globals, m lawPage, value map[string]float64, counts []int, law aggregate.Law) error {
	if g.ParsedFormat() == table.JSON {
		return shell.WriteJSON(g.Stdout, lawJSON(m, value, counts, law))
	}
	format := g.ParsedFormat()
	t := table.Table{Header: []string{"answer", "votes", "probability"}, Left: []bool{true}}
	for class, l := range law.LogLabels {
		t.Rows = append(t.Rows, []string{strconv.Itoa(class), strconv.Itoa(counts[class]), formatProbability(l, format == table.CSV)})
	}
	logs := law.LogLabels
	if m.d.Declines {
		logs = append(logs, law.LogDeclined)
		t.Rows = append(t.Rows, []string{"declined", "", formatProbability(law.LogDeclined, format == table.CSV)})
	}
	if format == table.Text { // a picture beside the numbers
		t.Header = append(t.Header, "")
		t.Left = append(t.Left, false, false, true)
		for i, l := range logs {
			t.Rows[i] = append(t.Rows[i], bar(math.Exp(l), 40))
		}
	}
	return t.Write(g.Stdout, format)
}

func lawJSON(m lawPage, value map[string]float64, counts []int, law aggregate.Law) lawReport {
	r := lawReport{Schema: schemaLaw, Mechanism: m.Name, Noise: m.Noise, Parameters: value, Counts: counts}
	for _, l := range law.LogLabels {
		r.Probabilities = append(r.Probabilities, math.Exp(l))
		r.LogProbabilities = append(r.LogProbabilities, shell.Number(l))
	}
	if m.d.Declines {
		answered := -math.Expm1(law.LogDeclined)
		if law.LogDeclined > -math.Ln2 { // the sum keeps what 1 minus most of it would lose
			answered = 0
			for _, p := range r.Probabilities {
				answered += p
			}
		}
		r.Answered = &answered
	}
	if m.d.Distances {
		if _, distance, err := votesDistance(counts); err == nil { // the law would not be there otherwise
			r.Distance, r.Released = &distance, r.Answered
		}
	}
	return r
}

// formatProbability prints the probability with that natural logarithm, to five
// digits or exactly, also where it is too small for a float64.
func formatProbability(log float64, exact bool) string {
	if p := math.Exp(log); p > 1e-300 || math.IsInf(log, -1) {
		if exact {
			return strconv.FormatFloat(p, 'g', -1, 64)
		}
		if p >= 1e-3 {
			return strconv.FormatFloat(p, 'f', 6, 64)
		}
		return strconv.FormatFloat(p, 'e', 4, 64)
	}
	exponent := math.Floor(log / math.Ln10)
	mantissa := strconv.FormatFloat(math.Exp(log-exponent*math.Ln10), 'f', 4, 64)
	if strings.HasPrefix(mantissa, "10.") { // rounded up to the next power
		mantissa, exponent = "1.0000", exponent+1
	}
	return fmt.Sprintf("%se%.0f", mantissa, exponent)
}

// bar draws a share of width blocks, in eighths.
func bar(share float64, width int) string {
	eighths := int(math.Round(share * float64(width) * 8))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}
