package analysis

import (
	"fmt"
	"math"

	"github.com/pate-go/pate/accountant"
)

// spent is a divergence at each order, summed over queries.
type spent []float64

// add adds times the other's costs; a nil other is zero.
func (s spent) add(other spent, times float64) {
	for i, cost := range other {
		s[i] += times * cost
	}
}

// convert returns the epsilon of s at the best of the orders.
func (s spent) convert(orders []float64, delta float64, rule accountant.Conversion) (epsilon, order float64, err error) {
	epsilon, order = math.Inf(1), orders[0]
	for i, a := range orders {
		at, err := rule.Epsilon(a, math.Max(0, s[i]), delta)
		if err != nil {
			return 0, 0, fmt.Errorf("analysis: %w", err)
		}
		if at < epsilon {
			epsilon, order = at, a
		}
	}
	return epsilon, order, nil
}

// DefaultOrders returns a fresh copy of the orders that are tried, of the published analysis of
// PATE, 2 to 100.5 by 0.5 and 99 above, geometrically to 500, and three below 2.
func DefaultOrders() []float64 {
	orders := []float64{1.25, 1.5, 1.75}
	for a := 2.0; a <= 100.5; a += 0.5 {
		orders = append(orders, a)
	}
	for i := 1; i < 100; i++ {
		orders = append(orders, 100*math.Pow(5, float64(i)/99))
	}
	return orders
}
