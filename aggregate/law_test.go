package aggregate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/internal/mathx"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// The constructors below make mechanisms of one query unless they are given a number.
func first(queries []int) int { return append(queries, 1)[0] }

func gnmax(t require.TestingT, sigma float64, queries ...int) *GNMax {
	return testkit.Must(NewGNMax(GNMaxConfig{Sigma: sigma, Queries: first(queries)}))
}

func lnmax(t require.TestingT, scale float64, queries ...int) *LNMax {
	return testkit.Must(NewLNMax(LNMaxConfig{Scale: scale, Queries: first(queries)}))
}

func exponential(t require.TestingT, scale float64, queries ...int) *Exponential {
	return testkit.Must(NewExponential(ExponentialConfig{Scale: scale, Queries: first(queries)}))
}

func permuteAndFlip(t require.TestingT, scale float64, queries ...int) *PermuteAndFlip {
	return testkit.Must(NewPermuteAndFlip(PermuteAndFlipConfig{Scale: scale, Queries: first(queries)}))
}

// confident is given the numbers of queries and of answers, or neither.
func confident(t require.TestingT, threshold, sigma1, sigma2 float64, caps ...int) *ConfidentGNMax {
	caps = append(caps, 1, 1)
	return testkit.Must(NewConfidentGNMax(ConfidentGNMaxConfig{
		Threshold: threshold, Sigma1: sigma1, Sigma2: sigma2, Queries: caps[0], Answers: caps[1]}))
}

// interactive is sure above 0.8 and predicts the same of every query.
func interactive(t require.TestingT, teachers int, threshold, sigma1, sigma2 float64, predicted []float64, caps ...int) *InteractiveGNMax {
	caps = append(caps, 1, 1)
	return testkit.Must(NewInteractiveGNMax(InteractiveGNMaxConfig{
		Threshold: threshold, Sigma1: sigma1, Sigma2: sigma2, Teachers: teachers, Confidence: 0.8, Queries: caps[0], Answers: caps[1],
		Predict: func(uint64) ([]float64, error) { return predicted, nil }}))
}

func histogram(t require.TestingT, counts ...int) Histogram {
	return testkit.Must(NewHistogram(counts))
}

// close to 1e-9 relative or 1e-13 absolute, as the reference files ask.
func requireProbs(t *testing.T, want, gotLogs []float64, name string) {
	t.Helper()
	require.Len(t, gotLogs, len(want), name)
	for i, w := range want {
		g := math.Exp(gotLogs[i])
		require.LessOrEqual(t, math.Abs(g-w), max(1e-9*w, 1e-13), "%s class %d: %v, reference %v", name, i, g, w)
	}
}

func TestLawsReference(t *testing.T) {
	var ref struct {
		Entries []struct {
			Counts         []int     `json:"counts"`
			Scale          float64   `json:"scale"`
			GNMax          []float64 `json:"gnmax_sigma_eq_scale"`
			Log            []float64 `json:"gnmax_log"`
			LNMax          []float64 `json:"lnmax_b_eq_scale"`
			Exponential    []float64 `json:"exponential_mechanism_s_eq_1_over_scale"`
			PermuteAndFlip []float64 `json:"permute_and_flip_s_eq_1_over_scale"`
			Gaussian       []float64 `json:"discrete_gaussian_sigma_eq_scale_lowest_index_ties"`
			Laplace        []float64 `json:"discrete_laplace_t_eq_scale_lowest_index_ties"`
		} `json:"entries"`
	}
	testkit.ReadJSON(t, "testdata/noisy_argmax_probabilities.json", &ref)
	require.NotEmpty(t, ref.Entries)
	for _, e := range ref.Entries {
		t.Run(fmt.Sprint(e.Counts, e.Scale), func(t *testing.T) {
			h := histogram(t, e.Counts...)
			check := func(name string, want []float64, of lawFunc) Law {
				t.Helper()
				law := testkit.Must(of(h))
				requireProbs(t, want, law.LogLabels, name)
				require.Equal(t, math.Inf(-1), law.LogDeclined)
				return law
			}
			g, l := gnmax(t, e.Scale), lnmax(t, e.Scale)
			law := check("gnmax, continuous", e.GNMax, g.ContinuousLaw)
			for i, want := range e.Log {
				require.InDelta(t, want, law.LogLabels[i], 1e-9*(1+math.Abs(want)/100), "log of class %d", i)
			}
			check("gnmax", e.Gaussian, g.Law)
			check("lnmax, continuous", e.LNMax, l.ContinuousLaw)
			check("lnmax", e.Laplace, l.Law)
			check("exponential", e.Exponential, exponential(t, e.Scale).Law)
			check("permute-and-flip", e.PermuteAndFlip, permuteAndFlip(t, e.Scale).Law)
		})
	}
}

