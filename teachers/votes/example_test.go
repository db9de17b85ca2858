package votes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pate-go/pate/teachers/votes"
)

// Votes of models trained elsewhere: each line a query, each column a teacher.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "votes")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "votes.csv")
	if err := os.WriteFile(path, []byte("anna,ben,cleo\n0,0,1\n2,,2\n"), 0o600); err != nil {
		panic(err)
	}

	ctx := context.Background()
	source, err := votes.Open(ctx, []string{path}, votes.Options{Classes: 3})
	if err != nil {
		panic(err)
	}
	fmt.Println(source.Teachers(), "teachers,", source.Queries(), "queries")
	for ballot, err := range source.Histograms(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Println(ballot.Query, ballot.Histogram) // a histogram keeps its counts to itself
	}
	// Output:
	// 3 teachers, 2 queries
	// 0 aggregate.Histogram(redacted)
	// 1 aggregate.Histogram(redacted)
}
