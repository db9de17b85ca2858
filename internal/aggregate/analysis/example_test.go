package analysis_test

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/analysis"
)

func ExampleAnalyze() {
	votes := func(yield func(aggregate.Histogram, error) bool) {
		for _, counts := range [][]int{{100, 0, 0}, {3, 95, 2}, {40, 35, 25}} {
			if !yield(aggregate.NewHistogram(counts)) {
				return
			}
		}
	}
	r, err := analysis.Analyze(context.Background(), analysis.Mechanism{Noise: 20}, votes, analysis.Options{Delta: 1e-5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("any votes:      ", r.All.Independent.Improved)
	fmt.Println("these votes:    ", r.All.DataDependent.Improved)
	fmt.Println("exact:          ", r.Exact.Forward.Improved)
	fmt.Println("both directions:", r.Exact.Both.Improved)
	// Output:
	// any votes:       0.467141 (private)
	// these votes:     0.390485 (private)
	// exact:           0.286223 (private)
	// both directions: 0.321208 (private)
}
