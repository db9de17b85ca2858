package features_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/features"
)

// Oriented gradients of one picture. They depend on that picture alone and cost nothing.
func Example() {
	picture := make([]float32, 28*28)
	for i := range picture {
		picture[i] = float32(i % 28 / 14) // dark to the left
	}
	shape := dataset.Shape{Rows: 28, Cols: 28}
	set := dataset.Set{Image: shape, X: blas32.General{Rows: 1, Cols: 784, Stride: 784, Data: picture}}
	extractor, err := features.Named("hog", shape)
	if err != nil {
		log.Fatal(err)
	}
	x, err := features.Apply(context.Background(), set, extractor, 1)
	fmt.Println(x.Rows, x.Cols, err)
	// Output: 1 2304 <nil>
}
