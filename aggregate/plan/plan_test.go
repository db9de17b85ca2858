package plan

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
	"github.com/pate-go/pate/internal/aggregate/stable"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

func histogram(t require.TestingT, counts ...int) aggregate.Histogram {
	return testkit.Must(aggregate.NewHistogram(counts))
}

func simulated(t require.TestingT, queries int) []Example {
	return testkit.Must(Simulation{Teachers: 100, Classes: 5, Queries: queries, Accuracy: 0.8}.Examples(rng.SeedKey(4)))
}

// exact is what Evaluate should say, from the laws of package aggregate.
func exact(t require.TestingT, s aggregate.Setting, e Example) (answered, correct float64) {
	law := testkit.Must(testkit.Must(made(t, s)).Law(e.Votes))
	return -math.Expm1(law.LogDeclined), math.Exp(law.LogLabels[e.Label])
}

// made returns the mechanism of a setting.
func made(t require.TestingT, s aggregate.Setting) (aggregate.Mechanism, error) {
	d := testkit.Must(mechanisms.Find(s.Mechanism))
	return d.New(d.Complete(s))
}

// TestExpectationsAreThoseOfTheLaws compares with the laws of every mechanism that can be planned, on
// random votes and noise.
func TestExpectationsAreThoseOfTheLaws(t *testing.T) {
	for _, mechanism := range mechanisms.Names(Plannable) {
		t.Run(mechanism, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				counts := rapid.SliceOfN(rapid.IntRange(0, 60), 2, 12).Draw(t, "counts")
				noise := math.Exp(rapid.Float64Range(-2, 5).Draw(t, "log noise"))
				e := Example{Votes: histogram(t, counts...), Label: rapid.IntRange(0, len(counts)-1).Draw(t, "label")}
				d := testkit.Must(mechanisms.Find(mechanism))
				s := aggregate.Setting{Mechanism: mechanism, Queries: 3}
				for _, p := range d.Parameters {
					switch p.Kind {
					case "threshold":
						s = s.With(p.Name, rapid.Float64Range(-10, 80).Draw(t, p.Name))
					case "noise":
						s = s.With(p.Name, noise)
						noise = math.Exp(rapid.Float64Range(-1, 5).Draw(t, "log of more noise"))
					}
				}
				a := testkit.Must(Evaluate(t.Context(), []Example{e}, s, accountant.ByRDP, 1e-5))
				answered, correct := exact(t, s, e)
				require.InDelta(t, 3*answered, a.ExpectedAnswers, 1e-11)
				require.InDelta(t, 3*correct, a.ExpectedCorrect, 1e-11)
			})
		})
	}
}

func TestUntilCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		limit := rapid.IntRange(1, 70).Draw(t, "limit")
		p := rapid.Float64Range(0, 1).Draw(t, "p")
		law := make([]float64, n+1)
		law[0] = 1
		for range n {
			for k := n; k > 0; k-- {
				law[k] = law[k]*(1-p) + law[k-1]*p
			}
			law[0] *= 1 - p
		}
		want := 0.0
		for k, q := range law {
			want += q * float64(min(k, limit))
		}
		require.InDelta(t, want, untilCap(n, p, limit), 1e-10)
	})
}

// charged is what a ledger of its own claims once the mechanism that would run has been charged to it.
func charged(t require.TestingT, a Alternative, by accountant.Method, epsilon, delta float64) ledger.Claim {
	m := testkit.Must(made(t, a.Setting))
	book := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.ReplaceOne, Epsilon: epsilon, Delta: delta, Accountant: by}))
	testkit.Must(book.Reserve(m.Event()))
	return testkit.Must(book.Claim())
}

