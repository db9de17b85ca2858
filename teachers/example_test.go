package teachers_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/teachers"
)

// Twenty teachers, none of which sees a record of another, vote on two public rows.
func Example() {
	key := rng.SeedKey(1)
	private := teachers.Dataset{X: blas32.General{Rows: 400, Cols: 2, Stride: 2}, Y: make([]int, 400), Classes: 2}
	units := make([]string, 400)
	for i := range units {
		units[i] = fmt.Sprint("patient ", i)
		private.Y[i] = i % 2
		private.X.Data = append(private.X.Data, float32(1-i%2), float32(i%2))
	}
	share, err := teachers.Partition(units, 20, key)
	if err != nil {
		log.Fatal(err)
	}
	cfg := teachers.Config{Learner: teachers.KernelRidge{Gamma: 1, Lambda: 0.1}, Teachers: 20, Key: key}
	queries := blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{0.9, 0.1, 0.2, 0.8}}
	votes, err := teachers.Train(context.Background(), cfg, private, share, queries)
	if err != nil {
		log.Fatal(err)
	}
	histogram, err := votes.Histogram(0) // the counts are secret, and do not print
	fmt.Println(histogram, err)
	// Output: aggregate.Histogram(redacted) <nil>
}
