// Package law is the command `pate learn law`, which prints exact output distributions of mechanisms.
package law

import (
	"embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/number"
	"github.com/pate-go/pate/internal/table"
	"github.com/pate-go/pate/stability"
	"github.com/pate-go/pate/svt"
)

const schemaLaw = "pate.law/1"

func New(g *shell.Globals) *cobra.Command {
	var children []*cobra.Command
	for _, m := range lawPages() {
		children = append(children, newLawOf(g, m))
	}
	cmd := shell.Parent("law", "mechanisms", append(children, newAboveThresholdLaw(g))...)
	cmd.Use = "law MECHANISM"
	shell.CompleteArgs(cmd, shell.Take("any"))
	return cmd
}

func newLawOf(g *shell.Globals, m lawPage) *cobra.Command {
	var counts []int
	var prediction []float64
	values := make([]float64, len(m.Parameters))
	needed := []string{"counts"}
	missing := func(cmd *cobra.Command, _ []string) []string { return shell.Unset(cmd, needed...) }
	cmd := shell.Command(m.Name, "seed delta", shell.Wants(cobra.NoArgs, missing), func(*cobra.Command, []string) error {
		value := make(map[string]float64, len(values))
		for i, p := range m.Parameters {
			value[p.Name] = values[i]
		}
		h, err := aggregate.NewHistogram(counts)
		if err != nil {
			return shell.InputError(fmt.Errorf("--counts: %w", err), "", "give one count of votes for each class, such as 60,40,3", "mechanisms")
		}
		law, err := m.law(value, prediction, h)
		if err != nil {
			return shell.InputError(err, "", "see pate learn law "+m.Name+" --help", "mechanisms")
		}
		if m.d.Distances && g.ParsedFormat() != table.JSON {
			if _, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex); err == nil {
				g.Logf("distance to instability: %d votes must move before another class can win", distance+1)
			}
		}
		return writeLaw(g, m, value, counts, law)
	})
	cmd.Short, cmd.Long, cmd.Example = m.Short, m.long, m.examples
	cmd.Flags().IntSliceVar(&counts, "counts", nil, "votes of each class, separated by commas (required)")
	if m.d.Predicts {
		needed = append(needed, "prediction")
		cmd.Flags().Float64SliceVar(&prediction, "prediction", nil, "the student's probability of each class, separated by commas (required)")
	}
	for i, p := range m.Parameters {
		needed = append(needed, p.Name)
		cmd.Flags().Float64Var(&values[i], p.Name, 0, shell.DescribeParameter(p)+" (required)")
	}
	shell.EpsilonIsNoBudget(cmd)
	return cmd
}

func writeLaw(g *shell.Globals, m lawPage, value map[string]float64, counts []int, law aggregate.Law) error {
	// The field log_probabilities has the logarithm of each probability, even if the probability underflows
	// to 0, and null for an impossible output. The field answered exists only for mechanisms that may
	// decline, and the fields distance and released only for stability mechanisms.
	var probabilities []float64
	var logs []shell.Number
	sum := 0.0
	for _, l := range law.LogLabels {
		probabilities, logs, sum = append(probabilities, math.Exp(l)), append(logs, shell.Number(l)), sum+math.Exp(l)
	}
	report := shell.Object{"schema", schemaLaw, "mechanism", m.Name, "noise", m.Noise, "parameters", value, "counts", counts,
		"probabilities", probabilities, "log_probabilities", logs}
	var answered *float64
	if m.d.Declines {
		share := -math.Expm1(law.LogDeclined)
		if law.LogDeclined > -math.Ln2 { // 1-p would lose digits that the sum keeps
			share = sum
		}
		answered = &share
	}
	report = append(report, "answered?", answered)
	if m.d.Distances {
		if _, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex); err == nil { // otherwise no law
			report = append(report, "distance", distance, "released?", answered)
		}
	}
	return g.Print(report, func(format table.Format) table.Table {
		p := newPicture("answer", "votes", format)
		for class, l := range law.LogLabels {
			p.add(strconv.Itoa(class), strconv.Itoa(counts[class]), l)
		}
		if m.d.Declines {
			p.add("declined", "", law.LogDeclined)
		}
		return p.Table
	})
}

type picture struct {
	table.Table
	format table.Format
}

func newPicture(what, of string, format table.Format) *picture {
	if format == table.Text {
		return &picture{shell.TableOf("<"+what, of, "probability", "<"), format}
	}
	return &picture{shell.TableOf("<"+what, of, "probability"), format}
}

