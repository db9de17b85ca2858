package student_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/student"
)

// 300 public rows in two clouds, of which six have a released label.
func Example() {
	ctx, rnd := context.Background(), rand.New(rand.NewPCG(1, 2))
	x := blas32.General{Rows: 300, Cols: 2, Stride: 2}
	for i := range x.Rows {
		centre := float32(4 * (i % 2))
		x.Data = append(x.Data, centre+float32(rnd.NormFloat64()), centre+float32(rnd.NormFloat64()))
	}
	pool, err := student.NewPool(ctx, x, student.Config{Components: 2}, rnd)
	if err != nil {
		log.Fatal(err)
	}
	labels := make([]int, x.Rows)
	for i := range labels {
		labels[i] = student.Unlabelled
	}
	for i := range 6 {
		labels[i] = i % 2
	}
	model, err := pool.Fit(ctx, labels, 2)
	if err != nil {
		log.Fatal(err)
	}
	answers := make([]int, 2)
	err = model.Predict(answers, blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{0, 0, 4, 4}})
	fmt.Println(answers, err)
	// Output: [0 1] <nil>
}
