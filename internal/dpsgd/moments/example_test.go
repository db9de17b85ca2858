package moments_test

import (
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/internal/dpsgd/moments"
	"github.com/pate-go/pate/rng"
)

// The mean of 10,000 rows (0.6, 0.8), with noise that costs an epsilon near 1.
func ExampleEstimateMean() {
	x := blas32.General{Rows: 10_000, Cols: 2, Stride: 2}
	for range x.Rows {
		x.Data = append(x.Data, 0.6, 0.8)
	}
	cfg := moments.Config{ClipNorm: 1, NoiseMultiplier: 4, Records: 10_000}
	budget, err := ledger.New(ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 1.5, Delta: 1e-5})
	if err != nil {
		log.Fatal(err)
	}
	charge, err := budget.Reserve(cfg.Event())
	if err != nil {
		log.Fatal(err)
	}
	mean, err := moments.EstimateMean(context.Background(), dpsgd.Data{X: x}, cfg, charge, rng.SeedKey(1))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f\n", mean.Vector)
	// Output: [0.60 0.80]
}
