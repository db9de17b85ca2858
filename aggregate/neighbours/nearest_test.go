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

// What overflows is far, and moves nothing but its own votes.
func TestHugeRowsAreFar(t *testing.T) {
	private, questions := clouds(5, 5, 3, 2, 2)
	private.X.Data[0], private.X.Data[1] = math.MaxFloat32, -math.MaxFloat32
	m := testkit.Must(NewKNearest(KNearestConfig{Neighbours: 4, SamplingProbability: 1, Sigma: 1, Questions: 3}))
	less := Rows{X: dense.Rows(private.X, 1, 5), Y: private.Y[1:], Units: private.Units[1:], Classes: 2}
	require.Equal(t, neighbourVotes(t, m, less, questions), neighbourVotes(t, m, private, questions))
}

// firstOf returns the first k of places, or all where they are fewer.
func firstOf(k int, places []near) []near {
	slices.SortFunc(places, func(a, b near) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.at, b.at))
	})
	return places[:min(k, len(places))]
}

// What is kept is the first k in the order of distances, of equal ones the earlier, in whatever
// order distances come and how ever many are equal.
func TestNearest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	inf := float32(math.Inf(1))
	orders := map[string]func(i, n int) float32{
		"random":         func(int, int) float32 { return rnd.Float32() },
		"ties":           func(int, int) float32 { return float32(rnd.IntN(3)) },
		"equal":          func(int, int) float32 { return 1 },
		"ascending":      func(i, _ int) float32 { return float32(i) },
		"descending":     func(i, n int) float32 { return float32(n - i) },
		"there and back": func(i, n int) float32 { return float32(min(i, n-i)) },
		"infinite":       func(int, int) float32 { return []float32{inf, inf, 1, -1e-30}[rnd.IntN(4)] },
	}
	var kept nearest // with the memory of the one before
	for name, order := range orders {
		for range 100 {
			k, n := 1+rnd.IntN(20), rnd.IntN(200)
			kept.reset(k)
			var all []near
			for i := range n {
				place := near{order(i, n), int32(i % 7), 10 + i}
				if kept.beyond(place.distance) {
					require.NotContains(t, firstOf(k, append(slices.Clone(all), place)), place, name)
				}
				kept.offer(place)
				all = append(all, place)
			}
			require.ElementsMatch(t, firstOf(k, all), kept.first(), "%s: %d of %d", name, k, n)
			require.Equal(t, n >= k, kept.full)
			if n >= k {
				require.Equal(t, firstOf(k, all)[k-1].distance, kept.last)
			}
		}
	}
}

// A row's nearest questions are those of all its distances in order, whatever the products left out: of
// ties, of tiny and of huge values, of values that are not finite, and of more questions than a panel has.
func TestNoNearQuestionIsLeftOut(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	hostile := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, -math.MaxFloat32, 1e30, math.SmallestNonzeroFloat32, 0}
	draws := map[string]func() float32{
		"normal": func() float32 { return float32(rnd.NormFloat64()) },
		"far":    func() float32 { return 1e4 + float32(rnd.NormFloat64())/100 },
		"ties":   func() float32 { return float32(rnd.IntN(3)) },
		"tiny":   func() float32 { return float32(rnd.IntN(5)) * math.SmallestNonzeroFloat32 },
		"roots":  func() float32 { return float32(rnd.NormFloat64()) * 0x1p-66 },
		"huge":   func() float32 { return float32(rnd.NormFloat64()) * 1e19 },
		"mixed":  func() float32 { return float32(rnd.NormFloat64() * math.Exp(60*rnd.NormFloat64())) },
	}
	for name, draw := range draws {
		for range 20 {
			const rows, votes = 40, 7
			cols := 1 + rnd.IntN(4)
			finite := func(x dense.Matrix) dense.Matrix {
				for i := range x.Data {
					x.Data[i] = max(-math.MaxFloat32, min(math.MaxFloat32, draw()))
				}
				return x
			}
			questions, private := finite(dense.New(panelRows+10+rnd.IntN(panelRows), cols)), Rows{X: finite(dense.New(rows, cols)), Y: make([]int, rows), Classes: 2}
			for i := range rows {
				private.Units = append(private.Units, fmt.Sprint(i))
				if rnd.IntN(8) == 0 {
					private.X.Data[i*cols] = hostile[rnd.IntN(len(hostile))]
				}
			}
			g := private.group()
			want := make([]int64, questions.Rows*private.Classes)
			b := newBlock(panelRows)
			for i := range rows {
				var kept []near
				for _, p := range newPanels(questions) {
					b.measure(p, g, i, i+1)
					for q, d := range b.distance[:p.rows()] {
						kept = append(kept, near{distance: d, at: p.first + q})
					}
				}
				for _, n := range firstOf(votes, kept) {
					want[n.at*private.Classes]++
				}
			}
			require.Equal(t, want, testkit.Must(Cast(t.Context(), private, questions, votes)), name)
		}
	}
}