func TestConfidentLawReference(t *testing.T) {
	var ref struct {
		Entries []struct {
			Counts    []int     `json:"counts"`
			Threshold float64   `json:"threshold"`
			Sigma1    float64   `json:"sigma1"`
			Sigma2    float64   `json:"sigma2"`
			Answered  float64   `json:"p_answered"`
			Classes   []float64 `json:"p_class_and_answered"`
		} `json:"entries"`
	}
	testkit.ReadJSON(t, "testdata/confident_gnmax.json", &ref)
	require.NotEmpty(t, ref.Entries)
	for _, e := range ref.Entries {
		m := confident(t, e.Threshold, e.Sigma1, e.Sigma2)
		law := testkit.Must(m.ContinuousLaw(histogram(t, e.Counts...)))
		requireProbs(t, e.Classes, law.LogLabels, fmt.Sprint(e.Counts))
		requireProbs(t, []float64{1 - e.Answered}, []float64{law.LogDeclined}, "declined")
	}
}

// Tails of the noise, which laws add up.
func TestNoiseReference(t *testing.T) {
	type reference struct {
		Sigma2 float64            `json:"sigma2"`
		T      float64            `json:"t"`
		TailGE map[string]float64 `json:"tail_ge"`
	}
	var ref struct {
		Gaussian []reference `json:"discrete_gaussian"`
		Laplace  []reference `json:"discrete_laplace"`
	}
	testkit.ReadJSON(t, "../rng/testdata/discrete_noise.json", &ref)
	require.NotEmpty(t, ref.Gaussian)
	require.NotEmpty(t, ref.Laplace)
	check := func(r reference, noise integerNoise, tail func(from int64) float64) {
		require.NotEmpty(t, r.TailGE)
		for k, want := range r.TailGE {
			from := testkit.Must(strconv.ParseInt(k, 10, 64))
			cdf := noise.cdf(from + 1)
			require.InEpsilon(t, want, math.Exp(cdf.at(-from)), 1e-9)
			require.InEpsilon(t, want, math.Exp(tail(from)), 1e-9)
			require.InEpsilon(t, -math.Expm1(cdf.at(from-1)), -math.Expm1(math.Log1p(-want)), 1e-9)
			require.InDelta(t, math.Log1p(-want), cdf.at(from-1), 1e-15)
		}
	}
	for _, r := range ref.Gaussian {
		m := gnmax(t, math.Sqrt(r.Sigma2))
		check(r, gaussianNoise{m.counts}, func(from int64) float64 { return logAtLeast(m.counts, from) })
	}
	for _, r := range ref.Laplace {
		noise := laplaceNoise{lnmax(t, r.T).counts}
		check(r, noise, func(from int64) float64 { return noise.cdf(from).at(-from) })
	}
}

// Probabilities from 1 down to 1e-340, to nine digits: logarithms by 60-digit
// summation, quadrature and polynomial integration.
func TestLawsFarTail(t *testing.T) {
	var ref struct {
		Entries []struct {
			Law    string
			Counts []int
			Noise  float64
			Want   []float64 `json:"log_labels"` // 0 stands for a probability of 1 but for less than a rounding
		}
	}
	testkit.ReadJSON(t, "testdata/far_tail.json", &ref)
	require.Len(t, ref.Entries, 21)
	for _, e := range ref.Entries {
		law := testkit.Must(map[string]lawFunc{
			"lnmax": lnmax(t, e.Noise).Law, "lnmax, continuous": lnmax(t, e.Noise).ContinuousLaw, "gnmax": gnmax(t, e.Noise).Law,
			"gnmax, continuous": gnmax(t, e.Noise).ContinuousLaw, "exponential": exponential(t, e.Noise).Law,
			"permute-and-flip": permuteAndFlip(t, e.Noise).Law,
		}[e.Law](histogram(t, e.Counts...)))
		require.True(t, math.IsInf(law.LogDeclined, -1))
		require.InDeltaSlice(t, e.Want, law.LogLabels, 1e-9, "%+v", e)
	}
}

