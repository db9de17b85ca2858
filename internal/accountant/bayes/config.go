package bayes

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/pate-go/pate/internal/mathx"
)

// MaxOrder is the largest lambda.
const MaxOrder = 1024

// DefaultOrders returns all orders up to 64, then four per doubling, up to MaxOrder.
func DefaultOrders() []int {
	var orders []int
	for lambda := 1; lambda <= 64; lambda++ {
		orders = append(orders, lambda)
	}
	for i := 1; i <= 16; i++ {
		orders = append(orders, int(math.Round(64*math.Exp2(float64(i)/4))))
	}
	return orders
}

// Config fixes an account before the first step. Steps and Delta are required.
type Config struct {
	// Steps is the planned number T of steps. It stands in the exponent of every cost, so it must be fixed
	// in advance. An upper bound is safe.
	Steps int
	// Delta is delta_mu, in (0, 1), for the guarantee and the failures of all estimates together.
	Delta float64
	// Orders are the lambda to try, from 1 to MaxOrder; default DefaultOrders. They are fixed in advance
	// too, as the estimate of each may fail.
	Orders []int
	// Failure is the failure probability of the estimate of one step at one order. By default all together
	// take a tenth of Delta. Steps x orders x Failure must be below Delta.
	Failure float64
	// Estimator is the rule; default Bernstein.
	Estimator Estimator
	// Bound is an upper bound of the distances, such as the clip norm. With it no step costs more than a
	// record at that distance, and the worst-case cost is known. 0 means no bound, which Bernstein does not
	// allow.
	Bound float64
}

const maxSteps = 1 << 30

// complete fills in defaults and checks the rest.
func (c Config) complete() (Config, error) {
	if len(c.Orders) == 0 {
		c.Orders = DefaultOrders()
	}
	c.Orders = slices.Clone(c.Orders)
	slices.Sort(c.Orders)
	c.Orders = slices.Compact(c.Orders)
	if _, err := c.Estimator.MarshalText(); err != nil {
		return c, err
	}
	switch {
	case c.Steps < 1 || c.Steps > maxSteps:
		return c, fmt.Errorf("bayes: Config.Steps is %d, must be in [1, 2^30]", c.Steps)
	case !(c.Delta > 0 && c.Delta < 1):
		return c, fmt.Errorf("bayes: Config.Delta is %g, must lie strictly between 0 and 1", c.Delta)
	case c.Orders[0] < 1 || c.Orders[len(c.Orders)-1] > MaxOrder:
		return c, fmt.Errorf("bayes: Config.Orders must be in [1, %d]", MaxOrder)
	case !(c.Bound >= 0) || !mathx.IsFinite(c.Bound):
		return c, fmt.Errorf("bayes: Config.Bound is %g, must be a finite number, at least 0", c.Bound)
	case c.Estimator == Bernstein && c.Bound == 0:
		return c, errors.New("bayes: Config.Bound is 0: the Bernstein estimator needs clipped distances")
	}
	if c.Failure == 0 {
		c.Failure = c.Delta / 10 / float64(c.Steps) / float64(len(c.Orders))
	}
	if !(c.Failure >= 1e-300 && c.Failure < 0.5) {
		return c, fmt.Errorf("bayes: Config.Failure is %g, must be in [1e-300, 0.5)", c.Failure)
	}
	if !(c.failures() < c.Delta) {
		return c, fmt.Errorf("bayes: %d steps at %d orders fail with probability up to %.3g together, "+
			"which is not below delta %g: lower Config.Failure", c.Steps, len(c.Orders), c.failures(), c.Delta)
	}
	return c, nil
}

// failures bounds the probability that any estimate fails: the union over steps and orders.
func (c Config) failures() float64 {
	return float64(len(c.Orders)) * float64(c.Steps) * c.Failure
}
