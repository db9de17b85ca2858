package analysis

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/testkit"
)

func newInstance(n noise) *instance { return &instance{noise: n} }

func continuous(t *testing.T, e *instance, counts []int, orders []float64) divergences {
	return testkit.Must(Mechanism{}.exact(e, counts, orders))
}

func TestExactDivergences(t *testing.T) {
	file := golden[struct {
		Orders []float64
		Cases  []struct {
			Kind           string
			Counts         []int
			Sigma, Gamma   float64
			T              float64
			Sigma1, Sigma2 float64
			LogProbs       []float64 `json:"log_probs"`
			LogAnswered    float64   `json:"log_pr_answered"`
			Bound          []number  `json:"rdp_bound"`
			MaxRenyi       []number  `json:"max_renyi"`
			Threshold      []number  `json:"rdp_threshold"`
			Argmax         []number  `json:"rdp_argmax"`
			Expected       []number  `json:"expected_accounting"`
			Sum            []number  `json:"sum_accounting"`
			Exceeds        []bool    `json:"exceeds_expected"`
		}
	}](t, "pate/exact_renyi.json")
	require.NotEmpty(t, file.Cases)
	exceeds, total := 0, 0
	for _, c := range file.Cases {
		h := newTally(c.Counts)
		var got divergences
		switch c.Kind {
		case "gnmax", "lnmax":
			e := newInstance(gaussianNoise{c.Sigma})
			bound := func(a float64) float64 { return gnmaxRDP(h.logFlipGaussian(c.Sigma), c.Sigma, a) }
			if c.Kind == "lnmax" {
				e = newInstance(laplaceNoise{1 / c.Gamma})
				bound = func(a float64) float64 { return lnmaxRDP(h.logFlipLaplace(1/c.Gamma), 1/c.Gamma, a) }
			}
			got = continuous(t, e, h, file.Orders)
			for i, p := range e.law(nil, c.Counts) {
				require.InDelta(t, c.LogProbs[i], p, 1e-9*math.Max(1, math.Abs(p)))
			}
			for i, a := range file.Orders {
				require.LessOrEqual(t, got.forward[i], bound(a)*(1+1e-9))
			}
		case "confident_joint":
			got = testkit.Must(confident(c.T, c.Sigma1, c.Sigma2).exact(newInstance(gaussianNoise{c.Sigma2}), h, file.Orders))
			pass, fail := thresholdLaw(float64(h[0]), c.T, c.Sigma1)
			for i, a := range file.Orders {
				first, second := thresholdRDP(pass, fail, c.Sigma1, a), gnmaxRDP(h.logFlipGaussian(c.Sigma2), c.Sigma2, a)
				relative(t, float64(c.Threshold[i]), first, 1e-9, "threshold of %v", c.Counts)
				relative(t, float64(c.Argmax[i]), second, 1e-9, "argmax of %v", c.Counts)
				expected := first + math.Exp(pass)*second
				relative(t, float64(c.Expected[i]), expected, 1e-9, "expected cost of %v", c.Counts)
				require.LessOrEqual(t, got.forward[i], (first+second)*(1+1e-9), "the sum of both costs is a bound")
				require.Equal(t, c.Exceeds[i], got.forward[i] > expected*(1+1e-9), "%v order %v", c.Counts, a)
				total++
				if c.Exceeds[i] {
					exceeds++
				}
			}
		}
		for i, want := range c.MaxRenyi {
			require.InDelta(t, float64(want), got.forward[i], 1e-11+1e-8*math.Abs(float64(want)), "%s %v order %v", c.Kind, c.Counts, file.Orders[i])
		}
	}
	t.Logf("the exact divergence is above the expected cost of Confident-GNMax in %d of %d cases", exceeds, total)
	require.Positive(t, exceeds)
}

// thresholdDivergences returns the largest of a test between a largest count and those a vote away, either way.
func thresholdDivergences(largest, threshold, sigma, a float64) (forward, reverse float64) {
	pass, fail := thresholdLaw(largest, threshold, sigma)
	for _, step := range []float64{-1, 1} {
		p, f := thresholdLaw(largest+step, threshold, sigma)
		forward = math.Max(forward, renyi(outcomes(nil, []float64{pass, fail}, []float64{p, f}), a))
		reverse = math.Max(reverse, renyi(outcomes(nil, []float64{p, f}, []float64{pass, fail}), a))
	}
	return forward, reverse
}

