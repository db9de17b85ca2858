package aggregate

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/testkit"
)

// must returns the mechanism of a constructor, of one query unless told otherwise.
func must[M any](t require.TestingT, m M, err error) M {
	require.NoError(t, err)
	return m
}

func first(queries []int) int { return append(queries, 1)[0] }

func gnmax(t require.TestingT, sigma float64, queries ...int) *GNMax {
	m, err := NewGNMax(GNMaxConfig{Sigma: sigma, Queries: first(queries)})
	return must(t, m, err)
}

func lnmax(t require.TestingT, scale float64, queries ...int) *LNMax {
	m, err := NewLNMax(LNMaxConfig{Scale: scale, Queries: first(queries)})
	return must(t, m, err)
}

func exponential(t require.TestingT, scale float64, queries ...int) *Exponential {
	m, err := NewExponential(ExponentialConfig{Scale: scale, Queries: first(queries)})
	return must(t, m, err)
}

func permuteAndFlip(t require.TestingT, scale float64, queries ...int) *PermuteAndFlip {
	m, err := NewPermuteAndFlip(PermuteAndFlipConfig{Scale: scale, Queries: first(queries)})
	return must(t, m, err)
}

// confident is given the numbers of queries and of answers, or neither.
func confident(t require.TestingT, threshold, sigma1, sigma2 float64, caps ...int) *ConfidentGNMax {
	caps = append(caps, 1, 1)
	m, err := NewConfidentGNMax(ConfidentGNMaxConfig{
		Threshold: threshold, Sigma1: sigma1, Sigma2: sigma2, Queries: caps[0], Answers: caps[1]})
	return must(t, m, err)
}

// interactive is sure above 0.8 and predicts the same of every query.
func interactive(t require.TestingT, teachers int, threshold, sigma1, sigma2 float64, predicted []float64, caps ...int) *InteractiveGNMax {
	caps = append(caps, 1, 1)
	m, err := NewInteractiveGNMax(InteractiveGNMaxConfig{
		Threshold: threshold, Sigma1: sigma1, Sigma2: sigma2, Teachers: teachers, Confidence: 0.8, Queries: caps[0], Answers: caps[1],
		Predict: func(uint64) ([]float64, error) { return predicted, nil }})
	return must(t, m, err)
}

