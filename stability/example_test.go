package stability_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/stability"
)

func reserve(e accountant.Event) *ledger.Reservation {
	budget := must(ledger.New(ledger.Config{
		Unit: "record", Relation: accountant.ReplaceOne, Epsilon: 4, Delta: 1e-5,
	}))
	return must(budget.Reserve(e))
}

// A landslide leaves without noise. A close vote does not leave.
func Example() {
	m := must(stability.NewMStab(stability.MStabConfig{
		Noise: stability.Laplace, Epsilon: 1, Delta: 1e-6, Questions: 2,
	}))
	// SeedKey repeats itself for this example. For a release use NewKey.
	session := must(stability.Start[int](m, reserve(m.Event()), rng.SeedKey(1)))
	for question, counts := range [][]int{{220, 20, 10}, {90, 85, 75}} {
		winner, distance, err := stability.Plurality(counts, stability.VoteMoves, stability.LowestIndex)
		if err != nil {
			log.Fatal(err)
		}
		answer, err := session.Ask(uint64(question), winner, distance)
		fmt.Println(answer.Released, answer.Value, err)
	}
	// Output:
	// true 0 <nil>
	// false 0 <nil>
}

// This asks which of three suppliers delivers late most often. Any function of any data
// will do, here a function of orders.
func ExampleSubsampleAggregate() {
	type order struct {
		supplier string
		late     bool
	}
	var orders []order
	for i := range 5000 {
		s := []string{"north", "south", "west"}[i%3]
		orders = append(orders, order{s, i%7 == 0 || s == "south" && i%2 == 0})
	}
	worst := func(_ context.Context, part []order) (string, bool) {
		late := map[string]int{}
		for _, o := range part {
			if o.late {
				late[o.supplier]++
			}
		}
		name := ""
		for _, s := range []string{"north", "south", "west"} {
			if late[s] > late[name] {
				name = s
			}
		}
		return name, name != ""
	}
	m := must(stability.NewMStab(stability.MStabConfig{
		Noise: stability.Laplace, Epsilon: 1, Delta: 1e-6, Questions: 1,
	}))
	key := rng.SeedKey(1)
	session := must(stability.Start[string](m, reserve(m.Event()), key))
	split := must(stability.Disjoint(len(orders), 100, key.Derive("split")))
	answer, err := stability.SubsampleAggregate(context.Background(), session, 1, orders, split, worst)
	fmt.Println(answer.Released, answer.Value, err)
	// Output: true south <nil>
}

// This releases the median salary, with noise for the sensitivity that it has at these data.
func ExamplePropose() {
	salaries := make([]float64, 2001)
	for i := range salaries {
		salaries[i] = 30_000 + 20*float64(i)
	}
	p := must(stability.NewPTR(stability.PTRConfig{Bound: 1000, Epsilon: 1, TestEpsilon: 1, Delta: 1e-6}))
	answer := must(stability.Propose(p, reserve(p.Event()), rng.SeedKey(2), salaries, stability.Median(0, 1e6)))
	fmt.Printf("%v %.0f\n", answer.Released, answer.Value)
	// Output: true 49515
}

// This is the first lesson: clip, add up, add noise, divide.
func ExampleMean() {
	ages := make([]float64, 1000)
	for i := range ages {
		ages[i] = 30 + float64(i%21)
	}
	const guess = 40 // public
	for i := range ages {
		ages[i] -= guess
	}
	m := must(stability.NewMean(stability.MeanConfig{
		Records: len(ages), Dimension: 1, Clip: 158, Noise: stability.Laplace, Epsilon: 0.5,
	}))
	mean := must(m.Release(reserve(m.Event()), rng.SeedKey(1), ages))
	fmt.Printf("mean %.1f\n", guess+mean)
	// Output: mean 40.1
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