// The rows nearest to a question in its sample are those of all distances, whatever the products
// left out, also where units of one row and of several stand together.
func TestNoNearRowIsLeftOut(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 4))
	hostile := []float32{float32(math.NaN()), float32(math.Inf(1)), math.MaxFloat32, 1e30, 0}
	for round := range 40 {
		const votes, classes = 9, 3
		rows, cols := 2*unitsAtOnce+rnd.IntN(300), 1+rnd.IntN(20)
		private, questions := clouds(rows, rows, questionsAtOnce+1+rnd.IntN(20), cols, classes)
		for i := range rows {
			switch {
			case round%2 == 0 && rnd.IntN(200) == 0: // the blocks after it have units of one row again
				private.Units[i] = "0"
			case round%3 == 0 && rnd.IntN(20) == 0:
				private.X.Data[i*cols] = hostile[rnd.IntN(len(hostile))]
			case round%5 == 0:
				copy(dense.Row(private.X, i), dense.Row(private.X, rnd.IntN(i+1))) // ties
			}
		}
		q := []float64{1, 0.5, 0.02}[round%3]
		m := testkit.Must(NewKNearest(KNearestConfig{Neighbours: votes, SamplingProbability: q, Sigma: 1, Questions: questions.Rows}))
		g, key := private.group(), rng.SeedKey(uint64(round))
		got := make([][]int, questions.Rows)
		require.NoError(t, m.each(t.Context(), key, private, questions, func(question int, votes []int) { got[question] = slices.Clone(votes) }))
		for question := range questions.Rows {
			var kept []near
			var sample []int
			m.sample.Among(g.units(), key.Derive("sample", uint64(question)).Stream(), func(u int) { sample = append(sample, u) })
			// As wide a panel as theirs, so that products are the same.
			first := question / questionsAtOnce * questionsAtOnce
			p := newPanel(dense.Rows(questions, first, min(first+questionsAtOnce, questions.Rows)), first)
			b := newBlock(p.rows())
			for _, u := range sample {
				b.measure(p, g, u, u+1)
				kept = append(kept, near{b.distance[question-first], b.label[question-first], u})
			}
			want := make([]int, classes)
			for _, n := range firstOf(votes, kept) {
				want[n.label]++
			}
			require.Equal(t, want, got[question], "round %d, question %d", round, question)
		}
	}
}

// The products that are left out are nearly all: else the bound is of no use.
func TestFewDistancesAreComputed(t *testing.T) {
	private, questions := clouds(50, 50, panelRows, 20, 2)
	g, p, b := private.group(), newPanel(questions, 0), newBlock(panelRows)
	b.multiply(p, g, 0, 50)
	kept := nearest{k: 3}
	for j := range p.rows() {
		kept.offer(near{distance: squared(g.norms[0], p.norms[j], b.products[j]), at: j})
	}
	kept.first()
	floor, left := kept.floor(g.norms[0], p.largest), 0
	for j, product := range b.products[:p.rows()] {
		if product-p.halves[j] < floor {
			left++
		}
	}
	require.Equal(t, p.rows()-3, left)
}

// noNoise is so little that integer noise is 0 but with probability 2 e^-128.
const noNoise = 0x1p-4

func reserve(t testing.TB, e accountant.Event) *ledger.Reservation {
	return testledger.Reserve(t, accountant.AddRemove, e)
}

