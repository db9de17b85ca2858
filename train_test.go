package pate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate"
	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/statement"
	"github.com/pate-go/pate/dpsgd"
	"github.com/pate-go/pate/dpsgd/nn"
	"github.com/pate-go/pate/internal/crash"
	"github.com/pate-go/pate/internal/testkit"
	"github.com/pate-go/pate/teachers/votes"
)

func records(n int) dpsgd.Data {
	d := dpsgd.Data{X: blas32.General{Rows: n, Cols: 2, Stride: 2}, Y: make([]int, n)}
	for i := range d.Y {
		d.Y[i] = i % 2
		d.X.Data = append(d.X.Data, float32(1-i%2), float32(i%2))
	}
	return d
}

func softmax(t *testing.T) *nn.Model {
	return testkit.Must(nn.NewSoftmax(2, 2))
}

func config() dpsgd.Config {
	return dpsgd.Config{SamplingProbability: 0.1, Steps: 10, ClipNorm: 1, LearningRate: 1}
}

func trainOptions(t *testing.T) pate.TrainOptions {
	o := labelOptions(t)
	return pate.TrainOptions{Budget: o.Budget, Out: o.Out}
}

func TestTrain(t *testing.T) {
	o, m := trainOptions(t), softmax(t)
	first := testkit.Must(pate.Train(t.Context(), m, records(500), config(), o))
	require.True(t, first.Releasable)
	bound := testkit.Must(accountant.Epsilon(t.Context(), accountant.ByRDP, accountant.AddRemove, o.Delta, first.Event))
	require.LessOrEqual(t, first.Epsilon, o.Epsilon)
	require.Greater(t, bound.Upper, 0.99*o.Epsilon, "the noise is the least that fits")
	cfg := config()
	cfg.NoiseMultiplier = first.NoiseMultiplier
	require.Equal(t, cfg.Event(), first.Event)
	require.EqualValues(t, 1, summary(t, o.Ledger).Commits)

	same := softmax(t)
	again := testkit.Must(pate.Train(t.Context(), same, records(500), config(), o))
	require.True(t, again.Complete)
	require.Equal(t, first.Event, again.Event)
	require.Equal(t, m.Parameters(), same.Parameters(), "it is read from its file")

	other := softmax(t)
	o.Out += "2"
	require.ErrorContains(t, testkit.Err(pate.Train(t.Context(), other, records(499), config(), o)), "takes no more")
	require.Equal(t, softmax(t).Parameters(), other.Parameters(), "as it was")
}

// However a training is interrupted, it goes on to the same model and is charged once.
func TestTrainGoesOn(t *testing.T) {
	var places []string
	_, err := pate.Train(crash.With(t.Context(), func(place string) error {
		places = append(places, place)
		return nil
	}), softmax(t), records(500), config(), trainOptions(t))
	require.NoError(t, err)
	require.Greater(t, len(places), 4)
	stop := errors.New("killed")
	for _, place := range slices.Compact(slices.Sorted(slices.Values(places))) {
		t.Run(place, func(t *testing.T) {
			o, m := trainOptions(t), softmax(t)
			var drawn []byte
			_, err := pate.Train(crash.With(t.Context(), func(at string) error {
				if at != place {
					return nil
				}
				files := testkit.Must(filepath.Glob(filepath.Join(filepath.Dir(o.Out), ".out.*.tmp")))
				if len(files) == 1 {
					drawn, err = os.ReadFile(files[0])
					require.NoError(t, err)
				}
				return stop
			}), m, records(500), config(), o)
			require.ErrorIs(t, err, stop)
			require.Equal(t, softmax(t).Parameters(), m.Parameters(), "as it was")
			require.NoError(t, testkit.Err(pate.Train(t.Context(), m, records(500), config(), o)))
			s := summary(t, o.Ledger)
			require.EqualValues(t, 1, s.Entries)
			require.EqualValues(t, 1, s.Commits)
			file := testkit.Must(os.ReadFile(o.Out))
			if len(drawn) > 0 {
				require.Equal(t, drawn, file, "the same noise")
			}
			require.Empty(t, testkit.Must(filepath.Glob(o.Ledger+".*.key")))
		})
	}
}

