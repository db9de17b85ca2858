package controls

import (
	"math/rand/v2"

	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/internal/museum"
	"github.com/pate-go/pate/rng"
)

// Museum returns the mistakes of published papers and programs, each with its source. Some mistakes are also
// targets of [Broken].
func Museum() (all []Target) {
	broken := map[string][]Target{}
	for _, t := range Broken() {
		broken[t.Name] = append(broken[t.Name], t)
	}
	for _, e := range museum.Exhibits() {
		targets := broken[e.Name]
		if claim := stated(e.Epsilon, e.Delta); targets == nil { // the mechanism is in package museum
			targets = []Target{byLaw(e.Name, e.Inputs, claim, func(yield func(p, q []float64) bool) { yield(e.Laws(false)) })}
			if !e.Rare {
				targets = append(targets, runs(e.Name, e.Inputs, 20_000, claim, exhibited(e, 1), exhibited(e, 0)))
			}
		}
		for _, t := range targets {
			t.Mistake, t.Source, t.Year = e.Did, e.Source, e.Year
			all = append(all, t)
		}
	}
	return all
}

func exhibited(e museum.Exhibit, in int) side[string] {
	return func(key rng.Key, _ int) audit.Run[string] {
		run := e.Sample(in, rand.New(key.Stream()))
		return func(uint64) (string, error) { return run(), nil }
	}
}
