package svt_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/rng"
	"github.com/pate-go/pate/svt"
)

func reserve(e accountant.Event) *ledger.Reservation {
	budget := must(ledger.New(ledger.Config{
		Unit: "record", Relation: accountant.AddRemove, Epsilon: 2, Delta: 1e-5,
	}))
	return must(budget.Reserve(e))
}

// Thousands of unanimous queries are free. Contested ones are refused, and paid for.
func Example() {
	const queries, refusals = 10_000, 5
	m := must(svt.NewStableSVT(must(svt.CalibrateStableSVT(2, 1e-6, refusals, refusals/(2.0*queries)))))
	// SeedKey repeats itself for this example. For a release use NewKey.
	session := must(svt.Start[string](m, reserve(m.Event()), rng.SeedKey(1)))
	released := 0
	for query := range uint64(queries) {
		label, distance := "cat", int64(120)
		if query%3000 == 2999 {
			distance = 3 // a close vote
		}
		answer, err := session.Ask(query, label, distance)
		if errors.Is(err, svt.ErrExhausted) {
			break
		}
		if answer.Released {
			released++
		}
	}
	fmt.Println(released, "released,", session.Left(), "more refusals to go")
	// Output: 9997 released, 2 more refusals to go
}

// This asks which of the days had a thousand visits or more. The first one found is paid
// for, and the days before it are free.
func ExampleSparseVector() {
	m := must(svt.NewSparseVector(svt.SparseVectorConfig{
		Noise: svt.Geometric, Epsilon: 1, Answers: 1, Sensitivity: 1, Threshold: 1000, Monotone: true,
	}))
	session := must(m.Start(reserve(m.Event()), rng.SeedKey(1)))
	for day, visits := range []int64{320, 280, 410, 1502, 390} {
		above, err := session.Ask(uint64(day), visits)
		fmt.Println(day, above, errors.Is(err, svt.ErrExhausted))
	}
	// Output:
	// 0 false false
	// 1 false false
	// 2 false false
	// 3 true false
	// 4 false true
}

// This prints the agreement that each mechanism needs at the same price: the printed one,
// the same algorithm calibrated, and one-sided noise. In votes the lead is twice that.
func ExampleDistanceFor() {
	old := must(svt.NewMSvec(must(svt.PrintedMSvec(1, 1e-6, 1000, 20))))
	one := must(svt.NewStableSVT(must(svt.CalibrateStableSVT(1, 1e-6, 20, 0.05))))
	for _, m := range []svt.StableMechanism{old, one} {
		d, err := svt.DistanceFor(m, 0.95)
		fmt.Println(d, err)
	}
	// Output:
	// 4624 <nil>
	// 212 <nil>
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
