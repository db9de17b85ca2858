package tune_test

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/internal/tune"
	"github.com/pate-go/pate/rng"
)

// Three students of released labels, which are public, are compared on private rows: one run is the number
// of rows that one of them gets right, with noise that is charged.
func Example() {
	const sigma = 12
	students := []func(x int) bool{
		func(x int) bool { return x > 20 },
		func(x int) bool { return x > 50 },
		func(x int) bool { return x > 80 },
	}
	noise := testkit.Must(rng.NewDiscreteGaussian(sigma))
	law := testkit.Must(tune.NegativeBinomial(1, 9)) // geometric: nine runs are expected
	search := tune.Search{
		Law: law, Settings: len(students), Event: accountant.DiscreteGaussian{Sigma: sigma, Sensitivity: 1}, Relation: accountant.AddRemove,
		Run: func(_ context.Context, r tune.Run) (tune.Outcome, error) {
			right := int64(0)
			for x := range 1000 { // private rows, of which 51 and more are true
				if students[r.Setting](x%100) == (x%100 > 50) {
					right++
				}
			}
			score := float64(right + noise.Sample(r.Key.Derive("score").Stream()))
			return tune.Outcome{Score: score, Output: fmt.Appendf(nil, "student %d", r.Setting)}, nil
		},
	}
	whole := law.Event(search.Event)
	budget := testkit.Must(accountant.Epsilon(context.Background(), accountant.ByRDP, accountant.AddRemove, 1e-5, whole))
	l := testkit.Must(ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 3, Delta: 1e-5, Noise: ledger.SeededNoise}))
	defer l.Close()
	r := testkit.Must(l.Reserve(whole))
	best := testkit.Must(tune.Select(context.Background(), search, r, rng.SeedKey(1)))
	fmt.Printf("%s; all of it within epsilon 0.8: %v\n", best.Output, budget.Upper <= 0.8)
	// Output:
	// student 1; all of it within epsilon 0.8: true
}
