package aggregate_test

import (
	"fmt"
	"log"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/rng"
)

// Charge for the worst case first, then ask.
func Example() {
	mechanism := must(aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
		Threshold: 150, Sigma1: 100, Sigma2: 40, Queries: 1000, Answers: 100,
	}))
	budget := must(ledger.New(ledger.Config{
		Unit: "record", Relation: accountant.AddRemove, Epsilon: 4, Delta: 1e-5,
	}))
	charge := must(budget.Reserve(mechanism.Event()))
	// SeedKey repeats itself for this example; what is released needs NewKey.
	session := must(mechanism.Start(charge, rng.SeedKey(1)))

	votes := make([]int, 250) // all teachers say class 0
	histogram := must(aggregate.CountVotes(votes, 10))
	answer, err := session.Ask(1, histogram)
	fmt.Println(answer.Answered, answer.Label, err, session.Releasable())
	fmt.Println(histogram)
	// Output:
	// true 0 <nil> false
	// aggregate.Histogram(redacted)
}

// How likely is the right answer when 60 of 100 teachers agree?
func ExampleGNMax_Law() {
	mechanism := must(aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 20, Queries: 1}))
	for class, logProb := range must(mechanism.Law(must(aggregate.NewHistogram([]int{60, 30, 10})))).LogLabels {
		fmt.Printf("class %d: %.4f\n", class, math.Exp(logProb))
	}
	// Output:
	// class 0: 0.8412
	// class 1: 0.1343
	// class 2: 0.0245
}

// A student that is sure, and is not contradicted, costs no answer.
func ExampleInteractiveGNMax() {
	predictions := [][]float64{{0.01, 0.98, 0.01}, {0.98, 0.01, 0.01}}
	mechanism := must(aggregate.NewInteractiveGNMax(aggregate.InteractiveGNMaxConfig{
		Threshold: 100, Sigma1: 20, Sigma2: 20, Teachers: 250, Confidence: 0.9, Queries: 50, Answers: 10,
		Predict: func(query uint64) ([]float64, error) { return predictions[query], nil },
	}))
	session := must(mechanism.Start(charge(mechanism), rng.SeedKey(1)))
	votes := must(aggregate.NewHistogram([]int{10, 235, 5}))
	for query := range predictions {
		answer, err := session.Ask(uint64(query), votes)
		fmt.Println(answer.Label, answer.Reused, err)
	}
	// Output:
	// 1 true <nil>
	// 1 false <nil>
}

// charge reserves what a mechanism costs in a ledger of its own.
func charge(m interface{ Event() accountant.Event }) *ledger.Reservation {
	budget := must(ledger.New(ledger.Config{
		Unit: "user", Relation: accountant.AddRemove, Epsilon: 10, Delta: 1e-5,
	}))
	return must(budget.Reserve(m.Event()))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
