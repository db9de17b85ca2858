package neighbours

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
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
			m := testkit.Must(NewNearestQuestions(NearestQuestionsConfig{Votes: votes, Sigma: 1, Questions: questions.Rows}))
			require.Equal(t, want, testkit.Must(m.votes(t.Context(), private, questions)), name)
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