func TestNoAlternativeIsAboveTheBudget(t *testing.T) {
	examples := simulated(t, 15)
	for _, eps := range []float64{0.05, 1, 20, 300} {
		for _, delta := range []float64{1e-9, 1e-5} {
			for _, accuracy := range []float64{0, 0.6} {
				if accuracy > 0 && eps < 1 { // may well be impossible
					continue
				}
				if !*long && delta < 1e-5 && (eps == 1 || eps == 20) {
					continue
				}
				by := accountant.ByAuto
				if eps < 1 || eps > 20 || accuracy > 0 { // privacy loss distributions take seconds at both ends
					by = accountant.ByRDP
				}
				out := testkit.Must(Alternatives(t.Context(), examples, Goal{Epsilon: eps, Delta: delta, MinAccuracy: accuracy, Accountant: by}))
				for i, a := range out {
					require.LessOrEqual(t, a.Epsilon, eps, "%+v", a)
					claimed := charged(t, a, by, eps, delta)
					require.Equal(t, a.Epsilon, claimed.Epsilon, "to the digit")
					require.Equal(t, a.By, claimed.By)
					require.GreaterOrEqual(t, a.Accuracy(), accuracy)
					require.LessOrEqual(t, a.ExpectedCorrect, a.ExpectedAnswers)
					require.LessOrEqual(t, a.Queries, len(examples))
					if i > 0 {
						require.LessOrEqual(t, a.ExpectedCorrect, out[i-1].ExpectedCorrect)
					}
					if eps <= 20 { // beyond, the least noise a mechanism takes costs less
						require.Greater(t, a.Epsilon, eps*0.999, "%+v wastes budget", a)
					}
				}
			}
		}
	}
}

// TestSearchIsGood compares the grid's best with a finer search.
func TestSearchIsGood(t *testing.T) {
	examples := simulated(t, 50)
	c := testkit.Must(newCases(examples))
	for _, goal := range []Goal{{Epsilon: 1, Delta: 1e-5}, {Epsilon: 1, Delta: 1e-5, MinAccuracy: 0.7}, {Epsilon: 4, Delta: 1e-5, MinAccuracy: 0.75}} {
		goal.Accountant = accountant.ByRDP // what is compared is the search
		out := testkit.Must(Alternatives(t.Context(), examples, goal))
		best := make(map[string]float64)
		for _, a := range out {
			best[a.Mechanism] = max(best[a.Mechanism], a.ExpectedCorrect)
		}
		rival := 0.0
		for queries := 1; queries <= len(examples); queries++ {
			s := testkit.Must(calibrated(t.Context(), GNMax, queries, goal))
			a := testkit.Must(c.expect(t.Context(), s))
			if a.Accuracy() >= goal.MinAccuracy {
				rival = max(rival, a.ExpectedCorrect)
			}
		}
		require.Positive(t, rival)
		require.Greater(t, best[GNMax], 0.99*rival, "%+v", goal)

		single := testkit.Must(calibrated(t.Context(), GNMax, 1, goal))
		rnd, rivalConfident := rand.New(rand.NewPCG(5, 0)), 0.0
		for range 150 {
			queries := 1 + rnd.IntN(len(examples))
			answers, share := 1+rnd.IntN(queries), math.Pow(rnd.Float64(), 2)*0.9+0.005
			rho := 1 / (single.Values["sigma"] * single.Values["sigma"])
			s := confidentSetting{threshold: math.Floor(rnd.Float64() * 110), sigma1: math.Sqrt(float64(queries) / (2 * share * rho)),
				sigma2: math.Sqrt(float64(answers) / ((1 - share) * rho)), queries: queries, answers: answers}
			a := testkit.Must(c.expect(t.Context(), s.setting()))
			require.NoError(t, a.claim(t.Context(), goal.Accountant, goal.Delta))
			if a.Accuracy() >= goal.MinAccuracy && a.Epsilon <= goal.Epsilon*(1+1e-6) {
				rivalConfident = max(rivalConfident, a.ExpectedCorrect)
			}
		}
		require.Positive(t, rivalConfident)
		require.Greater(t, best[Confident], 0.98*rivalConfident, "%+v", goal)
	}
}

