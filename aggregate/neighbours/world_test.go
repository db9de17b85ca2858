package neighbours

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// line is a world on a line: a row at each place, of a class and a unit.
type line struct {
	at    []float32
	class []int
	unit  []int
}

func (l line) rows(classes int) Rows {
	r := Rows{X: dense.New(len(l.at), 1), Y: l.class, Classes: classes}
	copy(r.X.Data, l.at)
	for _, u := range l.unit {
		r.Units = append(r.Units, fmt.Sprint(u))
	}
	return r
}

// without returns the world without a unit.
func (l line) without(unit int) (out line) {
	for i, u := range l.unit {
		if u != unit {
			out.at, out.class, out.unit = append(out.at, l.at[i]), append(out.class, l.class[i]), append(out.unit, u)
		}
	}
	return out
}

// laws returns, for every sample of the units, its probability and the law of the answer to one question
// at 0, both exact: of the code's own order of units, its neighbours among the sample and discrete noise.
func (l line) laws(t require.TestingT, k, classes int, q, sigma float64) (chance []float64, law [][]float64) {
	g := l.rows(classes).group()
	question := dense.New(1, 1)
	b := newBlock(1)
	b.measure(newPanel(question, 0), g, 0, g.units())
	noise := testkit.Must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: sigma, Queries: 1}))
	seen := map[string][]float64{}
	for sample := range 1 << g.units() {
		p := 1.0
		var kept []near
		for u := range g.units() {
			if sample>>u&1 == 1 {
				p *= q
				kept = append(kept, near{b.distance[u], b.label[u], u})
			} else {
				p *= 1 - q
			}
		}
		votes := make([]int, classes)
		for _, n := range firstOf(k, kept) {
			votes[n.label]++
		}
		name := fmt.Sprint(votes)
		if seen[name] == nil {
			answer := testkit.Must(noise.Law(testkit.Must(aggregate.NewHistogram(votes))))
			for c := range classes {
				seen[name] = append(seen[name], math.Exp(answer.LogLabels[c]))
			}
		}
		chance, law = append(chance, p), append(law, seen[name])
	}
	return chance, law
}

// fresh returns the law of the answer to one question; reused that of so many answers from one sample.
func fresh(chance []float64, law [][]float64) []float64 { return reused(chance, law, 1) }

func reused(chance []float64, law [][]float64, questions int) []float64 {
	classes := len(law[0])
	out := make([]float64, int(math.Pow(float64(classes), float64(questions))))
	for s, p := range chance {
		for o := range out {
			product := p
			for rest, i := o, 0; i < questions; rest, i = rest/classes, i+1 {
				product *= law[s][rest%classes]
			}
			out[o] += product
		}
	}
	return out
}

// claim is what an account claims for an event.
type claim struct{ renyi, delta []float64 }

var (
	orders   = []float64{1.25, 2, 3, 8, 32}
	epsilons = []float64{0.02, 0.3, 1}
)

func claimOf(t require.TestingT, e accountant.Event) (c claim) {
	account := testkit.Must(accountant.NewAuto(accountant.AutoConfig{Relation: accountant.AddRemove}))
	require.NoError(t, account.Compose(e, 1))
	for _, a := range orders {
		d, _ := testkit.Must2(accountant.Divergence(accountant.AddRemove, a, e))
		c.renyi = append(c.renyi, d)
	}
	for _, eps := range epsilons {
		c.delta = append(c.delta, testkit.Must(account.Delta(context.Background(), eps)).Upper)
	}
	return c
}

// excess returns how the divergences of two laws, in either order, stand to a claim: the largest ratio of
// Rényi divergences, and the largest difference of hockey-stick divergences from delta.
func (c claim) excess(p, q []float64) (renyi, delta float64) {
	delta = -1
	for k, a := range orders {
		renyi = max(renyi, testkit.Renyi(p, q, a)/c.renyi[k], testkit.Renyi(q, p, a)/c.renyi[k])
	}
	for k, eps := range epsilons {
		delta = max(delta, testkit.EitherHockeyStick(p, q, eps)-c.delta[k])
	}
	return renyi, delta
}

func sampled(q float64, inner accountant.Event) accountant.Event {
	return accountant.PoissonSampled{Probability: q, Event: inner}
}