func histogram(t require.TestingT, counts ...int) Histogram {
	h, err := NewHistogram(counts)
	require.NoError(t, err)
	return h
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
			GaussianTies   []float64 `json:"discrete_gaussian_sigma_eq_scale_uniform_ties"`
			Laplace        []float64 `json:"discrete_laplace_t_eq_scale_lowest_index_ties"`
			LaplaceTies    []float64 `json:"discrete_laplace_t_eq_scale_uniform_ties"`
		} `json:"entries"`
	}
	testkit.ReadJSON(t, "testdata/noisy_argmax_probabilities.json", &ref)
	require.NotEmpty(t, ref.Entries)
	for _, e := range ref.Entries {
		t.Run(fmt.Sprint(e.Counts, e.Scale), func(t *testing.T) {
			h := histogram(t, e.Counts...)
			check := func(name string, want []float64, law Law, err error) {
				t.Helper()
				require.NoError(t, err)
				requireProbs(t, want, law.LogLabels, name)
				require.Equal(t, math.Inf(-1), law.LogDeclined)
			}
			g, l := gnmax(t, e.Scale), lnmax(t, e.Scale)
			law, err := g.ContinuousLaw(h)
			check("gnmax, continuous", e.GNMax, law, err)
			for i, want := range e.Log {
				require.InDelta(t, want, law.LogLabels[i], 1e-9*(1+math.Abs(want)/100), "log of class %d", i)
			}
			law, err = g.Law(h)
			check("gnmax", e.Gaussian, law, err)
			law, err = g.lawWithTies(h, uniformTies)
			check("gnmax, uniform ties", e.GaussianTies, law, err)
			law, err = l.ContinuousLaw(h)
			check("lnmax, continuous", e.LNMax, law, err)
			law, err = l.Law(h)
			check("lnmax", e.Laplace, law, err)
			law, err = l.lawWithTies(h, uniformTies)
			check("lnmax, uniform ties", e.LaplaceTies, law, err)
			law, err = exponential(t, e.Scale).Law(h)
			check("exponential", e.Exponential, law, err)
			law, err = permuteAndFlip(t, e.Scale).Law(h)
			check("permute-and-flip", e.PermuteAndFlip, law, err)
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
		law, err := m.ContinuousLaw(histogram(t, e.Counts...))
		require.NoError(t, err)
		requireProbs(t, e.Classes, law.LogLabels, fmt.Sprint(e.Counts))
		requireProbs(t, []float64{1 - e.Answered}, []float64{law.LogDeclined}, "declined")
	}
}

// The threshold step alone, in both tails, and its data-independent cost.
func TestThresholdStepReference(t *testing.T) {
	var ref struct {
		Orders []float64 `json:"orders"`
		Cases  []struct {
			Largest   float64   `json:"rounded"`
			Threshold float64   `json:"T"`
			Sigma     float64   `json:"sigma1"`
			Answered  float64   `json:"log_pr_answered"`
			Refused   float64   `json:"log_pr_refused"`
			Cost      []float64 `json:"rdp_data_independent"`
			Exact     []float64 `json:"rdp_exact_bernoulli"`
		} `json:"cases"`
	}
	testkit.ReadJSON(t, "testdata/threshold_step.json", &ref)
	require.NotEmpty(t, ref.Cases)
	for _, c := range ref.Cases {
		m := confident(t, c.Threshold, c.Sigma, 1)
		bit := func(largest float64) Law {
			pass, fail := m.continuousTest(largest)
			return Law{LogLabels: []float64{pass}, LogDeclined: fail}
		}
		here := bit(c.Largest)
		// absolute below 1e-16, where 60 digits were too few for the reference
		require.InDelta(t, c.Answered, here.LogLabels[0], 1e-12*math.Abs(c.Answered)+1e-16, "%+v", c)
		require.InDelta(t, c.Refused, here.LogDeclined, 1e-12*math.Abs(c.Refused)+1e-16, "%+v", c)
		for i, cost := range charged(t, accountant.Threshold{Sigma: c.Sigma}, ref.Orders) {
			require.InEpsilon(t, c.Cost[i], cost, 1e-11, "claims round outwards")
			exact := max(renyi(ref.Orders[i], here, bit(c.Largest-1)), renyi(ref.Orders[i], here, bit(c.Largest+1)))
			require.InDelta(t, c.Exact[i], exact, 1e-11+1e-8*exact, "%+v order %v", c, ref.Orders[i])
			require.LessOrEqual(t, exact, cost*(1+1e-9)+1e-15)
		}
	}
}

func TestNoiseReference(t *testing.T) {
	type reference struct {
		Sigma2 float64            `json:"sigma2"`
		T      float64            `json:"t"`
		PMF    map[string]float64 `json:"pmf"`
		TailGE map[string]float64 `json:"tail_ge"`
		Shifts map[string]struct {
			Exact float64 `json:"exact"`
			Bound float64 `json:"bound"`
		} `json:"renyi"`
		Pure map[string]float64 `json:"eps_for_shift"`
	}
	var ref struct {
		Gaussian []reference `json:"discrete_gaussian"`
		Laplace  []reference `json:"discrete_laplace"`
	}
	testkit.ReadJSON(t, "../rng/testdata/discrete_noise.json", &ref)
	require.NotEmpty(t, ref.Gaussian)
	require.NotEmpty(t, ref.Laplace)
	check := func(r reference, noise integerNoise) {
		for k, want := range r.PMF {
			at, err := strconv.ParseInt(k, 10, 64)
			require.NoError(t, err)
			require.InEpsilon(t, want, math.Exp(noise.LogProb(at)), 1e-9)
		}
		require.NotEmpty(t, r.TailGE)
		for k, want := range r.TailGE {
			from, err := strconv.ParseInt(k, 10, 64)
			require.NoError(t, err)
			cdf := noise.cdf(from + 1)
			require.InEpsilon(t, want, math.Exp(cdf.at(-from)), 1e-9)
			require.InEpsilon(t, -math.Expm1(cdf.at(from-1)), -math.Expm1(math.Log1p(-want)), 1e-9)
			require.InDelta(t, math.Log1p(-want), cdf.at(from-1), 1e-15)
		}
	}
	for _, r := range ref.Gaussian {
		m := gnmax(t, math.Sqrt(r.Sigma2))
		check(r, gaussianNoise{m.counts})
		for k, want := range r.TailGE {
			from, err := strconv.ParseInt(k, 10, 64)
			require.NoError(t, err)
			require.InEpsilon(t, want, math.Exp(logAtLeast(m.counts, from)), 1e-9)
		}
		require.NotEmpty(t, r.Shifts)
		for name, want := range r.Shifts {
			var shift int64
			var order float64
			_, err := fmt.Sscanf(name, "shift%d_alpha%g", &shift, &order)
			require.NoError(t, err)
			reach := int64(40*m.counts.Sigma()*order) + 40
			p, q := make([]float64, 0, 2*reach), make([]float64, 0, 2*reach)
			for x := -reach; x < reach; x++ {
				p, q = append(p, m.counts.LogProb(x)), append(q, m.counts.LogProb(x-shift))
			}
			none := math.Inf(-1)
			require.InEpsilon(t, want.Exact, renyi(order, Law{p, none}, Law{q, none}), 1e-9)
			if shift == 1 { // what one moved vote does to one count
				require.InEpsilon(t, want.Bound, charged(t, accountant.Threshold{Sigma: m.counts.Sigma(), Discrete: true}, []float64{order})[0], 1e-9)
			}
		}
	}
	for _, r := range ref.Laplace {
		m := lnmax(t, r.T)
		check(r, laplaceNoise{m.counts})
		for k, want := range r.Pure {
			shift, err := strconv.ParseInt(k, 10, 64)
			require.NoError(t, err)
			require.InEpsilon(t, want, m.counts.LogProb(0)-m.counts.LogProb(shift), 1e-9)
		}
	}
}

// Probabilities from 1 down to 1e-340, to nine digits: logarithms by 60-digit
// summation, quadrature and polynomial integration.
func TestLawsFarTail(t *testing.T) {
	type row struct {
		counts []int
		param  float64
		want   []float64
	}
	laplace, gaussian, none := lnmax, gnmax, math.Inf(-1)
	for _, c := range []struct {
		name string
		law  func(param float64, h Histogram) (Law, error)
		rows []row
	}{
		{"lnmax", func(b float64, h Histogram) (Law, error) { return laplace(t, b).Law(h) }, []row{
			{[]int{690, 0}, 1, []float64{0, -685.544320030557092}},
			{[]int{690, 3, 0}, 1, []float64{0, -682.54870095321258, -685.550347160882531}},
			{[]int{250, 249, 10, 0}, 0.5, []float64{-0.040031079215786324, -3.23804791636177257, -481.621154644114214, -501.621154644114214}},
			{[]int{3, 1700, 1690}, 2.5, []float64{-678.306926199700723, -0.0229887376617019408, -3.7842231987035141}},
		}},
		{"lnmax, continuous", func(b float64, h Histogram) (Law, error) { return laplace(t, b).ContinuousLaw(h) }, []row{
			{[]int{690, 0}, 1, []float64{0, -684.846708405502159}},
			{[]int{690, 3, 0}, 1, []float64{0, -681.851124752968529, -684.851803147365779}},
			{[]int{250, 249, 10, 0}, 0.5, []float64{-0.145413457868859057, -2, -480.127107532572871, -500.127107532572871}},
			{[]int{3, 1700, 1690}, 2.5, []float64{-678.480991403487713, -0.0278579116594945156, -3.59453489189183562}},
		}},
		{"permute-and-flip", func(b float64, h Histogram) (Law, error) { return permuteAndFlip(t, b).Law(h) }, []row{
			{[]int{690, 0}, 1, []float64{0, -690.693147180559945}},
			{[]int{690, 3, 0}, 1, []float64{0, -687.693147180559945, -690.693147180559945}},
			{[]int{250, 249, 10, 0}, 0.5, []float64{-0.0700659201602814102, -2.69314718055994531, -480.7393081532173, -500.7393081532173}},
			{[]int{3, 1700, 1690}, 2.5, []float64{-679.499271106539027, -0.00920001005304636332, -4.69314718055994531}},
		}},
		{"exponential", func(b float64, h Histogram) (Law, error) { return exponential(t, b).Law(h) }, []row{
			{[]int{690, 3, 0}, 1, []float64{0, -687, -690}},
			{[]int{250, 249, 10, 0}, 0.5, []float64{-0.126928011042972496, -2.1269280110429725, -480.126928011042972, -500.126928011042972}},
			{[]int{3, 1700, 1690}, 2.5, []float64{-678.81814992791781, -0.0181499279178097404, -4.01814992791780974}},
		}},
		{"gnmax", func(sigma float64, h Histogram) (Law, error) { return gaussian(t, sigma).Law(h) }, []row{
			{[]int{51, 0}, 1, []float64{0, -677.265408693159619}},
			{[]int{36, 1, 0}, 0.75, []float64{0, -576.970158192213743, -609.430127102918198}},
			{[]int{200, 190, 80, 3}, 4, []float64{-0.0320518023352211912, -3.45638495870430475, -286.86308717246971, -782.705887766675511}},
		}},
		{"gnmax, continuous", func(sigma float64, h Histogram) (Law, error) { return gaussian(t, sigma).ContinuousLaw(h) }, []row{
			// log Phi(-gap/sqrt 2)
			{[]int{0, 0}, 1, []float64{-math.Ln2, -math.Ln2}},
			{[]int{10, 0}, 1, []float64{0, -27.8940367260973797}},
			{[]int{52, 0}, 1, []float64{0, -680.524346943754176}},
		}},
	} {
		for _, r := range c.rows {
			law, err := c.law(r.param, histogram(t, r.counts...))
			require.NoError(t, err)
			require.Equal(t, none, law.LogDeclined)
			for i, want := range r.want {
				// 0 stands for a probability of 1 but for less than a rounding
				require.InDelta(t, want, law.LogLabels[i], 1e-9, "%s %v class %d", c.name, r, i)
			}
		}
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
			check := func(name string, want float64, law Law, err error) {
				require.NoError(t, err)
				require.InDelta(t, want, law.LogLabels[loser], 1e-9, name)
				require.InDelta(t, 1, total(law), 1e-11, name)
			}
			law, err := exponential(t, b).Law(h)
			check("exponential", -g/b-math.Log1p(math.Exp(-g/b)), law, err)
			law, err = permuteAndFlip(t, b).Law(h)
			check("permute-and-flip", -g/b-math.Ln2, law, err)
			law, err = lnmax(t, b).ContinuousLaw(h)
			check("continuous", math.Log1p(g/b/2)-math.Ln2-g/b, law, err)
			m, wins := lnmax(t, b), g+1 // the loser's lead in noise that makes it win
			if reversed && g > 0 {
				wins = g
			} else if reversed {
				return // no loser
			}
			law, err = m.Law(h)
			q := -math.Expm1(-1 / b) // 1-r
			r := 1 - q
			c := 1 + 2*r*r/(q*(1+r))
			check("discrete", 2*math.Log(q/(1+r))-wins/b+math.Log((wins+c)/q+r/q/q), law, err)
		}
	})
}

