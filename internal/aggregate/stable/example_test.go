package stable_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pate-go/pate/accountant"
	"github.com/pate-go/pate/internal/aggregate/stable"
)

// The noise with which 200 queries cost an epsilon of 2, and how far ahead a class must be to be released.
func ExampleFit() {
	target := accountant.Target{Epsilon: 2, Delta: 1e-5}
	cfg, err := stable.Fit(stable.Task{Mechanism: stable.MStab, Queries: 200, Delta: 5e-6},
		func(event func(float64) (accountant.Event, error)) (float64, error) {
			noise, _, err := accountant.CalibrateNoise(context.Background(), accountant.RDPConfig{Relation: accountant.AddRemove}.NewAccount, target, event)
			return noise, err
		})
	if err != nil {
		log.Fatal(err)
	}
	m, err := stable.New(cfg)
	if err != nil {
		log.Fatal(err)
	}
	distance, err := m.DistanceFor(0.95)
	fmt.Printf("sigma %.1f, distance %d %v\n", cfg.Sigma, distance, err)
	// Output: sigma 31.3, distance 223 <nil>
}
