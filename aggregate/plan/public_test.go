package plan

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// TestForLabels: a plan is right often enough in every world it must hold in, and keeps the goal; too few
// teachers are told what would do.
func TestForLabels(t *testing.T) {
	goal := Goal{Epsilon: 3, Delta: 1e-5, MinAccuracy: 0.9, MinLabels: 9, Accountant: accountant.ByRDP}
	p := Public{Teachers: 80, Classes: 3, Queries: 60, Agreement: Agreement{Accuracy: 0.85}}
	a := testkit.Must(ForLabels(t.Context(), p, goal, goal.least(t.Context())))
	require.LessOrEqual(t, a.Epsilon, goal.Epsilon)
	require.LessOrEqual(t, a.Queries, p.Queries)
	worlds := testkit.Must(p.worlds(plannedExamples))
	require.Len(t, worlds, 2, "teachers who err together, and who do not")
	for _, world := range worlds {
		e := testkit.Must(world.expect(t.Context(), a.Setting))
		require.GreaterOrEqual(t, e.Accuracy(), goal.MinAccuracy)
	}

	few := Public{Teachers: 4, Classes: 3, Queries: 40}
	goal.Epsilon = 0.5
	_, err := ForLabels(t.Context(), few, goal, goal.least(t.Context()))
	var none *NoPlanError
	require.ErrorAs(t, err, &none)
	require.ErrorIs(t, err, ErrNoPlan)
	if !*long { // a script of cmd/pate asks for one remedy
		return
	}
	require.NoError(t, few.Remedy(t.Context(), none))
	goal.Epsilon = none.Epsilon
	works := testkit.Must(few.works(t.Context(), goal))
	require.True(t, works, "what is said to do does")
	few.Teachers, goal.Epsilon = none.Teachers, 0.5
	works = testkit.Must(few.works(t.Context(), goal))
	require.True(t, works)
}

// A ledger that takes less noise than Rényi divergences gives more labels, and one that takes none no plan.
func TestForLabelsAsksTheBudget(t *testing.T) {
	goal := Goal{Epsilon: 2, Delta: 1e-5, MinAccuracy: 0.9, Accountant: accountant.ByRDP}
	p := Public{Teachers: 60, Classes: 3, Queries: 1000}
	a := testkit.Must(ForLabels(t.Context(), p, goal, goal.least(t.Context())))
	require.LessOrEqual(t, a.Epsilon, goal.Epsilon, "in the digits that it is printed with")
	generous := goal
	generous.Epsilon = 2.2
	b := testkit.Must(ForLabels(t.Context(), p, goal, generous.least(t.Context())))
	require.Greater(t, b.ExpectedCorrect, 1.05*a.ExpectedCorrect)
	_, err := ForLabels(t.Context(), p, goal, func(func(float64) (accountant.Event, error)) (float64, error) {
		return 0, &accountant.NoBracketError{Parameter: "noise", Epsilon: 3, Target: accountant.Target{Epsilon: 2, Delta: 1e-5}}
	})
	require.ErrorIs(t, err, ErrNoPlan)
}

// TestCalibrate: what a simulation was made with is found again, to what 5,000 queries tell.
func TestCalibrate(t *testing.T) {
	for _, want := range []Agreement{{0.87, 0.4, 0.7}, {0.55, 0.12, 0.3}, {0.7, 0.6, 0.95}} {
		s := Simulation{Teachers: 60, Classes: 6, Queries: 5000, Accuracy: want.Accuracy, Correlation: want.Correlation, Confusion: want.Confusion}
		examples := testkit.Must(s.Examples(rng.SeedKey(3)))
		got := testkit.Must(Calibrate(examples))
		require.InDelta(t, want.Accuracy, got.Accuracy, 0.021)
		require.InDelta(t, want.Correlation, got.Correlation, 0.031)
		require.InDelta(t, want.Confusion, got.Confusion, 0.031)
		require.ErrorIs(t, testkit.Err(Calibrate(examples[:leastCalibration-1])), errFewExamples)
	}
	got := testkit.Must(Calibrate(PluralityExamples(slices.Repeat([]aggregate.Histogram{histogram(t, 0, 9)}, 40))))
	require.Equal(t, Agreement{Accuracy: 0.99, Correlation: 0.01, Confusion: 1}, got, "teachers who are never wrong")
}

// TestClearly: noise that drowns the votes leaves a guess, little noise certainty, and a threshold beyond
// all votes no answer.
func TestClearly(t *testing.T) {
	for _, c := range []struct {
		sigma            float64
		clear, unanimous float64
	}{{1e6, 0.1, 0.1}, {0.5, 1, 1}, {166.47, 0.16, 0.2}} {
		s := aggregate.Setting{Mechanism: GNMax, Queries: 1}.With("sigma", c.sigma)
		got := testkit.Must(Clearly(s, 60, 10))
		require.InDelta(t, c.clear, got.Right, 0.04)
		require.InDelta(t, c.unanimous, got.Unanimous, 0.06)
		require.Equal(t, 1.0, got.Answered)
	}
	s := aggregate.Setting{Mechanism: Confident, Queries: 1}.With("threshold", 90).With("sigma1", 10).With("sigma2", 1)
	got := testkit.Must(Clearly(s, 60, 10))
	require.InDelta(t, 0.0013, got.Answered, 0.0003, "three deviations above the votes")
	require.Greater(t, got.Unanimous, 0.999)
}

