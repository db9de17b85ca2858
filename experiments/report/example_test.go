package report_test

import (
	"log"
	"os"

	"github.com/pate-go/pate/experiments"
	"github.com/pate-go/pate/experiments/report"
	"github.com/pate-go/pate/internal/table"
)

// The table of a comparison with one method.
func ExampleTable() {
	epsilon := 1.93
	r := &experiments.Result{Rows: []experiments.Row{{Method: "pate/gnmax", Epsilon: &epsilon, Accuracy: 0.958}}}
	if err := report.Table(r).Write(os.Stdout, table.CSV); err != nil {
		log.Fatal(err)
	}
	// Output:
	// method,ε,test %,±,labels,right %,noise
	// pate/gnmax,1.9300,95.80,,,,
}
