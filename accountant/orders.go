package accountant

import (
	"fmt"
	"math"
	"slices"
)

// DefaultOrders returns a fresh copy of the default grid of Rényi orders: 1.01 to 1.06, 1.1 to 10.9 by 0.1,
// 11 to 64, geometric to 2^20, and +Inf, which stands for the pure bound (the sum of worst-case losses).
// Low orders serve large epsilons, high ones little noise spent or tiny deltas.
func DefaultOrders() []float64 {
	orders := []float64{1.01, 1.03, 1.06}
	for i := 11; i <= 109; i++ {
		orders = append(orders, float64(i)/10)
	}
	for i := 11; i <= 64; i++ {
		orders = append(orders, float64(i))
	}
	for i := 1; i <= 16; i++ {
		orders = append(orders, math.Round(64*math.Exp2(float64(i)/4)))
	}
	for o := 2048.0; o <= 1<<20; o *= 2 {
		orders = append(orders, o)
	}
	return append(orders, math.Inf(1))
}

// checkOrders returns a sorted copy without repeats.
func checkOrders(orders []float64) ([]float64, error) {
	out := slices.Clone(orders)
	for _, a := range out {
		if !(a > 1) {
			return nil, fmt.Errorf("accountant: RDPConfig.Orders: order %v is not above 1", a)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