// Two classes have closed forms. With r = e^{-1/b}, the difference of two discrete Laplace variables has
// mass A r^d (d+C) at d >= 0, where A = ((1-r)/(1+r))^2 and C = 1 + 2r^2/(1-r^2).
func TestTwoClassesClosedForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := math.Exp2(rapid.Float64Range(-4, 9).Draw(t, "log2 scale"))
		reach := math.Min(690*b, 1e5) // down to 1e-300
		g := float64(rapid.IntRange(0, int(reach)).Draw(t, "gap"))
		for _, reversed := range []bool{false, true} {
			h, loser := histogram(t, int(g), 0), 1
			if reversed {
				h, loser = histogram(t, 0, int(g)), 0
			}
			check := func(name string, want float64, of lawFunc) {
				law := testkit.Must(of(h))
				require.InDelta(t, want, law.LogLabels[loser], 1e-9, name)
				require.InDelta(t, 1, total(law), 1e-11, name)
			}
			check("exponential", -g/b-math.Log1p(math.Exp(-g/b)), exponential(t, b).Law)
			check("permute-and-flip", -g/b-math.Ln2, permuteAndFlip(t, b).Law)
			check("continuous", math.Log1p(g/b/2)-math.Ln2-g/b, lnmax(t, b).ContinuousLaw)
			wins := g + 1 // the loser's lead in noise that makes it win
			if reversed && g > 0 {
				wins = g
			} else if reversed {
				return // no loser
			}
			q := -math.Expm1(-1 / b) // 1-r
			r := 1 - q
			c := 1 + 2*r*r/(q*(1+r))
			check("discrete", 2*math.Log(q/(1+r))-wins/b+math.Log((wins+c)/q+r/q/q), lnmax(t, b).Law)
		}
	})
}

func total(l Law) float64 {
	sum := math.Exp(l.LogDeclined)
	for _, x := range l.LogLabels {
		sum += math.Exp(x)
	}
	return sum
}

func TestLawsSumToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 60), 2, 6).Draw(t, "counts")
		h := histogram(t, counts...)
		sigma := math.Exp2(rapid.Float64Range(-10, 5).Draw(t, "log2 sigma"))
		g := gnmax(t, sigma)
		c := confident(t, rapid.Float64Range(-10, 80).Draw(t, "threshold"), 2*sigma, sigma)
		l := lnmax(t, sigma)
		laws := []func(Histogram) (Law, error){g.Law, c.Law, l.Law, exponential(t, sigma).Law, permuteAndFlip(t, sigma).Law}
		if sigma > 0.1 {
			laws = append(laws, g.ContinuousLaw, c.ContinuousLaw, l.ContinuousLaw)
		}
		for _, law := range laws {
			require.InDelta(t, 1, total(testkit.Must(law(h))), 1e-11)
		}
	})
}

// One of many classes is ahead: the peak is narrow, sigma/sqrt K, and the slope of the integrand steep, K/b.
func TestLawManyClasses(t *testing.T) {
	for _, lead := range []int{6, 1} {
		if lead == 1 && !*long {
			break
		}
		counts := make([]int, 300)
		counts[7] = lead
		for _, law := range []lawFunc{
			gnmax(t, 1).ContinuousLaw, gnmax(t, 1).Law, lnmax(t, 1).ContinuousLaw, lnmax(t, 1).Law,
			exponential(t, 1).Law, permuteAndFlip(t, 1).Law,
		} {
			l := testkit.Must(law(histogram(t, counts...)))
			require.InDelta(t, 1, total(l), 1e-11)
			require.InDelta(t, l.LogLabels[298], l.LogLabels[299], 0.02, "equal counts, up to ties")
		}
	}
}

