package trees_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/internal/scores"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/teachertest"
	"github.com/pate-go/pate/teachers/trees"
)

// learners are small enough to be quick.
var learners = map[string]teachers.Learner{
	"forest":            trees.Forest{Trees: 20},
	"forest of 4 bins":  trees.Forest{Trees: 20, Bins: 4, MinLeaf: 2},
	"random thresholds": trees.Forest{Trees: 20, Thresholds: trees.RandomThresholds},
	"booster":           trees.Booster{Rounds: 20},
	"booster of 2 bins": trees.Booster{Rounds: 20, Bins: 2, Rows: 1, Columns: 1},
}

func TestLearnersKeepTheirPromises(t *testing.T) {
	for name, l := range learners {
		t.Run(name, func(t *testing.T) {
			teachertest.TestLearner(t, func() teachers.Learner { return l }, teachertest.Options{})
		})
	}
}

// rings returns rows in the plane whose class is a ring around 0: no linear model is better than chance on
// many rings.
func rings(n, extra int, seed uint64) teachers.Dataset {
	rnd := rand.New(rand.NewPCG(seed, 9))
	cols := 2 + extra
	data := teachers.Dataset{X: teachers.Matrix{Rows: n, Cols: cols, Stride: cols, Data: make([]float32, n*cols)}, Y: make([]int, n), Classes: 6}
	for i := range n {
		x, y := 4*rnd.Float64()-2, 4*rnd.Float64()-2
		data.Y[i] = 1 + min(3, int(2*math.Hypot(x, y)/1.3)) // classes 0 and 5 are absent
		data.X.Data[i*cols], data.X.Data[i*cols+1] = float32(x), float32(y)
		for j := 2; j < cols-1; j++ {
			data.X.Data[i*cols+j] = float32(rnd.IntN(2))
		}
		// The last column is constant.
	}
	return data
}

func TestTreesLearnWhatNoLinearModelDoes(t *testing.T) {
	train, test := rings(800, 3, 1), rings(500, 3, 2)
	for name, l := range map[string]teachers.Learner{
		"forest": trees.Forest{}, "random thresholds": trees.Forest{Thresholds: trees.RandomThresholds}, "booster": trees.Booster{},
	} {
		t.Run(name, func(t *testing.T) {
			model := testkit.Must(l.Fit(t.Context(), train, rand.New(rand.NewPCG(1, 1))))
			answers := make([]int, test.X.Rows)
			require.NoError(t, model.Predict(answers, test.X))
			for _, a := range answers {
				require.True(t, a >= 1 && a <= 4, "class %d is absent", a)
			}
			require.Greater(t, scores.Right(answers, test.Y), 425)
			shares := teachers.Matrix{Rows: 500, Cols: 6, Stride: 6, Data: make([]float32, 3000)}
			require.NoError(t, model.(teachers.Scorer).Scores(shares, test.X))
			for i := range answers {
				sum := float32(0)
				for _, s := range shares.Data[6*i : 6*i+6] {
					require.True(t, s >= 0 && s <= 1)
					sum += s
				}
				require.InDelta(t, 1, sum, 1e-5)
				require.Zero(t, shares.Data[6*i])
			}
		})
	}
}

// TestVotesDoNotDependOnTheNumberOfWorkers trains an ensemble on one worker and on four, and once more with
// other shares around the first teachers' ones.
func TestVotesDoNotDependOnTheNumberOfWorkers(t *testing.T) {
	data, queries := rings(400, 2, 3), rings(60, 2, 4)
	share := make([]int, 400)
	for i := range share {
		share[i] = i % 8
	}
	key := rng.SeedKey(5)
	for name, l := range learners {
		t.Run(name, func(t *testing.T) {
			votes := func(workers int, data teachers.Dataset) []string {
				v := testkit.Must(teachers.Train(t.Context(), teachers.Config{Learner: l, Teachers: 8, Key: key, Workers: workers}, data, share, queries.X))
				columns := make([]string, 8)
				for k := range columns {
					for q := range 60 {
						columns[k] += fmt.Sprint(v.At(q, k))
					}
				}
				return columns
			}
			one := votes(1, data)
			require.Equal(t, one, votes(4, data))

			// One record of teacher 3 has another class: only column 3 may change.
			other := data
			other.Y = slices.Clone(data.Y)
			other.Y[11] = 0
			changed := votes(4, other)
			changed[3] = one[3]
			require.Equal(t, one, changed)
		})
	}
}

