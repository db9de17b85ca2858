package theorems_test

import (
	"context"
	"fmt"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
)

// A hundred answers of epsilon 0.1 each, by three theorems.
func Example() {
	run := accountant.Repeated{Event: accountant.PureDP{Epsilon: 0.1}, Count: 100}
	basic, _ := theorems.NewBasic(accountant.AddRemove)
	advanced, _ := theorems.NewAdvanced(accountant.AddRemove, theorems.BestTheorem)
	optimal, _ := theorems.NewOptimal(accountant.AddRemove)
	for _, account := range []accountant.Accountant{basic, advanced, optimal} {
		if err := account.Compose(run, 1); err != nil {
			fmt.Println(err)
			return
		}
		bound, err := account.Epsilon(context.Background(), 1e-6)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%.3f\n", bound.Upper)
	}
	// Output:
	// 10.000
	// 5.756
	// 4.775
}
