package teachers

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
)

func blobs(n, features, classes int, spread float64, seed uint64) Dataset {
	rnd := rand.New(rand.NewPCG(seed, 1))
	d := Dataset{X: dense.New(n, features), Y: make([]int, n), Classes: classes}
	for i := range n {
		d.Y[i] = i % classes
		for j := range features {
			v := spread * rnd.NormFloat64()
			if j%classes == d.Y[i] {
				v++
			}
			dense.Row(d.X, i)[j] = float32(v)
		}
	}
	return d
}

// TestKernelRidgeSolvesItsSystem puts the coefficients back into the equations that they solve, with the
// kernel computed from its definition.
func TestKernelRidgeSolvesItsSystem(t *testing.T) {
	const gamma, lambda = 0.3, 0.2
	d := blobs(150, 7, 3, 0.5, 1)
	m := testkit.Must(KernelRidge{Gamma: gamma, Lambda: lambda}.Fit(context.Background(), d, nil)).(*kernelModel)
	for k := range 3 {
		for i := range d.Y {
			got := lambda * float64(dense.Row(m.coef, k)[i])
			for j := range d.Y {
				var d2 float64
				for f, v := range dense.Row(d.X, i) {
					diff := float64(v) - float64(dense.Row(d.X, j)[f])
					d2 += diff * diff
				}
				got += math.Exp(-gamma*d2) * float64(dense.Row(m.coef, k)[j])
			}
			want := -1.0
			if d.Y[i] == k {
				want = 1
			}
			require.InDelta(t, want, got, 2e-5)
		}
	}
}

func TestSoftmaxGradient(t *testing.T) {
	d := blobs(40, 5, 3, 1, 2)
	loss := newSoftmaxLoss(d.X, d.Y, 3, 0.1)
	rnd := rand.New(rand.NewPCG(3, 3))
	w, grad, scratch := make([]float64, 18), make([]float64, 18), make([]float64, 18)
	for i := range w {
		w[i] = rnd.NormFloat64()
	}
	loss.valueGradient(grad, w)
	for i := range w {
		const h = 1e-2 // float32 products: large steps
		at := w[i]
		w[i] = at + h
		up := loss.valueGradient(scratch, w)
		w[i] = at - h
		down := loss.valueGradient(scratch, w)
		w[i] = at
		require.InDelta(t, (up-down)/(2*h), grad[i], 2e-4)
	}
}

func TestSoftmaxReachesItsMinimum(t *testing.T) {
	d := blobs(60, 5, 3, 1, 4)
	loss := newSoftmaxLoss(d.X, d.Y, 3, 0.01)
	w, grad := make([]float64, 18), make([]float64, 18)
	loss.valueGradient(grad, w)
	start := floats.Norm(grad, 2)
	require.NoError(t, minimise(context.Background(), loss.valueGradient, w, 100, gradientTolerance))
	loss.valueGradient(grad, w)
	require.Less(t, floats.Norm(grad, 2), 10*gradientTolerance*start)
}

func TestMinimiseFindsTheMinimumOfAQuadratic(t *testing.T) {
	// Minimise f = Σ i (x_i - i)²/2, with condition number 50.
	f := func(g, x []float64) float64 {
		v := 0.0
		for i := range x {
			a := float64(i + 1)
			g[i] = a * (x[i] - a)
			v += a * (x[i] - a) * (x[i] - a) / 2
		}
		return v
	}
	x := make([]float64, 50)
	require.NoError(t, minimise(context.Background(), f, x, 200, 1e-9))
	for i, v := range x {
		require.InDelta(t, float64(i+1), v, 1e-4)
	}
	require.ErrorIs(t, minimise(testkit.Ended(), f, make([]float64, 50), 200, 1e-9), context.Canceled)
}

func TestLearnersRefuseParameters(t *testing.T) {
	d := blobs(10, 4, 2, 1, 5)
	for _, l := range []Learner{
		KernelRidge{}, KernelRidge{Gamma: 1}, KernelRidge{Lambda: 1}, KernelRidge{Gamma: -1, Lambda: 1},
		KernelRidge{Gamma: math.NaN(), Lambda: 1}, KernelRidge{Gamma: 1, Lambda: math.Inf(1)},
		Softmax{L2: -1}, Softmax{L2: math.NaN()}, Softmax{L2: math.Inf(1)}, Softmax{Iterations: -1},
		DPSGD{},
	} {
		require.Error(t, testkit.Err(l.Fit(context.Background(), d, rand.New(rand.NewPCG(1, 1)))), "%+v", l)
	}
}

// TestClassesThatAreMissingAreNeverAnswered tries queries however far from the share.
func TestClassesThatAreMissingAreNeverAnswered(t *testing.T) {
	d := blobs(30, 4, 2, 0.1, 6)
	for i := range d.Y {
		d.Y[i] = 1 + 2*d.Y[i]
	}
	d.Classes = 5
	far := dense.New(1, 4)
	far.Data[0] = 1e6
	for _, l := range []Learner{KernelRidge{Gamma: 1, Lambda: .1}, Softmax{}} {
		m := testkit.Must(l.Fit(context.Background(), d, nil))
		dst := []int{-5}
		require.NoError(t, m.Predict(dst, far))
		require.Contains(t, []int{1, 3}, dst[0])
	}
}

func TestCheckMatrix(t *testing.T) {
	m := Matrix{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 2, 3, 4}}
	require.NoError(t, CheckMatrix(m))
	require.NoError(t, CheckMatrix(Matrix{Cols: 3, Stride: 3}), "no rows")
	m.Data[3] = float32(math.Inf(-1))
	require.ErrorContains(t, CheckMatrix(m), "row 1")
	m.Rows = 3
	require.ErrorContains(t, CheckMatrix(m), "malformed")
}

func TestKernelRidgeTakesOnlySharesItCanHold(t *testing.T) {
	d := Dataset{X: dense.New(MaxKernelRows+1, 1), Y: make([]int, MaxKernelRows+1), Classes: 2}
	d.Y[0] = 1
	require.ErrorContains(t, testkit.Err(KernelRidge{Gamma: 1, Lambda: 1}.Fit(context.Background(), d, nil)), "at most")
}