func TestLawRefusesWhatIsTooWide(t *testing.T) {
	h := histogram(t, 1<<40, 0)
	for _, m := range []interface {
		Law(Histogram) (Law, error)
		ContinuousLaw(Histogram) (Law, error)
	}{gnmax(t, 1), lnmax(t, 1), confident(t, 1, 1, 1)} {
		require.Error(t, testkit.Err(m.Law(h)))
		require.Error(t, testkit.Err(m.ContinuousLaw(h)))
		require.Error(t, testkit.Err(m.Law(Histogram{})))
	}
	require.Error(t, testkit.Err(confident(t, 1, 1e9, 1).Law(histogram(t, 1, 0))))
	require.Error(t, testkit.Err(gnmax(t, 1e9).Law(histogram(t, 1, 0))))
	require.Error(t, testkit.Err(lnmax(t, 1e9).Law(histogram(t, 1, 0))))
	for _, law := range []func(Histogram) (Law, error){exponential(t, 1e-3).Law, permuteAndFlip(t, 1e-3).Law} {
		require.InEpsilon(t, -0x1p40*1e3, testkit.Must(law(h)).LogLabels[1], 1e-9)
		require.Error(t, testkit.Err(law(Histogram{})))
	}
}

func TestAheadInClosedForm(t *testing.T) {
	for _, x := range []float64{0, 0.01, 0.7, 3, 12, 40, 700, 1e9} {
		require.InDelta(t, math.Erfc(-x/2)/2, gaussianAhead(x, 1), 1e-15)
		require.InDelta(t, 1-(2+x)*math.Exp(-x)/4, laplaceAhead(x, 1), 1e-13)
		require.InDelta(t, 1/(1+math.Exp(-x)), gumbelAhead(x, 1), 1e-15)
		require.InDelta(t, 1-math.Exp(-x)/2, oneSidedAhead(x, 1), 1e-13)
		for _, rivals := range []int{2, 9, 99, 999} {
			for _, ahead := range []func(float64, int) float64{gaussianAhead, laplaceAhead, gumbelAhead, oneSidedAhead} {
				require.GreaterOrEqual(t, ahead(x, rivals), 1/float64(rivals+1)-1e-12)
				require.LessOrEqual(t, ahead(x, rivals), ahead(x, rivals-1)+1e-12)
			}
		}
	}
}

// TestAheadIsTheLaw compares several rivals with the laws.
func TestAheadIsTheLaw(t *testing.T) {
	for _, classes := range []int{2, 3, 10, 40} {
		for _, gap := range []int{0, 3, 25, 110} {
			counts := make([]int, classes)
			counts[0] = gap
			h := histogram(t, counts...)
			x := float64(gap) / 20
			for name, c := range map[string]struct {
				ahead float64
				law   lawFunc
			}{
				"gnmax":            {gaussianAhead(x, classes-1), gnmax(t, 20).ContinuousLaw},
				"lnmax":            {laplaceAhead(x, classes-1), lnmax(t, 20).ContinuousLaw},
				"exponential":      {gumbelAhead(x, classes-1), exponential(t, 20).Law},
				"permute-and-flip": {oneSidedAhead(x, classes-1), permuteAndFlip(t, 20).Law},
			} {
				law := testkit.Must(c.law(h))
				require.InDelta(t, math.Exp(law.LogLabels[0]), c.ahead, 1e-12, "%s, %d classes, gap %d", name, classes, gap)
			}
		}
	}
}

// TestRoughLaplace holds what ranks numbers of queries to its tolerance.
func TestRoughLaplace(t *testing.T) {
	for _, scale := range []float64{5, 20, 90, 400} {
		rough := testkit.Must(laplaceChance(scale, true))
		fine := testkit.Must(laplaceChance(scale, false))
		for _, counts := range [][]int64{{80, 12, 3, 3, 2}, {50, 48, 2, 0, 0}, {20, 20, 20, 20, 20}, {9, 0, 91, 0, 0}} {
			for label := range counts {
				require.InDelta(t, fine(counts, label), rough(counts, label), 1e-2)
			}
		}
	}
}

