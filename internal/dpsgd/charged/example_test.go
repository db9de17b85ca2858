package charged_test

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/dpsgd/charged"
)

// What the statistics of 60,000 images cost, before any training.
func ExampleConfig_Events() {
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, accountant.AddRemove, 1e-5, accountant.Composed{Events: charged.Default(60_000).Events()})
	fmt.Printf("%.2f %v\n", b.Upper, err)
	// Output: 0.25 <nil>
}