// released are the counts that m releases of the votes of units.
func released(t testing.TB, m *NearestQuestions, r *ledger.Reservation, key rng.Key, private Rows, questions dense.Matrix) (Counts, error) {
	return m.Release(r, key, private.Classes, testkit.Must(Cast(t.Context(), private, questions, m.cfg.Votes)))
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
	counts := testkit.Must(released(t, turned, reserve(t, turned.Event()), rng.SeedKey(1), private, questions))
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
	counts := testkit.Must(released(t, m, reserve(t, m.Event()), rng.SeedKey(3), private, dense.New(n, 1)))
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
	require.ErrorIs(t, testkit.Err(released(t, m, reserve(t, other.Event()), key, private, questions)), ledger.ErrNotReserved)
	require.ErrorIs(t, testkit.Err(released(t, m, testledger.Reserve(t, accountant.ReplaceOne, m.Event()), key, private, questions)), ledger.ErrUnfit)
	secret := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1e9, Delta: 0.1, Noise: ledger.SecretNoise}))
	reservation := testkit.Must(secret.Reserve(kn.Event()))
	require.ErrorIs(t, testkit.Err(kn.Release(ctx, reservation, key, private, questions)), ledger.ErrUnfit)
	require.ErrorContains(t, testkit.Err(kn.Release(ctx, reserve(t, kn.Event()), rng.Key{}, private, questions)), "zero Key")
	require.ErrorContains(t, testkit.Err(kn.Release(ctx, reserve(t, kn.Event()), key, private, dense.Rows(questions, 0, 29))), "29 questions")

	release := func(key rng.Key, m *NearestQuestions) []int64 {
		reservation := reserve(t, m.Event())
		counts := testkit.Must(released(t, m, reservation, key, private, questions))
		require.ErrorIs(t, testkit.Err(released(t, m, reservation, key, private, questions)), ledger.ErrNotReserved, "once")
		return counts.Votes
	}
	require.Equal(t, release(key, m), release(key, m))
	require.NotEqual(t, release(key, m), release(rng.SeedKey(2), m))
	without := func(m *NearestQuestions) []int64 { // the noise alone
		votes := testkit.Must(Cast(ctx, private, questions, m.cfg.Votes))
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
		runs = append(runs, testkit.Must(released(t, m, reservation, key, private, questions)).Votes)
	}
	require.NotEqual(t, runs[0], runs[1], "two charges do not share noise")
}

func TestParametersOutOfRange(t *testing.T) {
	for _, c := range []KNearestConfig{
		{0, 0.5, 1, 1}, {1, 0, 1, 1}, {1, 1.1, 1, 1}, {1, math.NaN(), 1, 1}, {1, 0.5, 0, 1}, {1, 0.5, 1, 0},
	} {
		require.Error(t, testkit.Err(NewKNearest(c)), c)
	}
	for _, c := range []NearestQuestionsConfig{{0, 1, 1, 0}, {2, 1, 1, 0}, {1, 0, 1, 0}, {1, 1, 0, 0}, {1, 1, 1, -1}} {
		require.Error(t, testkit.Err(NewNearestQuestions(c)), c)
	}
	good, questions := clouds(4, 4, 2, 2, 2)
	for _, votes := range []int{0, 3} {
		require.Error(t, testkit.Err(Cast(t.Context(), good, questions, votes)))
	}
	m := testkit.Must(NewNearestQuestions(NearestQuestionsConfig{Votes: 1, Sigma: 1, Questions: 2}))
	require.ErrorContains(t, testkit.Err(m.Release(reserve(t, m.Event()), rng.SeedKey(1), 2, make([]int64, 3))), "3 votes for 2 classes of 2 questions")
	for name, spoil := range map[string]func(*Rows){
		"classes": func(r *Rows) { r.Classes = 1 }, "label": func(r *Rows) { r.Y[0] = 2 },
		"units": func(r *Rows) { r.Units = r.Units[1:] }, "columns": func(r *Rows) { r.X.Cols = 1 },
	} {
		bad := good
		bad.Y = slices.Clone(good.Y)
		spoil(&bad)
		require.Error(t, testkit.Err(Cast(t.Context(), bad, questions, 1)), name)
	}
}
