package golearn_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/golearn"
	"github.com/pate-go/pate/teachers/teachertest"
)

func TestLearnersKeepTheirPromises(t *testing.T) {
	pool := golearn.Pooling{Rows: 6, Cols: 4, Size: 2}
	learners := map[string]teachers.Learner{
		"naive Bayes": golearn.BernoulliNB{Threshold: 0.5}, "pooled": golearn.BernoulliNB{Threshold: 0.5, Pool: pool},
		"ID3": golearn.BaggedID3{Threshold: 0.5, Trees: 7},
	}
	knn, err := golearn.NewKNN(3, golearn.Pooling{})
	if !errors.Is(err, golearn.ErrNeedsCgo) {
		require.NoError(t, err)
		learners["neighbours"] = knn
	}
	for name, l := range learners {
		t.Run(name, func(t *testing.T) {
			teachertest.TestLearner(t, func() teachers.Learner { return l }, teachertest.Options{Prompt: 20 * time.Second})
		})
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	data := teachers.Dataset{X: teachers.Matrix{Rows: 2, Cols: 4, Stride: 4, Data: make([]float32, 8)}, Y: []int{0, 1}, Classes: 2}
	for name, l := range map[string]teachers.Learner{
		"NaN threshold":      golearn.BernoulliNB{Threshold: math.NaN()},
		"infinite threshold": golearn.BaggedID3{Threshold: math.Inf(1)},
		"negative trees":     golearn.BaggedID3{Trees: -1},
		"other image":        golearn.BernoulliNB{Pool: golearn.Pooling{Rows: 3, Cols: 3, Size: 3}},
		"other rows":         golearn.BernoulliNB{Pool: golearn.Pooling{Rows: 4, Cols: 2, Size: 2}},
		"no multiple":        golearn.BernoulliNB{Pool: golearn.Pooling{Rows: 1, Cols: 4, Size: 2}},
		"pool without size":  golearn.BernoulliNB{Pool: golearn.Pooling{Rows: 2, Cols: 2}},
	} {
		require.Error(t, testkit.Err(l.Fit(context.Background(), data, rand.New(rand.NewPCG(1, 1)))), name)
	}
	require.Error(t, testkit.Err(golearn.NewKNN(0, golearn.Pooling{})))
}

// TestDegenerateFeatures tries a class in which no feature is present, and data of a single feature. On
// both golearn itself panics or gives up.
func TestDegenerateFeatures(t *testing.T) {
	for _, l := range []teachers.Learner{golearn.BernoulliNB{Threshold: 0.5}, golearn.BaggedID3{Threshold: 0.5}} {
		x := teachers.Matrix{Rows: 40, Cols: 1, Stride: 1, Data: make([]float32, 40)}
		y := make([]int, 40)
		for i := range y {
			y[i] = i % 2
			x.Data[i] = float32(i % 2)
		}
		model := testkit.Must(l.Fit(context.Background(), teachers.Dataset{X: x, Y: y, Classes: 2}, rand.New(rand.NewPCG(1, 1))))
		dst := make([]int, 40)
		require.NoError(t, model.Predict(dst, x))
		require.Equal(t, y, dst)

		// The same example has two labels: there is nothing to split on.
		clear(x.Data)
		model = testkit.Must(l.Fit(context.Background(), teachers.Dataset{X: x, Y: y, Classes: 2}, rand.New(rand.NewPCG(1, 1))))
		require.NoError(t, model.Predict(dst, x))
	}
}

// drawn returns uniform features and labels.
func drawn(rnd *rand.Rand, n, features, classes int) teachers.Dataset {
	data := teachers.Dataset{X: dense.New(n, features), Y: make([]int, n), Classes: classes}
	for i := range data.X.Data {
		data.X.Data[i] = rnd.Float32()
	}
	for i := range data.Y {
		data.Y[i] = rnd.IntN(classes)
	}
	return data
}

// TestTreesDependOnTheirSeedAlone fits the same trees many times. golearn walks its maps in another order
// each time. With its own rule and its own class of a node, at least one of the repetitions differs but for
// one chance in 10^6 (measured: a repetition agrees with the first in fewer than half of the cases).
func TestTreesDependOnTheirSeedAlone(t *testing.T) {
	const n = 60
	data := drawn(rand.New(rand.NewPCG(3, 4)), n, 12, 3)
	for i, v := range data.X.Data {
		data.X.Data[i] = float32(math.Round(float64(v)))
	}
	var first []int
	for range 20 {
		model := testkit.Must(golearn.BaggedID3{Threshold: 0.5}.Fit(t.Context(), data, rand.New(rand.NewPCG(5, 6))))
		votes := make([]int, n)
		require.NoError(t, model.Predict(votes, data.X))
		if first == nil {
			first = votes
		}
		require.Equal(t, first, votes)
	}
}
