package bayes_test

import (
	"fmt"
	"log"

	"github.com/pate-go/pate/internal/accountant/bayes"
)

// Twenty steps in which no record of the sample was further than 0.1 from the others, where the clip norm
// allows 1.
func Example() {
	a, err := bayes.New(bayes.Config{Steps: 20, Delta: 1e-5, Bound: 1})
	if err != nil {
		log.Fatal(err)
	}
	distances := make([]float64, 500)
	for i := range distances {
		distances[i] = 0.1 * float64(i%5) / 4
	}
	for range 20 {
		if err := a.Add(bayes.Step{SamplingProbability: 0.01, Noise: 1}, distances); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(a.Steps())
	// Output: 20
}
