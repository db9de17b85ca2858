package statement_test

import (
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
)

// What a guarantee means for an attacker, and what an event says in words.
func Example() {
	fmt.Printf("right with a chance of at most %.3f\n", statement.Right(1, 1e-5))
	event := accountant.Repeated{Event: accountant.GNMax{Sigma: 40, Discrete: true}, Count: 500}
	for _, p := range statement.Parts(event) {
		fmt.Printf("%d times %s: %s\n", p.Count, p.Mechanism, p.Parameters)
	}
	// Output:
	// right with a chance of at most 0.731
	// 500 times noisy argmax of votes: discrete Gaussian, σ 40
}
