package controls

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pate-go/pate/internal/accountant/audit"
	"github.com/pate-go/pate/rng"
)

// Method is how a claim is put to the test.
type Method string

const (
	ByRuns     Method = "runs"     // audit.BlackBox
	ByLaw      Method = "law"      // audit.Exact
	ByCanaries Method = "canaries" // audit.OneRun
)

// Target is a claim to audit. Several targets may have one name: a mechanism by its law and by its runs.
type Target struct {
	Name    string
	Method  Method
	On      string // the neighbours, or the data
	Mistake string // what was done wrong on purpose; "" as shipped
	Runs    int    // by default, on each input; 0 where their number is fixed

	audit func(ctx context.Context, e effort) (audit.Finding, error)
}

func (t Target) mistaken(how string) Target {
	t.Mistake = how
	return t
}

// effort is what one audit may use.
type effort struct {
	key      rng.Key
	alpha    float64
	delta    float64 // of claims that have a profile
	runs     int
	progress func(done int)
}

// Default returns the mechanisms as shipped.
func Default() []Target {
	return slices.Concat(mechanismTargets(), stableTargets(), sparseTargets(), numberTargets(), sgdTargets())
}

// Broken returns the positive controls.
func Broken() []Target {
	return slices.Concat(brokenSparse(), brokenVotes(), brokenSGD(), brokenAccounts())
}

// Names returns the names of targets, each once, in order.
func Names(targets []Target) []string {
	var names []string
	for _, t := range targets {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

// Find returns the targets with these names, in the order of targets.
func Find(targets []Target, names ...string) ([]Target, error) {
	var found []Target
	for _, t := range targets {
		if slices.Contains(names, t.Name) {
			found = append(found, t)
		}
	}
	for _, name := range names {
		if !slices.Contains(Names(found), name) {
			return nil, fmt.Errorf("controls: no target %q: one of %s", name, strings.Join(Names(targets), ", "))
		}
	}
	return found, nil
}
