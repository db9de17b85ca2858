package bayes

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkMillionDistances adds a step of a million clipped distances at 64 orders.
func BenchmarkMillionDistances(b *testing.B) {
	orders := DefaultOrders()[:64]
	random := rand.New(rand.NewPCG(1, 2))
	distances := make([]float64, 1_000_000)
	for i := range distances {
		distances[i] = min(1, random.ExpFloat64()/2)
	}
	for _, c := range []struct {
		name  string
		steps int
		step  Step
	}{
		{"usual", 1000, Step{SamplingProbability: 0.01, Noise: 1}},
		{"little-noise", 1000, Step{SamplingProbability: 0.01, Noise: 0.3}},
		{"large-sample", 1000, Step{SamplingProbability: 0.2, Noise: 4}},
	} {
		for _, e := range []Estimator{StudentT, Bernstein} {
			b.Run(c.name+"/"+e.String(), func(b *testing.B) {
				for b.Loop() {
					a, err := New(Config{Steps: c.steps, Delta: 1e-6, Orders: orders, Estimator: e, Bound: 1})
					if err != nil {
						b.Fatal(err)
					}
					if err := a.Add(c.step, distances); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
