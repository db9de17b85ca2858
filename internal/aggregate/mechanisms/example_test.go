package mechanisms_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/internal/aggregate/mechanisms"
)

// A mechanism by its name, and what a run of it costs.
func ExampleFind() {
	d, err := mechanisms.Find("gnmax")
	if err != nil {
		log.Fatal(err)
	}
	s := aggregate.Setting{Mechanism: "gnmax", Queries: 100}.With("sigma", 40)
	e, err := d.Event(s)
	if err != nil {
		log.Fatal(err)
	}
	b, err := accountant.Epsilon(context.Background(), accountant.ByRDP, accountant.AddRemove, 1e-5, e)
	fmt.Printf("epsilon %.2f %v\n", b.Upper, err)
	// Output: epsilon 1.48 <nil>
}
