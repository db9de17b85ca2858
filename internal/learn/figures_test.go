package learn

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/aggregate/regime"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/opaque"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
	"github.com/pate-go/pate/svt"
)

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// drawn is a picture of docs/lecture.
type drawn struct {
	file, x, y string
	logX, logY bool
	curves     []figure.Line
}

func (d *drawn) add(t *testing.T, name string, xs []float64, f func(x float64) (float64, error)) {
	c := figure.Line{Name: name}
	for _, x := range xs {
		c.Points = append(c.Points, figure.Point{X: x, Y: testkit.Must(f(x))})
	}
	d.curves = append(d.curves, c)
}

func (d *drawn) level(name string, xs []float64, y float64) {
	d.curves = append(d.curves, figure.Line{Name: name, Colour: -1, Dashed: true, Points: []figure.Point{{X: xs[0], Y: y}, {X: xs[len(xs)-1], Y: y}}})
}

func steps(from, to, by float64) (xs []float64) {
	for x := from; x <= to; x += by {
		xs = append(xs, x)
	}
	return xs
}

// TestFigures draws the pictures of the lecture from laws and accounts. UPDATE_GOLDEN=1 rewrites them.
func TestFigures(t *testing.T) {
	figures := []func(*testing.T) drawn{argmaxFigure, stabilityFigure, subsampleFigure, sparseFigure, pateFigure,
		bayesStepsFigure, bayesNoiseFigure, bayesOrderFigure}
	if *long {
		figures = append(figures, compareFigure)
	}
	for _, draw := range figures {
		draw(t).compare(t)
	}
}

// compare requires that the page has this picture. UPDATE_GOLDEN=1 draws it again.
func (d drawn) compare(t *testing.T) {
	f := figure.Figure{Title: d.y + " against " + d.x, X: figure.Axis{Label: d.x, Log: d.logX}, Y: figure.Axis{Label: d.y, Log: d.logY}, Lines: d.curves}
	for i := range f.Lines {
		if f.Lines[i].Colour >= 0 {
			f.Lines[i].Colour = i
		}
	}
	got := f.SVG()
	require.Less(t, len(got), 30000)
	name := filepath.Join("..", "..", "docs", "lecture", d.file)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(name, got, 0o644))
	}
	require.Equal(t, string(testkit.Must(os.ReadFile(name))), string(got), name)
}

func argmaxFigure(t *testing.T) drawn {
	d := drawn{file: "1-noisy-argmax.svg", x: "votes by which class 0 leads, of 100 teachers and two classes", y: "probability of the answer 0"}
	for _, sigma := range []float64{5, 10, 20, 40} {
		m := Must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: sigma, Queries: 1}))
		d.add(t, fmt.Sprintf("σ = %g, ρ = %g", sigma, 1/(sigma*sigma)), steps(-40, 40, 2), func(lead float64) (float64, error) {
			law, err := m.Law(Must(aggregate.NewHistogram([]int{50 + int(lead/2), 50 - int(lead/2)})))
			return math.Exp(law.LogLabels[0]), err
		})
	}
	return d
}

func stabilityFigure(t *testing.T) drawn {
	d := drawn{file: "3-stability.svg", x: "distance to instability, in votes", y: "probability of release, ε = 1, δ = 1e-6"}
	for _, noise := range []stability.Noise{stability.Laplace, stability.OneShot} {
		m := Must(stability.NewMStab(stability.MStabConfig{Noise: noise, Epsilon: 1, Delta: 1e-6, Questions: 1}))
		name := map[stability.Noise]string{stability.Laplace: "Laplace noise and a threshold", stability.OneShot: "the best that (ε, δ) allows"}[noise]
		d.add(t, name, steps(0, 30, 1), func(x float64) (float64, error) { return released(m, int64(x)), nil })
	}
	return d
}

// subsampleFigure is exact for two letters: a block of k records, k odd, is right with a binomial probability.
func subsampleFigure(t *testing.T) drawn {
	const records = 3 * 3 * 5 * 7 * 11
	d := drawn{file: "4-subsample-aggregate.svg", x: "blocks that 3465 records are dealt to", y: "expected distance, in records", logX: true}
	xs := []float64{3, 5, 7, 9, 11, 15, 21, 33, 45, 63, 77, 99, 165, 231, 315, 385, 495, 693, 1155}
	for _, share := range []float64{0.7, 0.6, 0.55} {
		d.add(t, fmt.Sprintf("the winner has %g of the records", share), xs, func(blocks float64) (float64, error) {
			k := records / blocks
			right := distuv.Binomial{N: k, P: share}.Survival((k - 1) / 2)
			return max(0, (blocks*(2*right-1)-1)/2), nil
		})
	}
	m := Must(stability.NewMStab(stability.MStabConfig{Noise: stability.Laplace, Epsilon: 1, Delta: 1e-5, Questions: 1}))
	d.level("released with probability 0.95, ε = 1", xs, float64(Must(m.DistanceFor(0.95))))
	return d
}