// TestThinned plans on more examples than a search looks at.
func TestThinned(t *testing.T) {
	examples := simulated(t, 2*maxSearched+1)
	c := testkit.Must(newCases(examples))
	require.Len(t, c.thinned(maxSearched).counts, 1334)
	goal := Goal{Epsilon: 1, Delta: 1e-5, MinAccuracy: 0.8, Accountant: accountant.ByRDP}
	for _, mechanism := range []string{exponential, GNMax} {
		s, found := testkit.Must2(c.thinned(maxSearched).bestQueries(t.Context(), mechanism, goal, len(examples)))
		require.True(t, found)
		s.Queries = s.Queries * 11 / 10 // a search that erred
		s = testkit.Must(calibrated(t.Context(), mechanism, s.Queries, goal))
		a := testkit.Must(c.accurate(t.Context(), s, goal))
		require.GreaterOrEqual(t, a.Accuracy(), 0.8)
		require.Less(t, a.Accuracy(), 0.83)
		require.LessOrEqual(t, a.Epsilon, goal.Epsilon)
	}
}

func TestSimulation(t *testing.T) {
	s := Simulation{Teachers: 200, Classes: 10, Queries: 4000, Accuracy: 0.83}
	examples := testkit.Must(s.Examples(rng.SeedKey(1)))
	require.Equal(t, examples[7].Votes.Reveal(), testkit.Must(s.Examples(rng.SeedKey(1)))[7].Votes.Reveal())
	summary := testkit.Must(Summarize(examples))
	// The standard deviation of a query's share is sqrt(a(1-a)c) = 0.24.
	require.InDelta(t, 0.83, summary.TeacherAccuracy, 5*0.24/math.Sqrt(4000))
	require.Equal(t, 200, summary.Teachers)
	variance, wrong, confused := 0.0, 0.0, 0.0
	for _, e := range examples {
		counts := e.Votes.Reveal()
		x := float64(counts[e.Label])/200 - summary.TeacherAccuracy
		variance += x * x / 4000
		most := 0
		for class, n := range counts {
			if class != e.Label {
				wrong += float64(n)
				most = max(most, n)
			}
		}
		confused += float64(most)
	}
	second := summary.TeacherAccuracy * (1 - summary.TeacherAccuracy)
	require.InDelta(t, DefaultCorrelation, (variance/second-1.0/200)/(1-1.0/200), 0.03)
	require.InDelta(t, DefaultConfusion+0.3/9, confused/wrong, 0.03, "the confused class also gets its part of the rest")
	// As on MNIST, plurality is right far less often than independent teachers' would be: the control below.
	require.InDelta(t, 0.91, summary.PluralityAccuracy, 0.025)
	s.Correlation = 1e-6
	examples = testkit.Must(s.Examples(rng.SeedKey(1)))
	summary = testkit.Must(Summarize(examples))
	require.Equal(t, 1.0, summary.PluralityAccuracy)
}

func TestPluralityExamples(t *testing.T) {
	examples := PluralityExamples([]aggregate.Histogram{histogram(t, 1, 5, 5), histogram(t, 0, 0, 0), histogram(t, 3, 2, 9)})
	require.Equal(t, []int{1, 0, 2}, []int{examples[0].Label, examples[1].Label, examples[2].Label})
	summary := testkit.Must(Summarize(examples))
	require.Equal(t, 1.0, summary.PluralityAccuracy)
	require.Equal(t, 14, summary.Teachers)
}

