package learn

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/regime"
	"github.com/pate-go/pate/internal/figure"
	"github.com/pate-go/pate/stability"
	"github.com/pate-go/pate/svt"
)

// through returns the curve of f at xs.
func through(t *testing.T, name string, xs []float64, f func(x float64) (float64, error)) figure.Line {
	c := figure.Line{Name: name}
	for _, x := range xs {
		y, err := f(x)
		require.NoError(t, err)
		c.Points = append(c.Points, figure.Point{X: x, Y: y})
	}
	return c
}

func level(name string, xs []float64, y float64) figure.Line {
	return figure.Line{Name: name, Colour: -1, Dashed: true, Points: []figure.Point{{X: xs[0], Y: y}, {X: xs[len(xs)-1], Y: y}}}
}

func steps(from, to, by float64) (xs []float64) {
	for x := from; x <= to; x += by {
		xs = append(xs, x)
	}
	return xs
}

// drawn is the picture of curves, in a page of docs/lecture.
type drawn struct {
	file, x, y string
	logX, logY bool
	curves     []figure.Line
}

// TestFigures draws the pictures of the lecture from laws and accounts.
// UPDATE_GOLDEN=1 rewrites them.
func TestFigures(t *testing.T) {
	for _, d := range []drawn{argmaxFigure(t), stabilityFigure(t), subsampleFigure(t), sparseFigure(t), pateFigure(t), compareFigure(t),
		bayesStepsFigure(t), bayesNoiseFigure(t), bayesOrderFigure(t)} {
		d.compare(t)
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
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), name)
}

func argmaxFigure(t *testing.T) drawn {
	d := drawn{file: "1-noisy-argmax.svg", x: "votes by which class 0 leads, of 100 teachers and two classes", y: "probability of the answer 0"}
	xs := steps(-40, 40, 2)
	for _, sigma := range []float64{5, 10, 20, 40} {
		m, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: sigma, Queries: 1})
		require.NoError(t, err)
		d.curves = append(d.curves, through(t, fmt.Sprintf("σ = %g, ρ = %g", sigma, 1/(sigma*sigma)), xs, func(lead float64) (float64, error) {
			h, err := aggregate.NewHistogram([]int{50 + int(lead/2), 50 - int(lead/2)})
			if err != nil {
				return 0, err
			}
			law, err := m.Law(h)
			return math.Exp(law.LogLabels[0]), err
		}))
	}
	return d
}

func stabilityFigure(t *testing.T) drawn {
	d := drawn{file: "3-stability.svg", x: "distance to instability, in votes", y: "probability of release, ε = 1, δ = 1e-6"}
	xs := steps(0, 30, 1)
	for _, n := range []struct {
		name  string
		noise stability.Noise
	}{{"Laplace noise and a threshold", stability.Laplace}, {"the best that (ε, δ) allows", stability.OneShot}} {
		m, err := stability.NewMStab(stability.MStabConfig{Noise: n.noise, Epsilon: 1, Delta: 1e-6, Questions: 1})
		require.NoError(t, err)
		d.curves = append(d.curves, through(t, n.name, xs, func(x float64) (float64, error) {
			return math.Exp(first(m.Law(int64(x)))), nil
		}))
	}
	return d
}

// subsampleFigure draws what is exact for two letters of shares 0.6 and 0.4: a block of k
// records, k odd, is right with a binomial probability.
func subsampleFigure(t *testing.T) drawn {
	const records = 3 * 3 * 5 * 7 * 11
	d := drawn{file: "4-subsample-aggregate.svg", x: "blocks that 3465 records are dealt to", y: "expected distance, in records", logX: true}
	xs := []float64{3, 5, 7, 9, 11, 15, 21, 33, 45, 63, 77, 99, 165, 231, 315, 385, 495, 693, 1155}
	for _, share := range []float64{0.7, 0.6, 0.55} {
		d.curves = append(d.curves, through(t, fmt.Sprintf("the winner has %g of the records", share), xs, func(blocks float64) (float64, error) {
			k := records / blocks
			right := distuv.Binomial{N: k, P: share}.Survival((k - 1) / 2)
			return max(0, (blocks*(2*right-1)-1)/2), nil
		}))
	}
	m, err := stability.NewMStab(stability.MStabConfig{Noise: stability.Laplace, Epsilon: 1, Delta: 1e-5, Questions: 1})
	require.NoError(t, err)
	need, err := m.DistanceFor(0.95)
	require.NoError(t, err)
	d.curves = append(d.curves, level("released with probability 0.95, ε = 1", xs, float64(need)))
	return d
}

func sparseFigure(t *testing.T) drawn {
	d := drawn{file: "5-sparse-vector.svg", x: "questions, all answered below", y: "loss of these answers", logX: true, logY: true}
	m, err := svt.NewSparseVector(svt.SparseVectorConfig{Noise: svt.DiscreteLaplace, Epsilon: 1, Answers: 1, Sensitivity: 1, Threshold: 0})
	require.NoError(t, err)
	xs := []float64{1, 2, 3, 5, 8, 13, 20, 35, 60, 100, 200, 400, 1000}
	loss := func(law svt.Law, k float64) (float64, error) {
		_, p, err := law.FirstAbove(slices.Repeat([]float64{-10}, int(k)))
		if err != nil {
			return 0, err
		}
		_, q, err := law.FirstAbove(slices.Repeat([]float64{-9}, int(k)))
		return math.Log(p / q), err
	}
	one, err := loss(m.Law(), 1)
	require.NoError(t, err)
	d.curves = []figure.Line{
		through(t, "threshold with one noise for all", xs, func(k float64) (float64, error) { return loss(m.Law(), k) }),
		through(t, "threshold with new noise for each", xs, func(k float64) (float64, error) { return k * one, nil }),
		level("ε₁, the noise of the threshold", xs, svt.ThresholdShare(1, false)),
	}
	return d
}

func pateFigure(t *testing.T) drawn {
	d := drawn{file: "6-pate.svg", x: "labels", y: "ε (δ = 1e-5)"}
	xs := append([]float64{1, 10, 25, 50}, steps(100, 1000, 50)...)
	for _, sigma := range []float64{20, 40, 100} {
		d.curves = append(d.curves, through(t, fmt.Sprintf("GNMax, σ = %g", sigma), xs, func(k float64) (float64, error) {
			return renyiEpsilon(1e-5, accountant.Repeated{Event: accountant.GNMax{Sigma: sigma, Discrete: true}, Count: int64(k)})
		}))
	}
	d.curves = append(d.curves, through(t, "Confident, σ₁ = 150, σ₂ = 40, half answered", xs, func(k float64) (float64, error) {
		return renyiEpsilon(1e-5,
			accountant.Repeated{Event: accountant.Threshold{Sigma: 150, Discrete: true}, Count: int64(2 * k)},
			accountant.Repeated{Event: accountant.GNMax{Sigma: 40, Discrete: true}, Count: int64(k)})
	}))
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
