// Package mechanisms lists every mechanism that turns votes into labels: the noisy argmax mechanisms of
// package aggregate and the stability methods of package stable.
//
// Commands, plans, audits and ledgers find a mechanism by name. The [aggregate.Description] contains the
// parameters and the constructor:
//
//	d, err := mechanisms.Find("gnmax")
//	s := aggregate.Setting{Mechanism: "gnmax", Queries: 100}.With("sigma", 40)
//	m, err := d.New(s)
//
// A new mechanism belongs in package aggregate or stable, with its description in the Descriptions of the
// package. Tests require an output distribution, an event and an audit.
package mechanisms

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/stable"
)

func All() []aggregate.Description {
	return slices.Concat(aggregate.Descriptions(), stable.Descriptions())
}

// Names returns the names of the mechanisms that `wanted` accepts. If `wanted` is nil, Names returns all
// names.
func Names(wanted func(aggregate.Description) bool) []string {
	var names []string
	for _, d := range All() {
		if wanted == nil || wanted(d) {
			names = append(names, d.Name)
		}
	}
	return names
}

func Find(name string) (aggregate.Description, error) {
	for _, d := range All() {
		if d.Name == name {
			return d, nil
		}
	}
	return aggregate.Description{}, fmt.Errorf("mechanisms: no mechanism %q: one of %s", name, strings.Join(Names(nil), ", "))
}

// AlwaysAnswers reports whether a mechanism uses only votes, always answers, and has one noise parameter.
func AlwaysAnswers(d aggregate.Description) bool {
	return !d.Predicts && !d.Distances && !d.Declines && len(d.Parameters) == 1 && len(d.Noise()) == 1
}