func TestRefusals(t *testing.T) {
	good := simulated(t, 5)
	for name, goal := range map[string]Goal{
		"epsilon 0": {Delta: 1e-5}, "epsilon NaN": {Epsilon: math.NaN(), Delta: 1e-5}, "epsilon inf": {Epsilon: math.Inf(1), Delta: 1e-5},
		"delta 0": {Epsilon: 1}, "delta 1": {Epsilon: 1, Delta: 1}, "accuracy 1": {Epsilon: 1, Delta: 1e-5, MinAccuracy: 1},
	} {
		require.Error(t, testkit.Err(Alternatives(t.Context(), good, goal)), name)
	}
	require.ErrorIs(t, testkit.Err(Alternatives(t.Context(), good, Goal{Epsilon: 0.01, Delta: 1e-5, MinAccuracy: 0.95, Accountant: accountant.ByRDP})), ErrNoPlan)
	for name, examples := range map[string][]Example{
		"none": nil, "zero histogram": {{}}, "label": {{Votes: histogram(t, 1, 2), Label: 2}}, "negative label": {{Votes: histogram(t, 1, 2), Label: -1}},
		"classes": {{Votes: histogram(t, 1, 2)}, {Votes: histogram(t, 1, 2, 3)}}, "votes": {{Votes: histogram(t, 1<<30, 2)}},
	} {
		require.Error(t, testkit.Err(Alternatives(t.Context(), examples, Goal{Epsilon: 1, Delta: 1e-5})), name)
		require.Error(t, testkit.Err(Summarize(examples)), name)
	}
	type values = map[string]float64
	for name, s := range map[string]aggregate.Setting{
		"mechanism": {Mechanism: "magic", Queries: 1}, "sigma": {Mechanism: GNMax, Queries: 1}, "noise": {Mechanism: GNMax, Values: values{"sigma": 1e9}, Queries: 1},
		"queries": {Mechanism: "lnmax", Values: values{"scale": 1}}, "NaN": {Mechanism: GNMax, Values: values{"sigma": math.NaN()}, Queries: 1},
		"answers":   {Mechanism: Confident, Values: values{"threshold": 0, "sigma1": 1, "sigma2": 1, "answers": 2}, Queries: 1},
		"stability": {Mechanism: stable.MStab, Values: values{"sigma": 1, "threshold": 3}, Queries: 1},
	} {
		require.Error(t, testkit.Err(Evaluate(t.Context(), good, s, accountant.ByAuto, 1e-5)), name)
	}
	for name, s := range map[string]Simulation{
		"teachers": {Teachers: 1, Classes: 2, Queries: 1, Accuracy: 0.5}, "classes": {Teachers: 2, Classes: 1, Queries: 1, Accuracy: 0.5},
		"queries": {Teachers: 2, Classes: 2, Accuracy: 0.5}, "accuracy": {Teachers: 2, Classes: 2, Queries: 1, Accuracy: 1},
		"correlation": {Teachers: 2, Classes: 2, Queries: 1, Accuracy: 0.5, Correlation: 1}, "confusion": {Teachers: 2, Classes: 2, Queries: 1, Accuracy: 0.5, Confusion: 1.1},
		"NaN": {Teachers: 2, Classes: 2, Queries: 1, Accuracy: math.NaN()},
	} {
		require.Error(t, testkit.Err(s.Examples(rng.SeedKey(1))), name)
	}
	require.Error(t, testkit.Err(Simulation{Teachers: 2, Classes: 2, Queries: 1, Accuracy: 0.5}.Examples(rng.Key{})))
}

// TestFewVotes has fewer thresholds than the grid.
func TestFewVotes(t *testing.T) {
	for _, counts := range [][]int{{0, 0}, {1, 0}, {3, 2}} {
		out := testkit.Must(Alternatives(t.Context(), PluralityExamples([]aggregate.Histogram{histogram(t, counts...)}), Goal{Epsilon: 1, Delta: 1e-5}))
		for i, a := range out {
			for _, b := range out[:i] {
				require.False(t, a.Equal(b.Setting), "%v twice", a.Setting)
			}
		}
	}
}

func TestCancel(t *testing.T) {
	ctx := testkit.Ended()
	require.ErrorIs(t, testkit.Err(Alternatives(ctx, simulated(t, 5), Goal{Epsilon: 1, Delta: 1e-5})), context.Canceled)
}

// BenchmarkAlternatives is the default plan: 1,000 queries, 250 teachers, 10 classes.
func BenchmarkAlternatives(b *testing.B) {
	examples := testkit.Must(Simulation{Teachers: 250, Classes: 10, Queries: 1000, Accuracy: 0.83}.Examples(rng.SeedKey(1)))
	for b.Loop() {
		_, err := Alternatives(b.Context(), examples, Goal{Epsilon: 2, Delta: 1e-5})
		require.NoError(b, err)
	}
}
