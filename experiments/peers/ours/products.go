//go:build peers

package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/pate-go/pate/internal/kernel"
)

// product is an m by n matrix that is a product with k terms: of rows with packed weights ("forward"), or a
// gradient's sum over k rows ("gradient").
type product struct {
	Kind    string
	M, N, K int
	Seconds float64
}

// products multiplies matrices. Work is in GFLOP.
func products() error {
	return serve(func(p product) (timing, error) {
		rnd := rand.New(rand.NewPCG(1, 6))
		random := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rnd.NormFloat64())
			}
			return x
		}
		dst, a, b := make([]float32, p.M*p.N), random(p.M*p.K), random(p.N*p.K)
		var run func()
		switch p.Kind {
		case "forward":
			var weights kernel.Packed[float32]
			weights.PackBT(b, p.K, p.N, p.K)
			run = func() { weights.Mul(dst, p.N, a, p.K, p.M) }
		case "gradient":
			run = func() { kernel.AddATB(dst, p.N, a, p.M, b, p.N, p.M, p.N, p.K) }
		default:
			return timing{}, fmt.Errorf("no such product: %q", p.Kind)
		}
		run()
		return repeat(p.Seconds, func() (float64, error) {
			run()
			return 2 * float64(p.M) * float64(p.N) * float64(p.K) / 1e9, nil
		})
	})
}
