package law

import (
	"fmt"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/cmd/pate/internal/shell"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/stability"
)

// lawPage is one law that can be asked for.
type lawPage struct {
	aggregate.LawPage
	d aggregate.Description
}

// lawPages lists the laws in the order of help: those that the mechanisms describe.
func lawPages() []lawPage {
	var pages []lawPage
	for _, d := range mechanisms.All() {
		described := d.Laws
		if described == nil {
			described = []aggregate.LawPage{sampledLaw(d)}
		}
		for _, page := range described {
			if page.Parameters == nil {
				for _, p := range d.Parameters {
					if p.Default == nil {
						page.Parameters = append(page.Parameters, p)
					}
				}
			}
			pages = append(pages, lawPage{page, d})
		}
	}
	return pages
}

// sampledLaw describes the law of what is sampled, with the audit's neighbours as
// examples.
func sampledLaw(d aggregate.Description) aggregate.LawPage {
	page := aggregate.LawPage{Name: d.Name, Short: strings.ToUpper(d.Short[:1]) + d.Short[1:], Noise: "discrete",
		Long: "The law of what is sampled: " + d.Short + ". One query costs " + d.Cost + "."}
	var examples []string
	for _, counts := range d.Neighbours {
		examples = append(examples, fmt.Sprintf("  pate law %s --counts %s %s", d.Name, strings.Trim(strings.ReplaceAll(fmt.Sprint(counts), " ", ","), "[]"),
			shell.FlagsOf(d, d.Audit, func(aggregate.Parameter) bool { return true })))
	}
	page.Examples = strings.Join(examples, "\n")
	return page
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
