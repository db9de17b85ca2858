package trees_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/teachers"
	"github.com/pate-go/pate/teachers/trees"
)

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