// A ledger made to be shared takes labels and a model, and its budget covers both.
func TestLabelsAndAModelOnOneLedger(t *testing.T) {
	o := trainOptions(t)
	o.Epsilon, o.Shared = 6, true
	v := open(t, ensemble(200, 100), votes.Options{Classes: 3, To: 10})
	require.NoError(t, testkit.Err(pate.Label(t.Context(), v, pate.LabelOptions{Budget: o.Budget, Out: o.Out})))
	spent := o
	o.Out += "2"
	require.Equal(t, o.Epsilon, testkit.Must(pate.Train(t.Context(), softmax(t), records(500), config(), o)).Epsilon)
	require.EqualValues(t, 2, summary(t, o.Ledger).Commits)
	spent.Out += "3"
	require.ErrorContains(t, testkit.Err(pate.Train(t.Context(), softmax(t), records(400), config(), spent)), "nothing left for a model")
	require.NoFileExists(t, spent.Out)
}

func TestTrainRefuses(t *testing.T) {
	seed := uint64(1)
	for name, c := range map[string]struct {
		edit func(*dpsgd.Config, *pate.TrainOptions)
		want string
	}{
		"noise":     {func(c *dpsgd.Config, _ *pate.TrainOptions) { c.NoiseMultiplier = 1 }, "finds the noise"},
		"delta":     {func(_ *dpsgd.Config, o *pate.TrainOptions) { o.Delta = 0.01 }, "not below 1/500"},
		"no steps":  {func(c *dpsgd.Config, _ *pate.TrainOptions) { c.Steps = 0 }, "Config.Steps"},
		"no ledger": {func(_ *dpsgd.Config, o *pate.TrainOptions) { o.Ledger = "" }, "Budget.Ledger"},
		"epsilon":   {func(_ *dpsgd.Config, o *pate.TrainOptions) { o.Epsilon = -1 }, ""},
	} {
		o, cfg := trainOptions(t), config()
		c.edit(&cfg, &o)
		require.ErrorContains(t, testkit.Err(pate.Train(t.Context(), softmax(t), records(500), cfg, o)), c.want, name)
		if o.Ledger != "" {
			require.NoFileExists(t, o.Ledger, name)
		}
	}

	// Seeded runs are for experiments, on ledgers of their own.
	train := func(o pate.TrainOptions) (*nn.Model, pate.Trained, error) {
		m := softmax(t)
		trained, err := pate.Train(t.Context(), m, records(500), config(), o)
		return m, trained, err
	}
	seeded, twin, secret := trainOptions(t), trainOptions(t), trainOptions(t)
	seeded.Seed, twin.Seed = &seed, &seed
	m, trained := testkit.Must2(train(seeded))
	require.False(t, trained.Releasable)
	require.False(t, says(seeded.Ledger))
	repeated, _ := testkit.Must2(train(twin))
	require.Equal(t, m.Parameters(), repeated.Parameters())
	seeded.Seed, seeded.Out = nil, seeded.Out+"2"
	require.ErrorContains(t, testkit.Err2(train(seeded)), "noise is seeded, not secret")
	require.NoError(t, testkit.Err2(train(secret)))
	secret.Seed, secret.Out = &seed, secret.Out+"2"
	require.ErrorContains(t, testkit.Err2(train(secret)), "noise is secret, not seeded")
}

// Nothing about the data stands on the ledger but a name under its secret.
func TestTheLedgerDoesNotNameTheData(t *testing.T) {
	o := trainOptions(t)
	require.NoError(t, testkit.Err(pate.Train(context.Background(), softmax(t), records(500), config(), o)))
	text := testkit.Must(os.ReadFile(o.Ledger))
	cfg := config()
	cfg.NoiseMultiplier = 1
	bare := fmt.Sprintf("%x", dpsgd.Fingerprint(softmax(t), records(500), cfg))
	require.NotContains(t, string(text), bare[:12])
}

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
	labels, err := pate.Label(ctx, votes, pate.LabelOptions{Budget: pate.Budget{Epsilon: 2, Delta: 1e-5, Ledger: ledger}, Out: filepath.Join(dir, "labels.csv"), Teachers: 200})
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
	check(model.Predict(ctx, classes, blas32.General{Rows: 2, Cols: 2, Stride: 2, Data: []float32{1, 0, 0, 1}}))
	fmt.Println(classes, "within the budget:", trained.Epsilon <= 3, "- may be released:", says(ledger))
	// Output: [0 1] within the budget: true - may be released: true
}

// agreeing writes votes of two hundred teachers who agree on every record.
func agreeing(classes ...string) string {
	var text strings.Builder
	for _, class := range classes {
		text.WriteString(strings.Repeat(class+",", 199) + class + "\n")
	}
	return text.String()
}

// says reports whether the statement of a ledger says that what was committed may be released.
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
