package plan_test

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/aggregate/plan"
	"github.com/pate-go/pate/rng"
)

func Example() {
	votes, err := plan.Simulation{Teachers: 250, Classes: 10, Queries: 200, Accuracy: 0.83}.Examples(rng.SeedKey(1))
	if err != nil {
		panic(err)
	}
	best, err := plan.Alternatives(context.Background(), votes, plan.Goal{Epsilon: 2, Delta: 1e-5, MinAccuracy: 0.9})
	if err != nil {
		panic(err)
	}
	fmt.Println(best[0].Mechanism, best[0].Epsilon <= 2, best[0].Accuracy() >= 0.9)
	// Output: confident true true
}