func sparseFigure(t *testing.T) drawn {
	d := drawn{file: "5-sparse-vector.svg", x: "questions, all answered below", y: "loss of these answers", logX: true, logY: true}
	m := Must(svt.NewSparseVector(svt.SparseVectorConfig{Noise: svt.DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1, Threshold: 0}))
	xs := []float64{1, 2, 3, 5, 8, 13, 20, 35, 60, 100, 200, 400, 1000}
	loss := func(k float64) float64 {
		return math.Log(allBelow(m.Law(), -10, int(k)) / allBelow(m.Law(), -9, int(k)))
	}
	d.add(t, "threshold with one noise for all", xs, func(k float64) (float64, error) { return loss(k), nil })
	d.add(t, "threshold with new noise for each", xs, func(k float64) (float64, error) { return k * loss(1), nil })
	d.level("ε₁, the noise of the threshold", xs, svt.ThresholdShare(1, false))
	return d
}

func pateFigure(t *testing.T) drawn {
	d := drawn{file: "6-pate.svg", x: "labels", y: "ε (δ = 1e-5)"}
	xs := append([]float64{1, 10, 25, 50}, steps(100, 1000, 50)...)
	answers := func(sigma, k float64) accountant.Event {
		return accountant.Repeated{Event: accountant.GNMax{Sigma: sigma, Discrete: true}, Count: int64(k)}
	}
	for _, sigma := range []float64{20, 40, 100} {
		d.add(t, fmt.Sprintf("GNMax, σ = %g", sigma), xs, func(k float64) (float64, error) { return renyiEpsilon(1e-5, answers(sigma, k)) })
	}
	d.add(t, "Confident, σ₁ = 150, σ₂ = 40, half answered", xs, func(k float64) (float64, error) {
		return renyiEpsilon(1e-5, accountant.Repeated{Event: accountant.Threshold{Sigma: 150, Discrete: true}, Count: int64(2 * k)}, answers(40, k))
	})
	return d
}

func compareFigure(t *testing.T) drawn {
	d := drawn{file: "8-comparing.svg", x: "queries, of which 20 are contested, ε = 2, δ = 1e-5", y: "lead that a query needs, in votes", logX: true, logY: true}
	names := []string{"gnmax", "lnmax", "stable-svt"}
	for _, name := range names {
		d.curves = append(d.curves, figure.Line{Name: name})
	}
	for _, queries := range []int{30, 100, 300, 1000, 3000, 10000, 30000, 100000} {
		a, err := regime.Advise(context.Background(), regime.Regime{Teachers: 1000, Classes: 10, Queries: queries, Epsilon: 2, Delta: 1e-5, Unstable: 20})
		require.NoError(t, err)
		for _, m := range a.Methods {
			if i := slices.Index(names, m.Mechanism); i >= 0 {
				d.curves[i].Points = append(d.curves[i].Points, figure.Point{X: float64(queries), Y: m.GapNeeded})
			}
		}
	}
	return d
}

// weibullNorms returns a sample of norms of shape 0.5, clipped to the clip norm, over it. The
// clip norm is the given quantile of the law.
func weibullNorms(n int, quantile float64) []float64 {
	rnd := rand.New(rand.NewPCG(9, 9))
	clip := math.Pow(-math.Log1p(-quantile), 2)
	out := make([]float64, n)
	for i := range out {
		out[i] = min(1, math.Pow(-math.Log1p(-rnd.Float64()), 2)/clip)
	}
	return out
}

func typicalMu(e bayes.Estimator, steps int, noise float64, norms []float64, orders ...int) (bayes.Figure, error) {
	a, err := bayes.New(bayes.Config{Steps: steps, Delta: 1e-10, Estimator: e, Bound: 1, Orders: orders, Failure: 1e-11 / float64(steps) / 80})
	if err != nil {
		return bayes.Figure{}, err
	}
	err = a.AddRepeated(bayes.Step{SamplingProbability: 0.01, Noise: noise}, norms, steps)
	return a.Figure(), err
}

const muLabel = "ε_µ, no differential privacy (δ_µ = 1e-10)"

