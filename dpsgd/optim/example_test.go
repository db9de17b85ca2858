package optim_test

import (
	"fmt"
	"log"

	"github.com/pate-go/pate/dpsgd/optim"
)

// Ten steps of gradient descent with momentum on x², from x = 1.
func Example() {
	o, err := optim.New(optim.Config{Momentum: 0.5}, 1)
	if err != nil {
		log.Fatal(err)
	}
	x := []float64{1}
	for range 10 {
		o.Begin(0.1)
		optim.Apply(o, 0, x, []float64{2 * x[0]})
	}
	fmt.Printf("%.3f\n", x[0])
	// Output: -0.033
}