func TestOddSharesAreLearnt(t *testing.T) {
	for name, data := range map[string]teachers.Dataset{
		"equal rows of two classes": {X: teachers.Matrix{Rows: 4, Cols: 2, Stride: 2, Data: make([]float32, 8)}, Y: []int{0, 2, 2, 2}, Classes: 3},
		"huge values":               {X: teachers.Matrix{Rows: 4, Cols: 1, Stride: 1, Data: []float32{-math.MaxFloat32, math.MaxFloat32, 0, 1}}, Y: []int{0, 2, 2, 2}, Classes: 3},
		"neighbouring floats":       {X: teachers.Matrix{Rows: 4, Cols: 1, Stride: 1, Data: []float32{1, math.Nextafter32(1, 2), 1, 2}}, Y: []int{0, 2, 0, 2}, Classes: 3},
		"rare class":                {X: teachers.Matrix{Rows: 5, Cols: 1, Stride: 1, Data: []float32{1, 1, 1, 1, 2}}, Y: []int{2, 2, 2, 2, 0}, Classes: 900},
	} {
		for learner, l := range learners {
			t.Run(name+"/"+learner, func(t *testing.T) {
				model := testkit.Must(l.Fit(t.Context(), data, rand.New(rand.NewPCG(1, 1))))
				answers := make([]int, data.X.Rows)
				require.NoError(t, model.Predict(answers, data.X))
				for _, a := range answers {
					require.Contains(t, []int{0, 2}, a)
				}
				if name == "equal rows of two classes" {
					require.Equal(t, []int{2, 2, 2, 2}, answers, "the majority")
				}
			})
		}
	}
}

// TestSettingsThatMakeNoSenseAreRefused: messages name the field and tell nothing about the data.
func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	for field, l := range map[string]teachers.Learner{
		"Trees": trees.Forest{Trees: -1}, "Columns": trees.Forest{Columns: -1}, "MinLeaf": trees.Forest{MinLeaf: -1},
		"Bins": trees.Forest{Bins: 257}, "Thresholds": trees.Forest{Thresholds: 2},
		"Rounds": trees.Booster{Rounds: -1}, "Rate": trees.Booster{Rate: -1}, "L2": trees.Booster{L2: math.NaN()},
		"Depth": trees.Booster{Depth: -2}, "Rows": trees.Booster{Rows: 1.5}, "Booster.Bins": trees.Booster{Bins: 1},
		"Booster.Columns": trees.Booster{Columns: math.Inf(1)},
	} {
		require.ErrorContains(t, testkit.Err(l.Fit(t.Context(), rings(20, 1, 1), rand.New(rand.NewPCG(1, 1)))), field)
	}
}

// A forest tells apart rows whose first feature is negative.
func Example() {
	data := teachers.Dataset{X: blas32.General{Rows: 100, Cols: 2, Stride: 2}, Y: make([]int, 100), Classes: 2}
	for i := range data.Y {
		data.Y[i] = i % 2
		data.X.Data = append(data.X.Data, float32(2*(i%2)-1), float32(i%3))
	}
	model, err := trees.Forest{Trees: 10}.Fit(context.Background(), data, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		log.Fatal(err)
	}
	answers := make([]int, 2)
	err = model.Predict(answers, blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{-1, 1, 1, 1}})
	fmt.Println(answers, err)
	// Output: [0 1] <nil>
}