// Against a map, on numbers that are near each other, far away and at the end.
func TestAnswerPagesKeepAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Uint64Range(0, 200), rapid.Uint64Range(1<<40, 1<<40+200), rapid.Uint64Min(1<<64-70))
		want := map[uint64]Answer{}
		var g answerPages
		for range rapid.IntRange(1, 300).Draw(t, "asked") {
			q := number.Draw(t, "query")
			before, ok := want[q]
			a, has := g.answer(q)
			require.Equal(t, ok, has)
			if ok {
				require.Equal(t, before, a)
				continue
			}
			a = Answer{Label: rapid.IntRange(NoLabel, 1<<15).Draw(t, "label")}
			a.Answered = a.Label != NoLabel
			a.Reused = a.Answered && rapid.Bool().Draw(t, "reused")
			g.add(q, a)
			want[q] = a
		}
		require.Equal(t, len(want), g.n)
	})
}

// Whatever the votes are, what was drawn before decides: every class has a turn,
// and permute-and-flip gives it just one.
func TestTurnsDecideForAllVotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 9).Draw(t, "classes")
		scale := math.Exp2(rapid.Float64Range(-10, 12).Draw(t, "log2 scale"))
		s := rng.SeedKey(rapid.Uint64().Draw(t, "seed")).Stream()
		flip := permuteAndFlip(t, scale).draw(nil, s, classes)
		repeated := exponential(t, scale).draw(nil, s, classes)
		require.Len(t, flip, 2*classes)
		for name, turns := range map[string][]int64{"flip": flip, "exponential": repeated} {
			seen := map[int64]bool{}
			for i := 0; i < len(turns); i += 2 {
				seen[turns[i]] = true
				require.True(t, turns[i] >= 0 && turns[i] < int64(classes) && turns[i+1] >= 0)
			}
			require.Len(t, seen, classes, name)

			counts := make([]int64, classes)
			for i := range counts {
				counts[i] = int64(rapid.IntRange(0, 50).Draw(t, "count"))
			}
			a := firstAccepted(counts, turns)
			require.True(t, a.Answered)
			// the definition: stop at the first acceptance
			for i := 0; ; i += 2 {
				if slices.Max(counts)-counts[turns[i]] <= turns[i+1] {
					require.Equal(t, int(turns[i]), a.Label)
					break
				}
			}
		}
	})
}

// Turns left out because an earlier one of the class went as far never win.
func TestExponentialLeavesOutOnlyLosers(t *testing.T) {
	m := exponential(t, 3)
	for seed := range uint64(300) {
		var all []int64
		s, left := rng.SeedKey(seed).Stream(), map[int64]bool{0: true, 1: true, 2: true}
		for len(left) > 0 {
			class, distance := int64(s.Uint64N(3)), m.distances.Geometric(s)
			delete(left, class)
			all = append(all, class, distance)
		}
		drawn := m.draw(nil, rng.SeedKey(seed).Stream(), 3)
		require.LessOrEqual(t, len(drawn), len(all))
		for _, counts := range testkit.Histograms(12, 3) {
			votes := histogram(t, counts...).counts()
			require.Equal(t, firstAccepted(votes, all), m.decide(votes, drawn))
		}
	}
}

// A distance as far as an int64 goes accepts everything and overflows nothing.
func TestFirstAcceptedAtTheEnds(t *testing.T) {
	counts := []int64{0, maxCount}
	require.Equal(t, 0, firstAccepted(counts, []int64{0, math.MaxInt64, 1, 0}).Label)
	require.Equal(t, 1, firstAccepted(counts, []int64{0, maxCount - 1, 1, 0}).Label)
	require.Equal(t, 0, firstAccepted(counts, []int64{0, maxCount, 1, 0}).Label)
}

// Claims never fall short of 2/Scale, and are exactly that where they can be.
func TestEpsilonOfScale(t *testing.T) {
	require.Equal(t, 0.5, mathx.DivUp(2, 4))
	require.Equal(t, 4.0, mathx.DivUp(2, 0.5))
	rapid.Check(t, func(t *rapid.T) {
		scale := math.Exp2(rapid.Float64Range(-10, 40).Draw(t, "log2 scale"))
		eps := mathx.DivUp(2, scale)
		require.GreaterOrEqual(t, math.FMA(eps, scale, -2), 0.0)
		require.Less(t, math.FMA(math.Nextafter(eps, 0), scale, -2), 0.0, "the least such number")
	})
}
