// Package mechanisms is the register of every mechanism that turns votes into labels:
// the noisy argmax of package aggregate and the stability methods of package stable.
//
// Commands, plans, audits and ledgers find a mechanism here by its name, and learn from
// its [aggregate.Description] which parameters it has and how it is made:
//
//	d, err := mechanisms.Find("gnmax")
//	s := aggregate.Setting{Mechanism: "gnmax", Queries: 100}.With("sigma", 40)
//	m, err := d.New(s)
//
// To add a mechanism, write it with its description in a file of package aggregate or
// stable, and name the description in that package's Descriptions. The tests here ask
// of every description a law, an event that the law keeps to, and an audit.
package mechanisms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/stable"
)

// All lists the mechanisms in the order of help.
func All() []aggregate.Description {
	return slices.Concat(aggregate.Descriptions(), stable.Descriptions())
}

// Names lists the names of the mechanisms that are wanted; nil: of all.
func Names(wanted func(aggregate.Description) bool) []string {
	var names []string
	for _, d := range All() {
		if wanted == nil || wanted(d) {
			names = append(names, d.Name)
		}
	}
	return names
}

// Find returns the mechanism with the name.
func Find(name string) (aggregate.Description, error) {
	for _, d := range All() {
		if d.Name == name {
			return d, nil
		}
	}
	return aggregate.Description{}, fmt.Errorf("mechanisms: no mechanism %q: one of %s", name, strings.Join(Names(nil), ", "))
}

// AlwaysAnswers reports whether all there is to choose is one noise and how many queries to
// ask of votes alone.
func AlwaysAnswers(d aggregate.Description) bool {
	return !d.Predicts && !d.Distances && !d.Declines && len(d.Parameters) == 1 && len(d.Noise()) == 1
}
