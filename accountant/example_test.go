package accountant_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/accountant/theorems"
)

// What 10,000 steps of DP-SGD and 500 noisy votes cost together.
func ExampleRDP() {
	account, err := accountant.NewRDP(accountant.RDPConfig{Relation: accountant.AddRemove})
	if err != nil {
		panic(err)
	}
	step := accountant.PoissonSampled{Probability: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 4}}
	if err := account.Compose(step, 10000); err != nil {
		panic(err)
	}
	alone, _ := account.Epsilon(context.Background(), 1e-5)
	if err := account.Compose(accountant.GNMax{Sigma: 100}, 500); err != nil {
		panic(err)
	}
	both, _ := account.Epsilon(context.Background(), 1e-5)
	fmt.Printf("%.4f, then %.4f\n", alone.Upper, both.Upper)
	// Output: 1.0354, then 1.7210
}

// The least noise for 500 answers at epsilon 2.
func ExampleCalibrateNoise() {
	cfg := accountant.RDPConfig{Relation: accountant.AddRemove}
	target := accountant.Target{Epsilon: 2, Delta: 1e-5}
	sigma, achieved, err := accountant.CalibrateNoise(context.Background(), cfg.NewAccount, target, func(noise float64) (accountant.Event, error) {
		return accountant.Repeated{Event: accountant.GNMax{Sigma: noise}, Count: 500}, nil
	})
	fmt.Printf("%.2f %v %v\n", sigma, achieved.Upper <= target.Epsilon, err)
	// Output: 67.96 true <nil>
}

func TestMain(m *testing.M) {
	accountant.NewBasic, accountant.NewOptimal, accountant.NewMoments = theorems.NewBasic, theorems.NewOptimal, theorems.NewMoments
	advanced := func(t theorems.Theorem) func(accountant.Relation) (accountant.Accountant, error) {
		return func(r accountant.Relation) (accountant.Accountant, error) { return theorems.NewAdvanced(r, t) }
	}
	accountant.NewAdvanced = advanced(theorems.BestTheorem)
	accountant.NewDworkRoth = advanced(theorems.DworkRoth)
	accountant.NewKairouzOh = advanced(theorems.KairouzOhViswanath)
	accountant.NewZCDP = func(r accountant.Relation, c accountant.Conversion) (accountant.Accountant, error) {
		return theorems.NewZCDP(r, c)
	}
	flag.Parse()
	checked := false
	flag.Visit(func(f *flag.Flag) { checked = checked || f.Name == "rapid.checks" || f.Name == "long" })
	if !checked { // a sample
		_ = flag.Set("rapid.checks", "15")
	}
	os.Exit(m.Run())
}
