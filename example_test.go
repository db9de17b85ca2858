package pate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/teachers/votes"
)

// Two hundred teachers have voted on three records; what they agree on is released.
func ExampleLabel() {
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	ledger := filepath.Join(dir, "run.jsonl")
	file := filepath.Join(dir, "votes.csv")
	check(os.WriteFile(file, []byte(agreeing("flu", "none", "gout")), 0o600))

	ctx := context.Background()
	votes, err := votes.Open(ctx, []string{file}, votes.Options{ClassNames: []string{"flu", "gout", "none"}})
	check(err)
	labels, err := pate.Label(ctx, votes, pate.LabelOptions{Budget: pate.Budget{Epsilon: 2, Delta: 1e-5, Ledger: ledger}, Out: filepath.Join(dir, "labels.csv"),
		Teachers: 200, TeacherAccuracy: 0.95}) // known from teachers of public rows
	check(err)
	for _, l := range labels.Labels {
		fmt.Println(l.Query, l.Name)
	}
	fmt.Println("within the budget:", labels.Epsilon <= 2, "- may be released:", says(ledger))
	// Output:
	// 0 flu
	// 1 none
	// 2 gout
	// within the budget: true - may be released: true
}

// A model of a thousand records, trained with the noise that the budget asks for.
func ExampleTrain() {
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	ledger := filepath.Join(dir, "model.jsonl")
	data := dpsgd.Data{X: blas32.General{Rows: 1000, Cols: 2, Stride: 2}, Y: make([]int, 1000)}
	for i := range data.Y { // the class is the larger feature
		data.Y[i] = i % 2
		data.X.Data = append(data.X.Data, float32(1-i%2), float32(i%2))
	}
	model, err := nn.NewSoftmax(2, 2)
	check(err)

	ctx := context.Background()
	cfg := dpsgd.Config{SamplingProbability: 0.1, Steps: 50, ClipNorm: 1, LearningRate: 1}
	trained, err := pate.Train(ctx, model, data, cfg, pate.TrainOptions{Budget: pate.Budget{Epsilon: 3, Delta: 1e-5, Ledger: ledger}, Out: filepath.Join(dir, "my.model")})
	check(err)
	classes := make([]int, 2)
	check(model.Predict(ctx, classes, dpsgd.Data{X: blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 0, 0, 1}}}))
	fmt.Println(classes, "within the budget:", trained.Epsilon <= 3, "- may be released:", says(ledger))
	// Output: [0 1] within the budget: true - may be released: true
}

func agreeing(classes ...string) string {
	var text strings.Builder
	for _, class := range classes {
		text.WriteString(strings.Repeat(class+",", 199) + class + "\n")
	}
	return text.String()
}

func says(ledger string) bool {
	file, err := os.Open(ledger)
	check(err)
	defer file.Close()
	page, err := statement.FromReader(ledger, file)
	check(err)
	return page.Release != nil && *page.Release
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
