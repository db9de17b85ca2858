package law

import (
	"embed"
	"fmt"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/stability"
)

// texts has a file for each law: a description, and examples.
var texts embed.FS

// lawPage is one law that can be asked for.
type lawPage struct {
	aggregate.NamedLaw
	d              aggregate.Description
	long, examples string
}

// lawPages lists the laws in the order of help: those that the mechanisms describe.
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

// help returns the description and the examples of a law, by default with the audit's neighbours as examples.
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

// law returns the law on given votes.
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

// votesDistance returns the plurality of votes that may move and its distance to
// instability.
func votesDistance(counts []int) (winner int, distance int64, err error) {
	return stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
}