// Worlds of up to five units on a line, by chance, and every unit of each that may go.
// Negative control: a vote enters and none is pushed out.
func TestKNearestWorlds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	worst, worstDelta, sensitivityOne := 0.0, -1.0, 0.0
	for _, q := range []float64{0.05, 0.3, 0.8, 1} {
		for _, sigma := range []float64{0.5, 1, 2} {
			event := claimOf(t, sampled(q, accountant.GNMax{Sigma: sigma, Discrete: true}))
			one := claimOf(t, sampled(q, accountant.DiscreteGaussian{Sigma: sigma, Sensitivity: 1}))
			for range 8 {
				l := line{}
				classes, units, k := 2+rnd.IntN(2), 2+rnd.IntN(4), 1+rnd.IntN(3)
				for u := range units {
					for range 1 + 2*(u%2) { // every other one has three rows
						l.at = append(l.at, float32(rnd.IntN(5)-2)) // with many ties
						l.class, l.unit = append(l.class, rnd.IntN(classes)), append(l.unit, u)
					}
				}
				with := fresh(l.laws(t, k, classes, q, sigma))
				for u := range units {
					p := fresh(l.without(u).laws(t, k, classes, q, sigma))
					renyi, delta := event.excess(with, p)
					worst, worstDelta = math.Max(worst, renyi), math.Max(worstDelta, delta)
					renyi, _ = one.excess(with, p)
					sensitivityOne = math.Max(sensitivityOne, renyi)
				}
			}
		}
	}
	t.Logf("of the claim: %.3f, delta above it %.2g; with sensitivity 1 %.3f", worst, worstDelta, sensitivityOne)
	require.LessOrEqual(t, worst, 1+1e-9)
	require.LessOrEqual(t, worstDelta, 1e-12)
	require.Greater(t, worst, 0.7, "the worlds are too tame to tell anything")
	require.Greater(t, sensitivityOne, 1.2, "control: a vote that is pushed out counts")
}

// A unit of three rows has one vote. If each row had one, its going would move three.
func TestRowsOfAUnitVoteOnce(t *testing.T) {
	const k, q, sigma = 3, 0.8, 2.
	l := line{at: []float32{0, 0, 0, 1, 1, 1}, class: []int{1, 1, 1, 0, 0, 0}, unit: []int{0, 0, 0, 1, 2, 3}}
	less := l.without(0)
	event := claimOf(t, sampled(q, accountant.GNMax{Sigma: sigma, Discrete: true}))
	p := fresh(less.laws(t, k, 2, q, sigma))
	renyi, _ := event.excess(fresh(l.laws(t, k, 2, q, sigma)), p)
	require.LessOrEqual(t, renyi, 1.0)
	l.unit = []int{0, 1, 2, 3, 4, 5}
	renyi, delta := event.excess(fresh(l.laws(t, k, 2, q, sigma)), p)
	t.Logf("rows as units: %.2f times the claim", renyi)
	require.Greater(t, renyi, 2.0)
	require.Positive(t, delta)
}

// One sample for ten questions costs more than ten samples, which is what is charged.
func TestOneSampleForAllQuestionsExceedsTheClaim(t *testing.T) {
	const q, sigma, questions = 0.3, 2., 10
	l := line{at: []float32{0, 1, 2, 3, 4, 5, 6}, class: []int{1, 0, 0, 0, 0, 0, 0}, unit: []int{0, 1, 2, 3, 4, 5, 6}}
	event := claimOf(t, accountant.Repeated{Event: sampled(q, accountant.GNMax{Sigma: sigma, Discrete: true}), Count: questions})
	chance, law := l.laws(t, 1, 2, q, sigma)
	chanceLess, lawLess := l.without(0).laws(t, 1, 2, q, sigma)
	one := []float64{1} // fresh samples: the joint law is the product
	product, productLess := reused(one, [][]float64{fresh(chance, law)}, questions), reused(one, [][]float64{fresh(chanceLess, lawLess)}, questions)
	renyi, delta := event.excess(product, productLess)
	require.LessOrEqual(t, renyi, 1.0)
	require.LessOrEqual(t, delta, 0.0)
	joint, jointLess := reused(chance, law, questions), reused(chanceLess, lawLess, questions)
	renyi, delta = event.excess(joint, jointLess)
	t.Logf("one sample: %.2f times the claim, delta %.2g above it", renyi, delta)
	require.Greater(t, renyi, 1.1)
	require.Positive(t, delta)
	whole := claimOf(t, sampled(q, accountant.Repeated{Event: accountant.GNMax{Sigma: sigma}, Count: questions}))
	renyi, _ = whole.excess(joint, jointLess)
	require.LessOrEqual(t, renyi, 1.0, "what it would cost")
}