func bayesStepsFigure(t *testing.T) drawn {
	d := drawn{file: "9-bayes.svg", x: "steps, q = 0.01, noise of one clip norm", y: muLabel, logX: true}
	xs := []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}
	for _, quantile := range []float64{0.05, 0.25, 0.75, 0.95} {
		norms := weibullNorms(3000, quantile)
		d.add(t, fmt.Sprintf("clip and noise at the %g quantile", quantile), xs, func(steps float64) (float64, error) {
			f, err := typicalMu(bayes.StudentT, int(steps), 1, norms)
			return opaque.Open(f.Opaque()), err
		})
	}
	return d.worst(t, xs, func(steps float64) (bayes.Figure, error) {
		return typicalMu(bayes.StudentT, int(steps), 1, []float64{1, 1})
	})
}

func estimates(t *testing.T, d drawn, xs []float64, at func(e bayes.Estimator, norms []float64, x float64) (bayes.Figure, error), read func(bayes.Figure) opaque.Number) drawn {
	norms := weibullNorms(10000, 0.9995)
	for _, c := range []struct {
		name string
		e    bayes.Estimator
		n    int
	}{{"Student's t, 30 norms", bayes.StudentT, 30}, {"Student's t, 10,000 norms", bayes.StudentT, 10000}, {"Bernstein, 10,000 norms", bayes.Bernstein, 10000}} {
		d.add(t, c.name, xs, func(x float64) (float64, error) {
			f, err := at(c.e, norms[:c.n], x)
			return opaque.Open(read(f)), err
		})
	}
	return d.worst(t, xs, func(x float64) (bayes.Figure, error) { return at(bayes.StudentT, norms[:30], x) })
}

func (d drawn) worst(t *testing.T, xs []float64, at func(x float64) (bayes.Figure, error)) drawn {
	d.add(t, "every record at the clip norm", xs, func(x float64) (float64, error) {
		f, err := at(x)
		return opaque.Open(f.OpaqueWorst()), err
	})
	last := &d.curves[len(d.curves)-1]
	last.Dashed, last.Colour = true, -1
	return d
}

func bayesNoiseFigure(t *testing.T) drawn {
	d := drawn{file: "9-bayes-noise.svg", x: "noise over the clip norm, the 0.9995 quantile; 1000 steps, q = 0.01", y: muLabel}
	return estimates(t, d, []float64{0.8, 0.9, 1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, 5, 6}, func(e bayes.Estimator, norms []float64, noise float64) (bayes.Figure, error) {
		return typicalMu(e, 1000, noise, norms)
	}, bayes.Figure.Opaque)
}

func bayesOrderFigure(t *testing.T) drawn {
	d := drawn{file: "9-bayes-order.svg", x: "λ; 1000 steps, q = 0.01, noise of two clip norms", y: muLabel}
	return estimates(t, d, []float64{4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 30, 31, 32}, func(e bayes.Estimator, norms []float64, lambda float64) (bayes.Figure, error) {
		return typicalMu(e, 1000, 2, norms, int(lambda))
	}, bayes.Figure.OpaqueEstimate)
}

func histogram(t *testing.T, d drawn, name string, xs []float64, top float64) drawn {
	const bins = 20
	counts := make([]float64, bins)
	for _, x := range xs {
		counts[min(bins-1, int(x/top*bins))] += 100 / float64(len(xs))
	}
	c := figure.Line{Name: name}
	for i, y := range counts {
		c.Points = append(c.Points, figure.Point{X: float64(i) * top / bins, Y: y}, figure.Point{X: float64(i+1) * top / bins, Y: y})
	}
	d.curves = append(d.curves, c)
	return d
}

// TestDistancesOfTrainingAndTestRows draws the distances between records of MNIST for a model
// that knows its 600 rows by heart, and compares them with those of fresh rows. The last digits
// of gradients depend on the processor, so the picture itself is not compared.
func TestDistancesOfTrainingAndTestRows(t *testing.T) {
	train, test := testkit.Must2(namedsets.MNIST())
	part := func(s dataset.Set) dpsgd.Data {
		head := testkit.Must(s.Slice(0, 600))
		return dpsgd.Data{X: head.X, Y: head.Y}
	}
	used, unused := part(train), part(test)
	model := testkit.Must(nn.NewSoftmax(used.X.Cols, 10))
	cfg := dpsgd.Config{SamplingProbability: 1, Steps: 150, ClipNorm: math.Inf(1), LearningRate: 0.5, NonPrivate: true, Workers: 1}
	require.NoError(t, testkit.Err(dpsgd.Train(t.Context(), model, used, cfg, nil, rng.SeedKey(1))))
	rows := make([]int, 600)
	for i := range rows {
		rows[i] = i
	}
	rand.New(rand.NewPCG(3, 3)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	d := drawn{file: "9-bayes-train-test.svg", x: "distance between the gradients of two records, clip norm 1", y: "% of 300 pairs"}
	var both [2][]float64
	for i, data := range []dpsgd.Data{used, unused} {
		both[i] = testkit.Must(dpsgd.MeasureDistances(model, data, rows, dpsgd.FlatClip(1), dpsgd.Records))
		d = histogram(t, d, []string{"training rows", "test rows"}[i], both[i], 2)
	}
	means, spreads := welch(both[0], both[1]), welch(fromMedian(both[0]), fromMedian(both[1]))
	t.Logf("Welch's p = %.2g, of distances from the medians (Levene) %.2g", means, spreads)
	require.Less(t, means, 1e-3, "the two laws are not one")
	require.Greater(t, welch(both[1][:150], both[1][150:]), 0.01, "halves of the fresh rows have one law")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		d.compare(t)
	}
	require.FileExists(t, filepath.Join("..", "..", "docs", "lecture", d.file))
}