// TestPlansAreClear: what a plan chooses, a person may choose by hand: its noise is never among that which
// is refused because even clear votes would not be answered right.
func TestPlansAreClear(t *testing.T) {
	for _, c := range []struct {
		teachers, classes int
		epsilon           float64
	}{{60, 2, 3}, {80, 3, 2}} {
		if c.classes == 3 && !*long {
			break
		}
		goal := Goal{Epsilon: c.epsilon, Delta: 1e-5, MinAccuracy: 0.9, Accountant: accountant.ByRDP}
		p := Public{Teachers: c.teachers, Classes: c.classes, Queries: 1000}
		a := testkit.Must(ForLabels(t.Context(), p, goal, goal.least(t.Context())))
		got := testkit.Must(Clearly(a.Setting, c.teachers, c.classes))
		require.Greater(t, got.Unanimous, 0.9, a.Setting)
		require.Greater(t, got.Answered, 0.2, a.Setting)
	}
}

// A plan for a few queries, made on many examples, is for a few queries, and expects of each what those
// many say.
func TestFewQueriesOnManyExamples(t *testing.T) {
	examples := testkit.Must(Simulation{Teachers: 60, Classes: 3, Queries: 400, Accuracy: 0.83}.Examples(rng.SeedKey(1)))
	goal := Goal{Epsilon: 2, Delta: 1e-5, Queries: 5}
	found := testkit.Must(Alternatives(t.Context(), examples, goal))
	for _, a := range found {
		require.LessOrEqual(t, a.Queries, 5)
		require.LessOrEqual(t, a.ExpectedCorrect, 5.0)
		require.LessOrEqual(t, a.Epsilon, 2.0)
		again := testkit.Must(Evaluate(t.Context(), examples, a.Setting, accountant.ByAuto, goal.Delta))
		require.Equal(t, again, a)
	}
	require.Equal(t, 5, found[0].Queries)
	goal.Queries = -1
	require.ErrorContains(t, testkit.Err(Alternatives(t.Context(), examples, goal)), "Queries")
}

// A steady plan asks what the budget pays for at the share of noise, be there more queries or fewer, and
// leaves no budget. Where that is not right often enough it is the other
func TestSteadyPlans(t *testing.T) {
	goal := Goal{Epsilon: 2, Delta: 1e-5, MinAccuracy: 0.9, Steady: true}
	target := accountant.Target{Epsilon: goal.Epsilon, Delta: goal.Delta}
	affordable := testkit.Must(MaxCount(t.Context(), 100, target))
	require.Zero(t, testkit.Must(MaxCount(t.Context(), 2, accountant.Target{Epsilon: 0.01, Delta: 1e-9})))
	for pool, asked := range map[int]int{60: int(affordable), 20: 20} {
		a := testkit.Must(ForLabels(t.Context(), Public{Teachers: 100, Classes: 10, Queries: pool}, goal, goal.least(t.Context())))
		require.Equal(t, GNMax, a.Mechanism)
		require.Equal(t, asked, a.Queries)
		require.LessOrEqual(t, a.Values["sigma"], 0.2*100)
		require.LessOrEqual(t, a.Epsilon, goal.Epsilon)
		require.Greater(t, a.Epsilon, 0.99*goal.Epsilon)
	}
	if !*long {
		return
	}
	goal.MinAccuracy = 0.995
	strict := testkit.Must(ForLabels(t.Context(), Public{Teachers: 40, Classes: 3, Queries: 30}, goal, goal.least(t.Context())))
	goal.Steady = false
	other := testkit.Must(ForLabels(t.Context(), Public{Teachers: 40, Classes: 3, Queries: 30}, goal, goal.least(t.Context())))
	require.Equal(t, other, strict)
}

// TestMaxQueries: as many queries fit as are returned and not one more, whatever number the search begins
// at; and what privacy loss distributions add in mode reserved.
func TestMaxQueries(t *testing.T) {
	carried := func(s aggregate.Setting, mode ledger.Mode) int {
		cfg := ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Mode: mode, Accountant: accountant.ByAuto}
		n := testkit.Must(MaxQueries(t.Context(), s, cfg))
		if n == 0 || s.Mechanism != GNMax {
			return n
		}
		book := testkit.Must(ledger.New(cfg))
		one := accountant.GNMax{Sigma: s.Values["sigma"], Discrete: true}
		require.NoError(t, book.Try(accountant.Repeated{Event: one, Count: int64(n)}))
		require.Error(t, book.Try(accountant.Repeated{Event: one, Count: int64(n) + 1}))
		return n
	}
	for _, begin := range []int{1, 150, 5000} {
		s := aggregate.Setting{Mechanism: GNMax, Queries: begin}.With("sigma", 40)
		filter, reserved := carried(s, ledger.Filter), carried(s, ledger.Reserved)
		require.Greater(t, float64(reserved), 1.15*float64(filter))
	}
	require.Zero(t, carried(aggregate.Setting{Mechanism: GNMax, Queries: 7}.With("sigma", 0.5), ledger.Filter), "not one")
	s := aggregate.Setting{Mechanism: Confident, Queries: 100}.With("threshold", 60).With("sigma1", 100).With("sigma2", 40).With("answers", 50)
	require.Greater(t, carried(s, ledger.Filter), carried(s.With("answers", 100), ledger.Filter), "answers keep their share")
	require.Error(t, testkit.Err(MaxQueries(t.Context(), aggregate.Setting{Mechanism: stable.MStab, Queries: 1}, ledger.Config{})))
}

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
				values := slices.Repeat([]float64{-float64(distance)}, queries)
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
	simulate := func(s Simulation) []Example { return testkit.Must(s.Examples(rng.SeedKey(1))) }
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
