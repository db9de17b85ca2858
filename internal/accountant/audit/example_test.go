package audit_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/accountant/audit"
)

// A coin that tells the truth nine times in ten is sold as 1-differentially private.
func ExampleBlackBox() {
	rnd := rand.New(rand.NewPCG(7, 7))
	about := func(secret bool) audit.Run[bool] {
		return func(uint64) (bool, error) { return secret == (rnd.Float64() < 0.9), nil }
	}
	finding, err := audit.BlackBox(context.Background(), about(true), about(false), audit.Config{
		Claim: audit.Claim{Epsilon: 1}, Alpha: 1e-4, Runs: 10_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("at least %.1f, refuted: %v\n", finding.Epsilon, finding.Refuted())
	// Output: at least 2.0, refuted: true
}
