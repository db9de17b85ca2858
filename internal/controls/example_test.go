package controls_test

import (
	"fmt"

	"github.com/pate-go/pate/internal/controls"
)

// Targets with a mistake made on purpose: an audit must find all of them.
func ExampleBroken() {
	for _, t := range controls.Broken()[:1] {
		fmt.Printf("%s: %s\n", t.Name, t.Mistake)
	}
	// Output: svt-no-query-noise: no noise on the queries (as Stoddard et al. 2014)
}
