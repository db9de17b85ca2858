package label_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/ledger"
	"github.com/pate-go/pate/aggregate"
	"github.com/pate-go/pate/teachers/label"
	"github.com/pate-go/pate/teachers/votes"
)

// Label my own votes: five teachers, three records, a budget. The mechanism's noise is chosen for what the
// ledger has left. The seed makes an experiment of it; without one the noise is secret and the labels are
// releasable.
func Example() {
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "votes.csv") // a row a record, a column a teacher
	check(os.WriteFile(path, []byte("0,0,0,0,0\n1,1,1,1,1\n2,2,2,2,2\n"), 0o600))
	votes, err := votes.Open(context.Background(), []string{path}, votes.Options{Classes: 3})
	check(err)
	seed := uint64(1)
	result, err := label.Run(context.Background(), label.Config{
		Ledger:  filepath.Join(dir, "run.jsonl"),
		Account: ledger.Config{Unit: "record", Relation: accountant.AddRemove, Epsilon: 30, Delta: 1e-5},
		Votes:   votes, Pool: "three records", Out: filepath.Join(dir, "labels.csv"),
		Setting: aggregate.Setting{Mechanism: "gnmax"}, Seed: &seed,
	})
	check(err)
	labels, err := os.ReadFile(filepath.Join(dir, "labels.csv"))
	check(err)
	fmt.Printf("%d of %d answered with sigma %.3f\n%s", result.Answered, result.Asked, result.Setting.Values["sigma"], labels)
	// Output:
	// 3 of 3 answered with sigma 0.516
	// query,label_not_releasable
	// 0,0
	// 1,1
	// 2,2
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