func (p *picture) add(name, value string, log float64) {
	row := []string{name, value, formatProbability(log, p.format == table.CSV), bar(math.Exp(log), 40)}
	p.Rows = append(p.Rows, row[:len(p.Header)])
}

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

func bar(share float64, width int) string {
	eighths := int(math.Round(share * float64(width) * 8))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}

//go:embed text/*.txt
var texts embed.FS

type lawPage struct {
	aggregate.NamedLaw
	d              aggregate.Description
	long, examples string
}

func lawPages() []lawPage {
	var pages []lawPage
	for _, d := range mechanisms.All() {
		described := d.Laws
		if described == nil {
			described = []aggregate.NamedLaw{{Name: d.Name, Short: strings.ToUpper(d.Short[:1]) + d.Short[1:], Noise: "discrete"}}
		}
		for _, page := range described {
			if page.Parameters == nil {
				for _, p := range d.Parameters {
					if p.Default == nil {
						page.Parameters = append(page.Parameters, p)
					}
				}
			}
			long, examples := help(page.Name, d)
			pages = append(pages, lawPage{page, d, long, examples})
		}
	}
	return pages
}

func help(name string, d aggregate.Description) (long, examples string) {
	if text, err := texts.ReadFile("text/" + name + ".txt"); err == nil {
		long, examples, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n")
		return long, examples
	}
	var lines []string
	for _, counts := range d.Neighbours {
		lines = append(lines, fmt.Sprintf("  pate learn law %s --counts %s %s", d.Name,
			strings.Trim(strings.ReplaceAll(fmt.Sprint(counts), " ", ","), "[]"),
			shell.FlagsOf(d, d.Audit, func(aggregate.Parameter) bool { return true })))
	}
	return "The law of what is sampled: " + d.Short + ". One query costs " + d.Cost + ".", strings.Join(lines, "\n")
}

func (m lawPage) law(values map[string]float64, prediction []float64, h aggregate.Histogram) (aggregate.Law, error) {
	votes := 0
	for _, n := range h.Reveal() {
		votes += n
	}
	s := aggregate.Setting{Mechanism: m.d.Name, Values: values, Queries: 1, Teachers: max(1, votes),
		Predict: func(uint64) ([]float64, error) { return prediction, nil }}
	if m.Law != nil {
		return m.Law(m.d.Complete(s), h)
	}
	if err := m.d.CheckValues(s); err != nil {
		return aggregate.Law{}, err
	}
	mechanism, err := m.d.New(m.d.Complete(s))
	if err != nil {
		return aggregate.Law{}, err
	}
	return mechanism.Law(h)
}

func newAboveThresholdLaw(g *shell.Globals) *cobra.Command {
	var queries []float64
	var threshold, epsilon1, epsilon2 float64
	cmd := shell.Command("above-threshold", "", shell.Needs(cobra.NoArgs, "queries", "threshold", "epsilon1", "epsilon2"),
		func(cmd *cobra.Command, _ []string) error {
			for name, e := range map[string]float64{"epsilon1": epsilon1, "epsilon2": epsilon2} {
				if !(e > 0 && e <= math.MaxFloat64) {
					return shell.InputError(fmt.Errorf("--%s %v: must be a finite number above 0", name, e), "",
						"see pate learn law above-threshold --help", "mechanisms")
				}
			}
			law := svt.Law{Threshold: threshold, Stop: 1,
				ThresholdNoise: svt.Noise{Kind: svt.Laplace, Scale: 1 / epsilon1}, QueryNoise: svt.Noise{Kind: svt.Laplace, Scale: 2 / epsilon2}}
			first, none, err := law.FirstAbove(queries)
			if err != nil {
				return shell.InputError(err, "", "see pate learn law above-threshold --help", "mechanisms")
			}
			report := shell.Object{"schema", schemaLaw, "mechanism", "above-threshold", "noise", "continuous",
				"parameters", map[string]float64{"threshold": threshold, "epsilon1": epsilon1, "epsilon2": epsilon2},
				"queries", queries, "probabilities", first, "none", none} // probabilities of the first query above, and of no query above
			return g.Print(report, func(format table.Format) table.Table {
				p := newPicture("first above", "value", format)
				for i, x := range first {
					p.add(strconv.Itoa(i), number.Exact(queries[i]), math.Log(x))
				}
				p.add("none", "", math.Log(none))
				return p.Table
			})
		})
	shell.Declare(cmd.Flags(), "above-threshold", shell.To{"queries": &queries, "threshold": &threshold, "epsilon1": &epsilon1,
		"epsilon2": &epsilon2})
	return cmd
}
