package marginals_test

import (
	"fmt"
	"log"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/internal/aggregate/marginals"
	"github.com/pate-go/pate/rng"
)

// How many of 900 people are in each of two groups of one column.
func ExampleMarginals_Release() {
	m, err := marginals.New(marginals.Config{Bins: []int{2}, Sigma: 5, Relation: accountant.AddRemove})
	if err != nil {
		log.Fatal(err)
	}
	budget, err := ledger.New(ledger.Config{Unit: "person", Relation: accountant.AddRemove, Epsilon: 1, Delta: 1e-5})
	if err != nil {
		log.Fatal(err)
	}
	charge, err := budget.Reserve(m.Event())
	if err != nil {
		log.Fatal(err)
	}
	cells := make([][]int, 900)
	for i := range cells {
		cells[i] = []int{i % 3 / 2}
	}
	counts, err := m.Release(charge, rng.SeedKey(1), cells)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(counts[0][0]/100, counts[0][1]/100)
	// Output: 6 3
}