// A unit that goes lowers Votes counts by one, each at another question, and no other count
// at all; the counts are the same to the last bit in rows large enough for every tile.
func TestAUnitMovesItsVotesAlone(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct{ rows, units, cols, questions, votes int }{
		{40, 40, 1, 7, 2}, {40, 9, 2, 5, 5}, {900, 700, 33, 130, 3}, {700, 3, 17, 40, 4},
	} {
		const classes = 3
		private, questions := clouds(c.rows, c.units, c.questions, c.cols, classes)
		for _, m := range []dense.Matrix{private.X, questions} {
			for i, v := range m.Data {
				if c.cols < 3 {
					m.Data[i] = float32(math.Round(float64(v))) // ties
				}
			}
		}
		with := testkit.Must(Cast(t.Context(), private, questions, c.votes))
		kn := testkit.Must(NewKNearest(KNearestConfig{Neighbours: 3, SamplingProbability: 1, Sigma: 1, Questions: c.questions}))
		near := neighbourVotes(t, kn, private, questions)
		for range 4 {
			gone := private.Units[rnd.IntN(c.rows)]
			less := Rows{X: dense.New(0, c.cols), Classes: classes}
			for i, u := range private.Units {
				if u == gone {
					continue
				}
				less.X.Data = append(less.X.Data, dense.Row(private.X, i)...)
				less.X.Rows++
				less.Y, less.Units = append(less.Y, private.Y[i]), append(less.Units, u)
			}
			without := testkit.Must(Cast(t.Context(), less, questions, c.votes))
			moved := 0
			for q := range c.questions {
				at := 0
				for class := range classes {
					d := with[q*classes+class] - without[q*classes+class]
					require.Contains(t, []int64{0, 1}, d)
					at += int(d)
				}
				require.LessOrEqual(t, at, 1)
				moved += at
			}
			require.Equal(t, c.votes, moved)
			for q, votes := range neighbourVotes(t, kn, less, questions) {
				length := 0
				for class, v := range votes {
					length += (v - near[q][class]) * (v - near[q][class])
				}
				require.LessOrEqual(t, length, 2)
			}
		}
	}
}

func neighbourVotes(t *testing.T, m *KNearest, private Rows, questions dense.Matrix) [][]int {
	out := make([][]int, questions.Rows)
	require.NoError(t, m.each(t.Context(), rng.SeedKey(1), private, questions, func(q int, votes []int) {
		out[q] = slices.Clone(votes)
	}))
	return out
}

// The noisy counts of a unit with two votes, by summation over the two counts that move:
// within the claim, and beyond that of one vote.
func TestNearestQuestionsWorld(t *testing.T) {
	const sigma, reach = 1.3, 14
	noise := testkit.Must(rng.NewDiscreteGaussian(sigma))
	var p, q []float64
	for a := int64(-reach); a <= reach; a++ {
		for b := int64(-reach); b <= reach; b++ {
			q = append(q, math.Exp(noise.LogProb(a)+noise.LogProb(b)))
			p = append(p, math.Exp(noise.LogProb(a-1)+noise.LogProb(b-1)))
		}
	}
	m := testkit.Must(NewNearestQuestions(NearestQuestionsConfig{Votes: 2, Sigma: sigma, Questions: 9}))
	renyi, delta := claimOf(t, m.Event()).excess(p, q)
	require.LessOrEqual(t, renyi, 1+1e-9)
	require.Greater(t, renyi, 0.999, "the counts themselves are released")
	require.LessOrEqual(t, delta, 1e-9)
	renyi, delta = claimOf(t, accountant.DiscreteGaussian{Sigma: sigma, Sensitivity: 1}).excess(p, q)
	require.Greater(t, renyi, 1.9)
	require.Greater(t, delta, 0.01)
}
