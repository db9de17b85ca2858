package teachers

import (
	"context"
	"math"
)

// lbfgsMemory is the number of past steps kept. Usual numbers are 5 to 20 (Nocedal and Wright 2006, section
// 7.2).
const lbfgsMemory = 10

// minimise descends from x, in place, on a convex function, by limited-memory BFGS with backtracking to
// sufficient decrease (Nocedal and Wright 2006, algorithm 7.5 and condition 3.6a). The function f returns
// the value at x and writes the gradient. The descent ends when the gradient has shrunk by the factor
// tolerance, when no step decreases f any more (float32 products have no more digits), or after the given
// number of steps. Only ctx causes an error.
func minimise(ctx context.Context, f func(grad, x []float64) float64, x []float64, steps int, tolerance float64) error {
	const (
		decrease   = 1e-4 // c1 of the sufficient decrease condition
		backtracks = 30
	)
	n := len(x)
	grad, next, nextGrad, direction := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	value := f(grad, x)
	goal := tolerance * math.Sqrt(dot(grad, grad))
	var past []correction
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		norm := math.Sqrt(dot(grad, grad))
		if norm <= goal {
			return nil
		}
		newton(direction, grad, past)
		slope := dot(direction, grad)
		step := 1.0
		if len(past) == 0 {
			step = min(1, 1/norm)
		}
		accepted := false
		for range backtracks {
			if err := ctx.Err(); err != nil {
				return err
			}
			for i := range x {
				next[i] = x[i] + step*direction[i]
			}
			if nextValue := f(nextGrad, next); nextValue <= value+decrease*step*slope {
				value, accepted = nextValue, true
				break
			}
			step /= 2
		}
		if !accepted {
			return nil
		}
		c := correction{s: make([]float64, n), y: make([]float64, n)}
		if len(past) == lbfgsMemory {
			past = past[1:]
		}
		for i := range x {
			c.s[i], c.y[i] = next[i]-x[i], nextGrad[i]-grad[i]
		}
		c.sy = dot(c.s, c.y)
		copy(x, next)
		grad, nextGrad = nextGrad, grad
		// On a strictly convex function sy > 0. Rounding may break this.
		if c.sy > 1e-12*dot(c.y, c.y) {
			past = append(past, c)
		}
	}
	return nil
}

// correction is one step s and the change y of the gradient along it.
type correction struct {
	s, y []float64
	sy   float64
}

// newton sets d = -H g, where H is the inverse Hessian that past implies. It uses the two-loop recursion,
// algorithm 7.4.
func newton(d, g []float64, past []correction) {
	for i, v := range g {
		d[i] = -v
	}
	if len(past) == 0 {
		return
	}
	alpha := make([]float64, len(past))
	for i := len(past) - 1; i >= 0; i-- {
		c := past[i]
		alpha[i] = dot(c.s, d) / c.sy
		addScaled(d, -alpha[i], c.y)
	}
	last := past[len(past)-1]
	scale := last.sy / dot(last.y, last.y)
	for i := range d {
		d[i] *= scale
	}
	for i, c := range past {
		addScaled(d, alpha[i]-dot(c.y, d)/c.sy, c.s)
	}
}

func dot(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func addScaled(dst []float64, scale float64, v []float64) {
	for i, x := range v {
		dst[i] += scale * x
	}
}
