package aggregate_test

import (
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
)

// Charge for the worst case first, then ask.
func Example() {
	mechanism, err := aggregate.NewConfidentGNMax(aggregate.ConfidentGNMaxConfig{
		Threshold: 150, Sigma1: 100, Sigma2: 40, Queries: 1000, Answers: 100,
	})
	if err != nil {
		log.Fatal(err)
	}
	budget, err := ledger.Open("", ledger.Config{
		Unit: "record", Relation: accountant.AddRemove, Epsilon: 4, Delta: 1e-5,
	})
	if err != nil {
		log.Fatal(err)
	}
	charge, err := budget.Reserve(mechanism.Event())
	if err != nil {
		log.Fatal(err)
	}
	// SeedKey repeats itself for this example; what is released needs NewKey.
	session, err := mechanism.Start(charge, aggregate.SeedKey(1))
	if err != nil {
		log.Fatal(err)
	}

	votes := make([]int, 250) // all teachers say class 0
	histogram, err := aggregate.CountVotes(votes, 10)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := session.Ask(1, histogram)
	fmt.Println(answer.Answered, answer.Label, err, session.Releasable())
	fmt.Println(histogram)
	// Output:
	// true 0 <nil> false
	// aggregate.Histogram(redacted)
}

// Beyond what was charged for there are no answers.
func ExampleSession_Ask() {
	mechanism, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 20, Queries: 1})
	if err != nil {
		log.Fatal(err)
	}
	budget, err := ledger.Open("", ledger.Config{
		Unit: "user", Relation: accountant.AddRemove, Epsilon: 1, Delta: 1e-5,
	})
	if err != nil {
		log.Fatal(err)
	}
	charge, err := budget.Reserve(mechanism.Event())
	if err != nil {
		log.Fatal(err)
	}
	session, err := mechanism.Start(charge, aggregate.SeedKey(1))
	if err != nil {
		log.Fatal(err)
	}
	votes, err := aggregate.NewHistogram([]int{240, 10})
	if err != nil {
		log.Fatal(err)
	}
	for _, query := range []uint64{1, 1, 2} {
		answer, err := session.Ask(query, votes)
		fmt.Println(query, answer.Label, errors.Is(err, aggregate.ErrExhausted))
	}
	// Output:
	// 1 0 false
	// 1 0 false
	// 2 -1 true
}

// How likely is the right answer when 60 of 100 teachers agree?
func ExampleGNMax_Law() {
	mechanism, err := aggregate.NewGNMax(aggregate.GNMaxConfig{Sigma: 20, Queries: 1})
	if err != nil {
		log.Fatal(err)
	}
	votes, err := aggregate.NewHistogram([]int{60, 30, 10})
	if err != nil {
		log.Fatal(err)
	}
	law, err := mechanism.Law(votes)
	if err != nil {
		log.Fatal(err)
	}
	for class, logProb := range law.LogLabels {
		fmt.Printf("class %d: %.4f\n", class, math.Exp(logProb))
	}
	// Output:
	// class 0: 0.8412
	// class 1: 0.1343
	// class 2: 0.0245
}
