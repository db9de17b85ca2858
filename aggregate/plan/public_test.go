package plan

import (
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

// TestForLabelsAsksTheBudget: a ledger that takes less noise than Rényi divergences gives more labels, and
// one that takes none no plan.
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
