package label_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

// Five teachers label three records. An experiment, as the seed says; without one
// the noise is secret.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "votes.csv")
	if err := os.WriteFile(path, []byte("0,0,0,0,0\n1,1,1,1,1\n2,2,2,2,2\n"), 0o600); err != nil {
		panic(err)
	}
	votes, err := votes.Open(context.Background(), []string{path}, votes.Options{Classes: 3})
	if err != nil {
		panic(err)
	}
	seed := uint64(1)
	config := label.Config{
		Ledger:  filepath.Join(dir, "run.jsonl"),
		Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 30, Delta: 1e-5},
		Out:     filepath.Join(dir, "labels.csv"),
		Pool:    "three records",
		Votes:   votes,
		Setting: aggregate.Setting{Mechanism: "gnmax"}, // its noise is chosen
		Seed:    &seed,
	}
	for range 2 {
		result, err := label.Run(context.Background(), config)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d of %d answered with sigma %.3f, releasable %v, complete before %v\n",
			result.Answered, result.Asked, result.Setting.Values["sigma"], result.Releasable, result.Complete)
	}
	labels, err := os.ReadFile(config.Out)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s", labels)
	// Output:
	// 3 of 3 answered with sigma 0.549, releasable false, complete before false
	// 3 of 3 answered with sigma 0.549, releasable false, complete before true
	// query,label_seeded_not_releasable
	// 0,0
	// 1,1
	// 2,2
}
