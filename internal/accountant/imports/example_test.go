package imports_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/accountant/imports"
	"github.com/pate-go/pate/internal/testkit"
)

// The history of an Opacus accountant, accounted again: noise multiplier, sampling rate and number of
// steps.
func ExampleOpacus() {
	schedule := testkit.Must(imports.Opacus(strings.NewReader(`[(4.0, 0.01, 10000)]`)))
	bound := testkit.Must(accountant.Epsilon(context.Background(), accountant.ByRDP, schedule.Relation, 1e-5, schedule.Events...))
	fmt.Printf("%.4f\n", bound.Upper)
	// Output: 1.0354
}
