package experiments

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/rng"
)

// bars is a task of images: a bar that lies, stands or leans, somewhere in noise.
func bars(private, pool, test int) dataset.Task {
	const side = 20
	rnd := rand.New(rand.NewPCG(3, 4))
	shape, classes := dataset.Shape{Rows: side, Cols: side}, []string{"lies", "stands", "leans"}
	set := func(name string, n int) dataset.Set {
		s := dataset.Set{Name: "bars", Classes: classes, Image: shape, X: dense.New(n, side*side)}
		for i := range n {
			img, y, at := dense.Row(s.X, i), i%3, 5+rnd.IntN(10)
			for p := range img {
				img[p] = 0.3 * rnd.Float32()
			}
			for k := 4; k < 16; k++ {
				img[[]int{at*side + k, k*side + at, k*side + (k+at)%side}[y]] = 1
			}
			s.Y, s.Units = append(s.Y, y), append(s.Units, fmt.Sprintf("%s/%d", name, i))
		}
		s.IDs = s.Units
		return s
	}
	return dataset.Task{Name: "bars", Protocol: dataset.Literature, Kind: dataset.Pictures, Image: shape, Classes: classes,
		Private: set("private", private), Pool: set("pool", pool), Test: set("test", test)}
}

// TestVotesOfProjections: features of images are projected on directions of the pool before they vote, the
// same by any number of workers, and what votes still knows the classes.
func TestVotesOfProjections(t *testing.T) {
	cfg := Config{Task: bars(1300, 100, 90), Epsilons: []float64{4}, Delta: 1e-5, Key: rng.SeedKey(7), Dir: t.TempDir(), Workers: 1,
		Teachers: 20, Methods: []string{GNMax, ReverseKNN, Plurality}}
	c := testkit.Must(cfg.withDefaults())
	require.Equal(t, 1024, c.dimensions())
	p := testkit.Must(prepare(t.Context(), c, c.points))
	require.Equal(t, 99, p.private.Cols, "one less than rows of the pool")
	require.Equal(t, 1024, p.pool.Cols, "of students")
	c.Workers = 3
	again := testkit.Must(prepare(t.Context(), c, c.points))
	require.Equal(t, p.private, again.private)
	require.Equal(t, p.asked, again.asked)
	e := testkit.Must(features.Named(c.Features, c.Task.Image))
	of := testkit.Must(c.projected(t.Context(), p.public, c.Task.Pool, e))
	require.Equal(t, p.asked, of, "private rows become what those of the pool do")
	r := testkit.Must(Compare(t.Context(), cfg))
	for _, row := range r.Rows {
		require.Greater(t, row.Accuracy, 0.9, row.Method)
	}

	c.Learner = Learners()[1]
	require.False(t, c.projects(), "of other learners nothing is known")
}