// For a wide sigma the lattice is fine: integer noise is continuous noise with
// ties, and uniform ties put the mass of ties where continuous noise has it.
func TestDiscreteLawApproachesContinuous(t *testing.T) {
	m, h := gnmax(t, 300), histogram(t, 1000, 700, 700, 0)
	discrete, err := m.lawWithTies(h, uniformTies)
	require.NoError(t, err)
	continuous, err := m.ContinuousLaw(h)
	require.NoError(t, err)
	for i := range continuous.LogLabels {
		require.InDelta(t, continuous.LogLabels[i], discrete.LogLabels[i], 1e-5)
	}
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
		laws = append(laws,
			func(h Histogram) (Law, error) { return g.lawWithTies(h, uniformTies) },
			func(h Histogram) (Law, error) { return l.lawWithTies(h, uniformTies) })
		if sigma > 0.1 {
			laws = append(laws, g.ContinuousLaw, c.ContinuousLaw, l.ContinuousLaw)
		}
		for _, law := range laws {
			l, err := law(h)
			require.NoError(t, err)
			require.InDelta(t, 1, total(l), 1e-11)
		}
	})
}

// One of many classes is ahead: the peak is narrow, sigma/sqrt K, and the slope of the integrand steep, K/b.
func TestLawManyClasses(t *testing.T) {
	for _, lead := range []int{1, 6} {
		counts := make([]int, 300)
		counts[7] = lead
		for _, law := range []lawFunc{
			gnmax(t, 1).ContinuousLaw, gnmax(t, 1).Law, lnmax(t, 1).ContinuousLaw, lnmax(t, 1).Law,
			exponential(t, 1).Law, permuteAndFlip(t, 1).Law,
		} {
			l, err := law(histogram(t, counts...))
			require.NoError(t, err)
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
		_, err := m.Law(h)
		require.Error(t, err)
		_, err = m.ContinuousLaw(h)
		require.Error(t, err)
		_, err = m.Law(Histogram{})
		require.Error(t, err)
	}
	_, err := confident(t, 1, 1e9, 1).Law(histogram(t, 1, 0))
	require.Error(t, err)
	_, err = gnmax(t, 1e9).Law(histogram(t, 1, 0))
	require.Error(t, err)
	_, err = lnmax(t, 1e9).Law(histogram(t, 1, 0))
	require.Error(t, err)
	for _, law := range []func(Histogram) (Law, error){exponential(t, 1e-3).Law, permuteAndFlip(t, 1e-3).Law} {
		l, err := law(h)
		require.NoError(t, err, "closed forms refuse nothing")
		require.InEpsilon(t, -0x1p40*1e3, l.LogLabels[1], 1e-9)
		_, err = law(Histogram{})
		require.Error(t, err)
	}
}
