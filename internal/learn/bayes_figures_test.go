package learn

import (
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

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/accountant/bayes"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/internal/namedsets"
	"github.com/pate-go/pate/internal/opaque"
	"github.com/pate-go/pate/rng"
)

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

// typicalMu accounts for equal steps with noise of so many clip norms, at q = 0.01 and delta_mu = 1e-10.
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

// estimates draws the two limits for samples of several sizes, and the worst case.
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

// worst adds the worst case as a dashed curve.
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

// histogram draws counts of samples of distances in bins of equal width, as steps.
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
	train, test, err := namedsets.MNIST()
	require.NoError(t, err)
	part := func(s dataset.Set) dpsgd.Data {
		head, err := s.Slice(0, 600)
		require.NoError(t, err)
		return dpsgd.Data{X: head.X, Y: head.Y}
	}
	used, unused := part(train), part(test)
	model, err := nn.NewSoftmax(used.X.Cols, 10)
	require.NoError(t, err)
	cfg := dpsgd.Config{SamplingProbability: 1, Steps: 150, ClipNorm: math.Inf(1), LearningRate: 0.5, NonPrivate: true, Workers: 1}
	_, err = dpsgd.Train(t.Context(), model, used, cfg, nil, rng.SeedKey(1))
	require.NoError(t, err)
	rows := make([]int, 600)
	for i := range rows {
		rows[i] = i
	}
	rand.New(rand.NewPCG(3, 3)).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	d := drawn{file: "9-bayes-train-test.svg", x: "distance between the gradients of two records, clip norm 1", y: "% of 300 pairs"}
	var both [2][]float64
	for i, data := range []dpsgd.Data{used, unused} {
		both[i], err = dpsgd.MeasureDistances(model, data, rows, dpsgd.FlatClip(1), dpsgd.Records)
		require.NoError(t, err)
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

// welch returns the two-sided p-value of Welch's test of two means.
func welch(xs, ys []float64) float64 {
	n, m := float64(len(xs)), float64(len(ys))
	meanX, a := stat.MeanVariance(xs, nil)
	meanY, b := stat.MeanVariance(ys, nil)
	a, b = a/n, b/m
	law := distuv.StudentsT{Sigma: 1, Nu: (a + b) * (a + b) / (a*a/(n-1) + b*b/(m-1))}
	return 2 * law.Survival(math.Abs(meanX-meanY)/math.Sqrt(a+b))
}

// fromMedian returns the distances from the median.
func fromMedian(xs []float64) []float64 {
	sorted := slices.Sorted(slices.Values(xs))
	median := (sorted[(len(xs)-1)/2] + sorted[len(xs)/2]) / 2
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = math.Abs(x - median)
	}
	return out
}
