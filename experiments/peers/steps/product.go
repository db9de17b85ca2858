package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/pate-go/pate/internal/kernel"
)

// products answers lines "forward|gradient m n k seconds" with GFLOP/s of a product m by n
// with k terms, in time on the wall and in processor time: of rows with packed weights, or of
// a gradient's sum over k rows.
func products() error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var kind string
		var m, n, k int
		var seconds float64
		if _, err := fmt.Sscan(in.Text(), &kind, &m, &n, &k, &seconds); err != nil {
			return err
		}
		rnd := rand.New(rand.NewPCG(1, 6))
		random := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rnd.NormFloat64())
			}
			return x
		}
		dst, a, b := make([]float32, m*n), random(m*k), random(n*k)
		var weights kernel.Packed[float32]
		weights.PackBT(b, k, n, k)
		run := func() { weights.Mul(dst, n, a, k, m) }
		if kind == "gradient" {
			run = func() { kernel.AddATB(dst, n, a, m, b, n, m, n, k) }
		}
		run()
		from, used, done := time.Now(), processorTime(), 0.0
		for done == 0 || time.Since(from).Seconds() < seconds {
			run()
			done += 2 * float64(m) * float64(n) * float64(k) / 1e9
		}
		fmt.Println(done/time.Since(from).Seconds(), done/(processorTime()-used).Seconds())
	}
	return in.Err()
}
