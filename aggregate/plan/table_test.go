package plan

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

func sparseConfigs() map[string]stable.Config {
	return map[string]stable.Config{
		stable.SVT:           {Mechanism: stable.SVT, B1: 3, B2: 7, Threshold: 12, Failures: 3},
		stable.SVTCalibrated: {Mechanism: stable.MSvec, Lambda: 2.5, Threshold: 12, Failures: 3},
		"wide":               {Mechanism: stable.MSvec, Lambda: 70, Threshold: 12, Failures: 3},
		stable.MStab:         {Mechanism: stable.MStab, Scale: 2, Threshold: 12, Queries: 9},
	}
}

// TestOutcomesOfOneDistance: where all queries are alike, transcripts can be listed.
func TestOutcomesOfOneDistance(t *testing.T) {
	const queries = 9
	for name, cfg := range sparseConfigs() {
		m := testkit.Must(stable.New(cfg))
		for _, distance := range []int{0, 9, 12, 25} {
			d := distances{queries: queries, share: make([]float64, 40), right: make([]float64, 40)}
			d.share[distance], d.right[distance] = 1, 0.75
			got := testkit.Must(d.evaluate(t.Context(), name, cfg, Goal{Delta: 0.1}))
			var asked, released float64
			if law, sequential := m.RunLaw(); sequential {
				values := make([]float64, queries)
				for i := range values {
					values[i] = -float64(distance)
				}
				for _, o := range testkit.Must(law.Outcomes(values)) {
					asked += o.Prob * float64(len(o.Above))
					for _, refused := range o.Above {
						if !refused {
							released += o.Prob
						}
					}
				}
			} else {
				log, _ := m.LawAt(int64(distance))
				asked, released = queries, queries*math.Exp(log)
			}
			tolerance := 1e-9
			if got.Approximate && cfg.Lambda >= 64 {
				tolerance = 1e-3
			}
			require.InEpsilon(t, asked, got.Asked, tolerance, "%s at %d", name, distance)
			require.InEpsilon(t, released, got.Released, tolerance, "%s at %d", name, distance)
			require.InEpsilon(t, 0.75*released, got.Right, tolerance, "%s at %d", name, distance)
		}
	}
}

// TestOutcomesAreThoseOfRuns runs the mechanisms on queries drawn from three examples.
// The bound is 5 standard errors: a false alarm in 100 000.
func TestOutcomesAreThoseOfRuns(t *testing.T) {
	const queries, runs = 60, 60
	examples := []Example{
		{Votes: histogram(t, 40, 3, 2), Label: 0}, {Votes: histogram(t, 3, 60, 2), Label: 1}, {Votes: histogram(t, 20, 9, 18), Label: 2},
	}
	d := testkit.Must(testkit.Must(newCases(examples)).distances())
	d.queries = queries
	for name, cfg := range sparseConfigs() {
		if name == "wide" { // releases what no ledger would take
			continue
		}
		if cfg.Mechanism == stable.MStab {
			cfg.Queries = queries
		}
		m := testkit.Must(stable.New(cfg))
		want := testkit.Must(d.evaluate(t.Context(), name, cfg, Goal{Delta: 0.1}))
		var mean, square [3]float64
		for run := range uint64(runs) {
			book := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 0.99}))
			session := testkit.Must(m.Start(testkit.Must(book.Reserve(m.Event())), rng.SeedKey(run)))
			order := rng.SeedKey(run).Derive("order").Stream()
			var seen [3]float64
			for q := range uint64(queries) {
				e := examples[order.Uint64N(3)]
				a, err := session.Ask(q, e.Votes)
				if err != nil {
					require.ErrorIs(t, err, aggregate.ErrExhausted)
					break
				}
				seen[0]++
				if a.Answered {
					seen[1]++
				}
				if a.Answered && a.Label == e.Label {
					seen[2]++
				}
			}
			for i, x := range seen {
				mean[i] += x / runs
				square[i] += x * x / runs
			}
		}
		for i, x := range []float64{want.Asked, want.Released, want.Right} {
			require.InDelta(t, x, mean[i], 5*math.Sqrt((square[i]-mean[i]*mean[i])/runs)+1e-3*x, "%s, %d", name, i)
		}
	}
}

func TestRenewals(t *testing.T) {
	law := []float64{0, 0.3, 0.2, 0, 0.1, 0.05, 0, 0.1, 0, 0, 0.04}
	for n := 1; n < 20; n++ {
		want, power := make([]float64, len(law)), make([]float64, len(law))
		power[0] = 1
		for range n {
			next := make([]float64, len(law))
			for i, p := range power {
				want[i] += p
				for j, q := range law[:len(law)-i] {
					next[i+j] += p * q
				}
			}
			power = next
		}
		require.InDeltaSlice(t, want, renewals(law, n), 1e-13, "%d", n)
	}
}

// TestOutcomesAgreeWithTheRegime: the same winner where queries are unanimous and many,
// and where they are contested or few; nothing over budget.
func TestOutcomesAgreeWithTheRegime(t *testing.T) {
	right := func(examples []Example, epsilon float64, method accountant.Method) map[string]float64 {
		goal := Goal{Epsilon: epsilon, Delta: 1e-6, Accountant: method}
		out := testkit.Must(Outcomes(t.Context(), examples, goal))
		by := make(map[string]float64)
		for _, o := range out {
			require.LessOrEqual(t, o.Epsilon, goal.Epsilon, o.Mechanism)
			require.LessOrEqual(t, o.Right, o.Released*(1+1e-9))
			require.LessOrEqual(t, o.Released, o.Asked*(1+1e-9))
			require.LessOrEqual(t, o.Asked, float64(len(examples))*(1+1e-9))
			by[o.Mechanism] = o.Right
		}
		require.Len(t, by, 7)
		require.GreaterOrEqual(t, by[stable.SVTCalibrated], by[stable.SVTPrinted])
		return by
	}
	simulate := func(s Simulation) []Example {
		return testkit.Must(s.Examples(rng.SeedKey(1)))
	}
	by := accountant.ByRDP
	if *long {
		by = accountant.ByAuto
	}
	contested := right(simulate(Simulation{Teachers: 250, Classes: 10, Queries: 500, Accuracy: 0.83}), 4, by)
	require.Greater(t, contested[GNMax], 2*contested[stable.SVT])
	if !*long {
		return
	}
	unanimous := right(simulate(Simulation{Teachers: 1000, Classes: 10, Queries: 4000, Accuracy: 0.98, Correlation: 0.005}), 0.4, accountant.ByRDP)
	require.Greater(t, unanimous[stable.SVT], 1.2*unanimous[GNMax])
	require.Greater(t, unanimous[stable.SVT], 1.2*unanimous[exponential])
	require.Greater(t, unanimous[stable.SVT], 10*unanimous[stable.SVTPrinted])
	t.Log(contested, unanimous)
}
