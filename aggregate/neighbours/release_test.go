package neighbours

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/testledger"
	"github.com/pate-go/pate/rng"
)

// noNoise is so little that integer noise is 0 but with probability 2 e^-128.
const noNoise = 0x1p-4

func reserve(t testing.TB, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.AddRemove, e)
}

// clouds are rows and questions in some dimensions.
func clouds(rows, units, questions, cols, classes int) (Rows, dense.Matrix) {
	rnd := rand.New(rand.NewPCG(uint64(rows), uint64(cols)))
	private := Rows{X: dense.New(rows, cols), Classes: classes}
	asked := dense.New(questions, cols)
	for _, m := range []dense.Matrix{private.X, asked} {
		for i := range m.Data {
			m.Data[i] = float32(rnd.NormFloat64())
		}
	}
	for i := range rows {
		private.Y = append(private.Y, rnd.IntN(classes))
		private.Units = append(private.Units, fmt.Sprint(i%units))
	}
	return private, asked
}

// bySort returns the squared distance of every unit to a question in double precision, the
// class of its nearest row, and the units from near to far.
func bySort(private Rows, question []float32) (class map[string]int, distance map[string]float64, order []string) {
	class, distance = map[string]int{}, map[string]float64{}
	for i, u := range private.Units {
		d := 0.0
		for j, x := range dense.Row(private.X, i) {
			d += (float64(x) - float64(question[j])) * (float64(x) - float64(question[j]))
		}
		if before, there := distance[u]; !there || d < before {
			distance[u], class[u] = d, private.Y[i]
		}
		if !slices.Contains(order, u) {
			order = append(order, u)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
	return class, distance, order
}

// Without noise and with every unit in the sample, the votes are those of a sort in double precision.
func TestExactNeighbours(t *testing.T) {
	const classes, k = 4, 7
	private, questions := clouds(700, 230, 70, 19, classes)
	m := testkit.Must(NewKNearest(KNearestConfig{Neighbours: k, SamplingProbability: 1, Sigma: noNoise, Questions: questions.Rows}))
	votes := neighbourVotes(t, m, private, questions)
	labels := testkit.Must(m.Release(t.Context(), reserve(t, m.Event()), rng.SeedKey(1), private, questions))
	for q, got := range votes {
		class, _, order := bySort(private, dense.Row(questions, q))
		want := make([]int, classes)
		for _, u := range order[:k] {
			want[class[u]]++
		}
		require.Equal(t, want, got, q)
		require.Equal(t, slices.Index(want, slices.Max(want)), labels[q])
	}
	turned := testkit.Must(NewNearestQuestions(NearestQuestionsConfig{Votes: k, Sigma: noNoise, Questions: questions.Rows}))
	counts := testkit.Must(turned.Release(t.Context(), reserve(t, turned.Event()), rng.SeedKey(1), private, questions))
	want := make([]int64, questions.Rows*classes)
	type far struct {
		q, class int
		d        float64
	}
	byUnit := map[string][]far{}
	for q := range questions.Rows {
		class, distance, _ := bySort(private, dense.Row(questions, q))
		for u, d := range distance {
			byUnit[u] = append(byUnit[u], far{q, class[u], d})
		}
	}
	for _, unit := range byUnit {
		slices.SortFunc(unit, func(a, b far) int { return cmp.Compare(a.d, b.d) })
		for _, f := range unit[:k] {
			want[f.q*classes+f.class]++
		}
	}
	require.Equal(t, want, counts.Votes)
	require.Len(t, counts.Labels(), questions.Rows)
}

// A unit is in the sample of a question with the probability that is charged, and in those of
// different questions independently: without noise a single unit of class 1 is the answer
// whenever it was drawn. False-alarm rate 1e-6 each.
func TestSamplesAreWhatIsCharged(t *testing.T) {
	const q, n = 0.3, 40_000
	private := Rows{X: dense.New(1, 1), Y: []int{1}, Units: []string{"a"}, Classes: 2}
	m := testkit.Must(NewKNearest(KNearestConfig{Neighbours: 1, SamplingProbability: q, Sigma: noNoise, Questions: n}))
	require.Equal(t, accountant.Repeated{Event: sampled(q, accountant.GNMax{Sigma: noNoise, Discrete: true}), Count: n}, m.Event())
	labels := testkit.Must(m.Release(t.Context(), reserve(t, m.Event()), rng.SeedKey(3), private, dense.New(n, 1)))
	drawn, twice, far := 0., 0., 0.
	for i, y := range labels {
		drawn += float64(y)
		if i > 0 {
			twice += float64(y * labels[i-1])
		}
		if i >= questionsAtOnce {
			far += float64(y * labels[i-questionsAtOnce])
		}
	}
	require.InDelta(t, n*q, drawn, 4.9*math.Sqrt(n*q*(1-q)))
	for _, pairs := range []float64{twice, far} { // the variance of neighbouring products is below three times that of one
		require.InDelta(t, n*q*q, pairs, 4.9*math.Sqrt(3*n*q*q*(1-q*q)))
	}
}

// Noise of the counts has the law that is charged. False-alarm rate 1e-6.
func TestNoiseOfCounts(t *testing.T) {
	const n, sigma = 20_000, 3.
	private := Rows{X: dense.New(0, 1), Classes: 2}
	m := testkit.Must(NewNearestQuestions(NearestQuestionsConfig{Votes: 1, Sigma: sigma, Questions: n}))
	counts := testkit.Must(m.Release(t.Context(), reserve(t, m.Event()), rng.SeedKey(3), private, dense.New(n, 1)))
	square, pairs := 0., 0.
	for q := range n {
		c := counts.At(q)
		square += float64(c[0]*c[0] + c[1]*c[1])
		pairs += float64(c[0] * c[1])
	}
	require.InEpsilon(t, sigma*sigma, square/(2*n), 4.9*math.Sqrt(1./n))
	require.InDelta(t, 0, pairs/n, 4.9*sigma*sigma/math.Sqrt(n))
}

// Nothing runs that is not charged, for the relation that it holds for, with noise as secret
// as the ledger says. The same run repeats itself; another entry, key or parameter does not.
func TestReleaseNeedsItsReservation(t *testing.T) {
	private, questions := clouds(60, 60, 30, 3, 3)
	m := testkit.Must(NewNearestQuestions(NearestQuestionsConfig{Votes: 2, Sigma: 4, Questions: 30}))
	other := testkit.Must(NewNearestQuestions(NearestQuestionsConfig{Votes: 3, Sigma: 4, Questions: 30}))
	kn := testkit.Must(NewKNearest(KNearestConfig{Neighbours: 3, SamplingProbability: 0.5, Sigma: 4, Questions: 30}))
	ctx, key := t.Context(), rng.SeedKey(1)
	require.ErrorIs(t, testkit.Err(m.Release(ctx, reserve(t, other.Event()), key, private, questions)), ledger.ErrNotReserved)
	require.ErrorIs(t, testkit.Err(m.Release(ctx, testledger.Reserve(t, accountant.ReplaceOne, m.Event()), key, private, questions)), ledger.ErrUnfit)
	secret := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 0.1, Noise: ledger.SecretNoise}))
	reservation := testkit.Must(secret.Reserve(kn.Event()))
	require.ErrorIs(t, testkit.Err(kn.Release(ctx, reservation, key, private, questions)), ledger.ErrUnfit)
	require.ErrorContains(t, testkit.Err(kn.Release(ctx, reserve(t, kn.Event()), rng.Key{}, private, questions)), "zero Key")
	require.ErrorContains(t, testkit.Err(kn.Release(ctx, reserve(t, kn.Event()), key, private, dense.Rows(questions, 0, 29))), "29 questions")

	release := func(key rng.Key, m *NearestQuestions) []int64 {
		reservation := reserve(t, m.Event())
		counts := testkit.Must(m.Release(ctx, reservation, key, private, questions))
		require.ErrorIs(t, testkit.Err(m.Release(ctx, reservation, key, private, questions)), ledger.ErrNotReserved, "once")
		return counts.Votes
	}
	require.Equal(t, release(key, m), release(key, m))
	require.NotEqual(t, release(key, m), release(rng.SeedKey(2), m))
	without := func(m *NearestQuestions) []int64 { // the noise alone
		votes := testkit.Must(m.votes(ctx, private, questions))
		noise := release(key, m)
		for i, v := range votes {
			noise[i] -= v
		}
		return noise
	}
	require.NotEqual(t, without(m), without(other), "two votes and three under one key would tell their difference")
	book := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 0.1}))
	var runs [][]int64
	for _, reservation := range testkit.Must(book.ReserveBatch([]accountant.Event{m.Event(), m.Event()})) {
		runs = append(runs, testkit.Must(m.Release(ctx, reservation, key, private, questions)).Votes)
	}
	require.NotEqual(t, runs[0], runs[1], "two charges do not share noise")
}

func TestParametersOutOfRange(t *testing.T) {
	for _, c := range []KNearestConfig{
		{0, 0.5, 1, 1}, {1, 0, 1, 1}, {1, 1.1, 1, 1}, {1, math.NaN(), 1, 1}, {1, 0.5, 0, 1}, {1, 0.5, 1, 0},
	} {
		require.Error(t, testkit.Err(NewKNearest(c)), c)
	}
	for _, c := range []NearestQuestionsConfig{{0, 1, 1}, {2, 1, 1}, {1, 0, 1}, {1, 1, 0}} {
		require.Error(t, testkit.Err(NewNearestQuestions(c)), c)
	}
	good, questions := clouds(4, 4, 2, 2, 2)
	for name, spoil := range map[string]func(*Rows){
		"classes": func(r *Rows) { r.Classes = 1 }, "label": func(r *Rows) { r.Y[0] = 2 },
		"units": func(r *Rows) { r.Units = r.Units[1:] }, "columns": func(r *Rows) { r.X.Cols = 1 },
	} {
		bad := good
		bad.Y = slices.Clone(good.Y)
		spoil(&bad)
		require.Error(t, bad.check(questions), name)
	}
}