func welch(xs, ys []float64) float64 {
	n, m := float64(len(xs)), float64(len(ys))
	meanX, a := stat.MeanVariance(xs, nil)
	meanY, b := stat.MeanVariance(ys, nil)
	a, b = a/n, b/m
	law := distuv.StudentsT{Sigma: 1, Nu: (a + b) * (a + b) / (a*a/(n-1) + b*b/(m-1))}
	return 2 * law.Survival(math.Abs(meanX-meanY)/math.Sqrt(a+b))
}

func fromMedian(xs []float64) []float64 {
	sorted := slices.Sorted(slices.Values(xs))
	median := (sorted[(len(xs)-1)/2] + sorted[len(xs)/2]) / 2
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Abs(x - median)
	}
	return out
}

func TestSampPlanReference(t *testing.T) {
	var ref struct {
		Entries []struct {
			N        int
			Eps      float64
			Delta    float64
			Gamma    float64
			Printed  int `json:"models_printed"`
			Chernoff int `json:"models_chernoff"`
			Scan     int `json:"models_exact_binomial_scan"`
			Disjoint int `json:"models_disjoint_partition"`
		}
	}
	testkit.ReadJSON(t, "testdata/msamp.json", &ref)
	require.Len(t, ref.Entries, 4)
	for _, e := range ref.Entries {
		p := testkit.Must(newSampPlan(e.N, e.Eps, e.Delta))
		require.InEpsilon(t, e.Gamma, p.gamma, 1e-9)
		require.Equal(t, []int{e.Printed, e.Chernoff, e.Disjoint}, []int{p.printed, p.chernoff, p.blocks})
		fails := func(m int) float64 {
			return float64(e.N) * distuv.Binomial{N: float64(m), P: p.gamma}.Survival(math.Floor(2*p.gamma*float64(m)))
		}
		// The law has steps. The reference is one number that will do, ours the least.
		require.LessOrEqual(t, fails(e.Scan), e.Delta)
		require.LessOrEqual(t, fails(p.scanned), e.Delta)
		for m := p.scanned - 50; m < p.scanned; m++ {
			require.Greater(t, fails(m), e.Delta)
		}
		require.LessOrEqual(t, p.scanned, e.Scan)
		require.InEpsilon(t, e.Scan, p.scanned, 0.02)
	}
	for _, c := range [][3]float64{{0, 1, 0.1}, {9, 0, 0.1}, {9, 1, 0}, {9, 1, 1}, {9, math.NaN(), 0.1}, {9, 400, 0.1}} {
		require.Error(t, testkit.Err(newSampPlan(int(c[0]), c[1], c[2])))
	}
}

// TestLaplaceClip compares the bound with the exact error on the worst data of bounded second moment, rare
// values twice as far out as the clip: the bound holds, and the printed one does not.
func TestLaplaceClip(t *testing.T) {
	const n = 2000
	for _, eps := range []float64{0.01, 0.1, 1} {
		clip, bound := testkit.Must2(laplaceClip(1, n, eps))
		require.InEpsilon(t, 1.0/n+6/(n*eps), bound, 1e-12)
		p := 1 / (4 * clip * clip)
		exact := (p*clip*clip-p*p*clip*clip)/n + p*p*clip*clip + 8*clip*clip/(n*n*eps*eps)
		require.LessOrEqual(t, exact, bound)
		if eps < 0.15 {
			require.Greater(t, exact, 1.0/n+4/(n*eps), "the printed bound is exceeded")
		}
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		require.Error(t, testkit.Err2(laplaceClip(bad, 10, 1)))
		require.Error(t, testkit.Err2(laplaceClip(1, 10, bad)))
	}
	require.Error(t, testkit.Err2(laplaceClip(1, 0, 1)))
}
