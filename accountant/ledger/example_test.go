package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
)

// A budget that PATE and DP-SGD share. The second cost is chosen after the first answers were seen, so the
// ledger is a filter.
func Example_sharedBudget() {
	budget, err := ledger.New(ledger.Config{ // a path keeps it on disk
		Unit: "patient", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5, Mode: ledger.Filter,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer budget.Close()
	r, err := budget.Reserve(accountant.Repeated{Event: accountant.GNMax{Sigma: 60, Discrete: true}, Count: 150})
	if err != nil {
		log.Fatal(err)
	}
	// Start the mechanism with r, and before its labels leave:
	if err := budget.Commit(r, []byte("labels")); err != nil {
		log.Fatal(err)
	}

	spent, err := budget.Epsilon()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("let through %.2f, left %.2f\n", spent, budget.Left().Epsilon)
	steps := func(noise float64) accountant.Event {
		return accountant.Repeated{Count: 500, Event: accountant.PoissonSampled{Probability: 0.02, Event: accountant.Gaussian{NoiseMultiplier: noise}}}
	}
	noise, err := budget.LeastNoise(context.Background(), func(noise float64) (accountant.Event, error) { return steps(noise), nil })
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("500 steps need noise %.3f\n", noise)
	_, err = budget.Reserve(steps(noise / 2))
	fmt.Println(errors.Is(err, ledger.ErrBudgetExceeded))
	// Output:
	// let through 1.32, left 1.53
	// 500 steps need noise 1.472
	// true
}
