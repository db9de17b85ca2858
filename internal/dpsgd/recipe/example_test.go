package recipe_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dpsgd/recipe"
	"github.com/pate-go/pate/rng"
)

// One model for a small table: the recipe for its kind, with noise for epsilon 4.
func Example() {
	dir, err := os.MkdirTemp("", "recipe")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	task := table(300, 60)
	result, err := recipe.Run(context.Background(), recipe.Config{
		Task: task, Delta: 1e-4, Key: rng.SeedKey(1), Dir: dir,
		Plans: []recipe.Plan{{Recipe: recipe.Default(recipe.ShapeOf(task), "", "", 4), Epsilon: 4}},
	})
	if err != nil {
		log.Fatal(err)
	}
	row := result.Rows[0]
	fmt.Println(row.Model, "on", row.Features, "- within the budget:", *row.Epsilon <= 4, "- right more often than not:", row.Accuracy > 0.5)
	fmt.Println("releasable:", result.Releasable)
	// Output:
	// linear on raw - within the budget: true - right more often than not: true
	// releasable: false
}

// table is rows of two columns in two classes.
func table(private, test int) dataset.Task {
	part := func(name string, n int) dataset.Set {
		s := dataset.Set{Name: "table", X: blas32.General{Rows: n, Cols: 2, Stride: 2}, Classes: []string{"low", "high"}}
		for i := range n {
			class := i % 2
			s.X.Data = append(s.X.Data, float32(2*class-1)+float32(i%7)/7, float32(i%5)/5)
			s.Y = append(s.Y, class)
			s.IDs = append(s.IDs, fmt.Sprintf("%s/%d", name, i))
		}
		s.Units = s.IDs
		return s
	}
	return dataset.Task{Name: "table", Protocol: dataset.Literature, Classes: []string{"low", "high"},
		Private: part("private", private), Pool: part("pool", test), Test: part("test", test)}
}