func TestOneSidedness(t *testing.T) {
	type entry struct {
		Counts       []int
		Sigma, B     float64
		Alpha        float64
		LogQUnion    float64 `json:"log_q_union"`
		LogQBound    float64 `json:"log_q_bound"`
		Bound        float64 `json:"theorem6_bound"`
		Branch       bool    `json:"data_dependent_branch"`
		Independent  float64 `json:"data_independent"`
		Forward      number  `json:"exact_forward"`
		Reverse      number  `json:"exact_reverse"`
		MaxCount     float64 `json:"max_count"`
		Threshold    float64
		Sigma1       float64
		LogPAnswered float64  `json:"log_p_answered"`
		LNMax        *float64 `json:"data_dependent_rdp"`
		Pure         float64  `json:"pure_dp_rdp"`
	}
	file := golden[struct {
		GNMax     []entry
		Threshold []entry `json:"threshold_test"`
		LNMax     []entry
	}](t, "mechanisms/data_dependent_rdp.json")
	compare := func(want number, got float64, c entry) {
		if !math.IsNaN(float64(want)) {
			require.InDelta(t, float64(want), got, 1e-12+1e-7*math.Abs(float64(want)), "%+v", c)
		}
	}
	oneSided := 0
	for _, c := range file.GNMax {
		h := newTally(c.Counts)
		logQ := h.logFlipGaussian(c.Sigma)
		relative(t, c.LogQUnion, logQ, 1e-9, "%v", c.Counts)
		bound, ok := flipBound(logQ, c.Sigma, c.Alpha)
		require.Equal(t, c.Branch, ok && bound < c.Independent)
		relative(t, c.Bound, gnmaxRDP(logQ, c.Sigma, c.Alpha), 1e-9, "%v", c.Counts)
		d := continuous(t, newInstance(gaussianNoise{c.Sigma}), h, []float64{c.Alpha})
		compare(c.Forward, d.forward[0], c)
		compare(c.Reverse, d.reverse[0], c)
		require.LessOrEqual(t, d.forward[0], c.Bound*(1+1e-9))
		if d.reverse[0] > c.Bound {
			oneSided++
		}
	}
	require.Positive(t, oneSided, "Theorem 6 does not bound the reverse divergence")
	t.Logf("the reverse divergence is above Theorem 6 in %d of %d entries", oneSided, len(file.GNMax))
	for _, c := range file.Threshold {
		pass, fail := thresholdLaw(c.MaxCount, c.Threshold, c.Sigma1)
		relative(t, c.LogPAnswered, pass, 1e-9, "%+v", c)
		relative(t, c.Bound, thresholdRDP(pass, fail, c.Sigma1, c.Alpha), 1e-9, "%+v", c)
		forward, reverse := thresholdDivergences(c.MaxCount, c.Threshold, c.Sigma1, c.Alpha)
		compare(c.Forward, forward, c)
		compare(c.Reverse, reverse, c)
	}
	for _, c := range file.LNMax {
		h := newTally(c.Counts)
		logQ := h.logFlipLaplace(c.B)
		relative(t, c.LogQBound, logQ, 1e-9, "%v", c.Counts)
		got := c.Pure // the reference caps by the tight curve
		if bound, ok := lnmaxFlipBound(logQ, c.B, c.Alpha); ok {
			got = math.Min(got, bound)
		}
		relative(t, *c.LNMax, got, 1e-9, "%+v", c)
		require.LessOrEqual(t, c.Pure, lnmaxWorst(c.B, c.Alpha)*(1+1e-12))
		d := continuous(t, newInstance(laplaceNoise{c.B}), h, []float64{c.Alpha})
		compare(c.Forward, d.forward[0], c)
		compare(c.Reverse, d.reverse[0], c)
	}
}

// TestInstanceAgreesWithTheLaw compares with package aggregate's own quadrature,
// for histograms with gaps of up to 60 sigma, one instance for all.
func TestInstanceAgreesWithTheLaw(t *testing.T) {
	m := testkit.Must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 5, Queries: 1}))
	e := newInstance(gaussianNoise{5})
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 300), 2, 12).Draw(t, "counts")
		want := testkit.Must(m.ContinuousLaw(testkit.Must(aggregate.NewHistogram(counts))))
		e.prepare(newTally(counts))
		for i, p := range e.law(nil, counts) {
			require.InDelta(t, want.LogLabels[i], p, 1e-11*math.Max(1, math.Abs(p)))
		}
	})
}

// TestNeighboursAreAllMoves compares the shortened list with all moves.
func TestNeighboursAreAllMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newTally(rapid.SliceOfN(rapid.IntRange(0, 4), 2, 6).Draw(t, "counts"))
		var short, all []string
		neighbours(h, func(counts []int) { short = append(short, newTally(counts).key()) })
		for a := range h {
			for b := range h {
				if a != b && h[a] > 0 {
					moved := slices.Clone(h)
					moved[a]--
					moved[b]++
					all = append(all, newTally(moved).key())
				}
			}
		}
		slices.Sort(all)
		slices.Sort(short)
		require.Equal(t, slices.Compact(all), slices.Compact(short))
	})
}

