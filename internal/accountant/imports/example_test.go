package imports_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/accountant/imports"
)

// The history of an Opacus accountant, accounted again: noise multiplier, sampling rate and number of
// steps.
func ExampleOpacus() {
	schedule, err := imports.Opacus(strings.NewReader(`[(4.0, 0.01, 10000)]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	bound, err := accountant.Epsilon(context.Background(), accountant.ByRDP, schedule.Relation, 1e-5, schedule.Events...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", bound.Upper)
	// Output: 1.0354
}
