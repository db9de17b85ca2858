package learn

import (
	"context"
	"flag"
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

var long = flag.Bool("long", false, "play all of what tests take a sample of")

// drawn is a picture of docs/lecture.
type drawn struct {
	file, x, y string
	logX, logY bool
	curves     []figure.Line
}

// add adds the curve of f at xs.
func (d *drawn) add(t *testing.T, name string, xs []float64, f func(x float64) (float64, error)) {
	c := figure.Line{Name: name}
	for _, x := range xs {
		y, err := f(x)
		require.NoError(t, err)
		c.Points = append(c.Points, figure.Point{X: x, Y: y})
	}
	d.curves = append(d.curves, c)
}

// level adds a dashed line.
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
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), name)
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