// TestLatticeAgreesWithTheLaw compares integer noise on a histogram and all its
// neighbours with package aggregate's own law of each.
func TestLatticeAgreesWithTheLaw(t *testing.T) {
	gaussian := testkit.Must(newGaussianLattice(5))
	laplace := testkit.Must(newLaplaceLattice(3))
	confident := testkit.Must(confident(30.5, 7, 5).laws(true))
	gnmax := testkit.Must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 5, Queries: 1}))
	lnmax := testkit.Must(aggregate.NewLNMax(aggregate.LNMaxConfig{Scale: 3, Queries: 1}))
	gated := testkit.Must(aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{Threshold: 30.5, Sigma1: 7, Sigma2: 5, Queries: 1, Answers: 1}))
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 60), 2, 5).Draw(t, "counts")
		visited := 0
		for _, c := range []struct {
			e   laws
			law func(aggregate.Histogram) (aggregate.Law, error)
		}{{gaussian, gnmax.Law}, {laplace, lnmax.Law}} {
			require.NoError(t, c.e.visit(counts, func(law []float64, counts []int) {
				want := testkit.Must(c.law(testkit.Must(aggregate.NewHistogram(counts))))
				for i, p := range law {
					require.InDelta(t, want.LogLabels[i], p, 1e-11*math.Max(1, math.Abs(p)), "%v", counts)
				}
				visited++
			}))
		}
		moves := 0
		for _, n := range counts {
			if n > 0 {
				moves += len(counts) - 1
			}
		}
		require.Equal(t, 2*(moves+1), visited)
		want := testkit.Must(gated.Law(testkit.Must(aggregate.NewHistogram(counts))))
		pass, fail := confident.threshold(slices.Max(counts), 30.5, 7)
		require.InDelta(t, want.LogDeclined, fail, 1e-11*math.Max(1, math.Abs(fail)))
		require.InDelta(t, 1, math.Exp(pass)+math.Exp(fail), 1e-12)
	})
	require.Error(t, gaussian.visit([]int{1000, 0}, func([]float64, []int) {}))
	narrow := testkit.Must(newGaussianLattice(0.5))
	require.Error(t, narrow.visit([]int{16, 2}, func([]float64, []int) {}), "its probabilities underflow")
}

// At a sigma of some votes both reports agree closely, and the integer one stays below the worst case too.
func TestIntegerNoiseApproachesContinuous(t *testing.T) {
	rows := tallies(readNumbers(t, filepath.Join("testdata", "pate", "counts.csv")))[:20]
	for _, m := range []Mechanism{gnmax(40), confident(200, 150, 40), lnmax(20)} {
		o := Options{Delta: 1e-5, Orders: []float64{2, 8, 20}}
		smooth := testkit.Must(Analyze(context.Background(), m, histograms(rows), o))
		o.IntegerNoise = true
		whole := testkit.Must(Analyze(context.Background(), m, histograms(rows), o))
		require.InEpsilon(t, smooth.All.DataDependent.Improved.Reveal(), whole.All.DataDependent.Improved.Reveal(), 1e-12)
		require.InEpsilon(t, smooth.Exact.Both.Improved.Reveal(), whole.Exact.Both.Improved.Reveal(), 2e-3, "%+v", m)
		require.LessOrEqual(t, whole.Exact.Both.Improved.Reveal(), whole.All.Independent.Improved.Reveal())
	}
}

// A loser with a lower index wins ties, which a flip bound for continuous noise does not know.
func TestContinuousBoundsAreNotForIntegerNoise(t *testing.T) {
	counts, sigma, a := []int{8, 14}, 0.9228515625, 1.837
	whole := testkit.Must(Mechanism{}.exact(testkit.Must(newGaussianLattice(sigma)), counts, []float64{a}))
	bound, ok := flipBound(newTally(counts).logFlipGaussian(sigma), sigma, a)
	require.True(t, ok)
	t.Logf("integer noise %.5f, continuous %.5f, Theorem 6 for continuous noise %.5f", whole.forward[0], continuous(t, newInstance(gaussianNoise{sigma}), counts, []float64{a}).forward[0], bound)
	require.Greater(t, whole.forward[0], bound)
	require.LessOrEqual(t, whole.both()[0], a/sigma/sigma)
}

// The shortcut between orders half apart changes nothing, in whatever sequence they are given.
func TestOrdersDoNotDependOnEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(1e-6, 1-1e-6).Draw(t, "p")
		q := rapid.Float64Range(1e-6, 1-1e-6).Draw(t, "q")
		laws := outcomes(nil, []float64{math.Log(p), math.Log1p(-p)}, []float64{math.Log(q), math.Log1p(-q)})
		var orders []float64
		for _, half := range rapid.SliceOfN(rapid.IntRange(3, 120), 1, 40).Draw(t, "halves") {
			orders = append(orders, float64(half)/2, float64(half+1)/2)
		}
		w := newWorst(orders)
		w.add(laws)
		for i, d := range w.divergences() {
			alone := renyi(laws, orders[i])
			require.InDelta(t, alone, d, 1e-14+1e-11*alone)
			if plain := renyiLarge(laws, orders[i]); plain > 1e-3 {
				require.InEpsilon(t, plain, alone, 1e-9)
			}
		}
	})
}

func renyi(laws []outcome, a float64) float64 {
	w := newWorst([]float64{a})
	w.add(laws)
	return w.divergences()[0]
}
