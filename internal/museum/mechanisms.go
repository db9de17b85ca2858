package museum

import (
	"fmt"
	"math"
)

type mechanism func(t *trial) any

func when[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// classical is sqrt(2 ln(1.25e5)), rounded up. This is the noise of the classical Gaussian mechanism at
// epsilon 1, delta 1e-5 and sensitivity 1.
const classical = 4.845

func leads(lead, sigma float64) float64 { return math.Erfc(-lead/sigma/math.Sqrt2) / 2 }

func mechanisms() map[string]mechanism {
	return map[string]mechanism{
		"pategan-one-partition": func(t *trial) any {
			votes := 2 + when(t.right, 1, 3)*t.in // of 5 teachers
			return t.winner(5-votes, votes, 2)
		},
		"pategan-ten-to-delta": func(t *trial) any {
			return t.gaussian(10*t.in, 10*when(t.right, classical, math.Sqrt(2*math.Log(1.25*math.Pow(10, 1e-5)))))
		},
		"pategan-real-records": func(t *trial) any { return fmt.Sprint(t.gaussian(t.in, classical), when(t.right, 0, t.in)) },
		"pategan-data-bounds":  func(t *trial) any { return fmt.Sprint(t.gaussian(t.in, classical), when(t.right, 100, 60+30*t.in)) },
		"pategan-stops-by-votes": func(t *trial) any {
			const lambda, moment, budget = 0.1, 10.0, 2.0
			lead := lambda * when(t.right, 0, float64(60+2*t.in))
			q := (2 + lead) / (4 * math.Exp(lead))
			cost := math.Log((1-q)*math.Pow((1-q)/(1-math.Exp(2*lambda)*q), moment) + q*math.Exp(2*lambda*moment))
			return math.Floor(budget / min(cost, 2*lambda*lambda*moment*(moment+1))) // rounds
		},
		"pategan-noise-lambda":    func(t *trial) any { return t.laplace(2+t.in, when(t.right, 1/0.5, 0.5)) > 5/2 }, // lambda is 0.5
		"reprosyn-categories":     func(t *trial) any { return when(t.right || t.in == 1, fmt.Sprint(t.laplace(t.in, 1)), "none") },
		"datasynthesizer-counts":  func(t *trial) any { return t.laplace(5+t.in, when(t.right, 2, 2.0/20)) },      // of 20 rows
		"diffprivlib-lower-bound": func(t *trial) any { return t.laplace(9*t.in, max(1, when(t.right, 9, 1.0))) }, // squares of the bounds
		"smartnoise-unclipped":    func(t *trial) any { return t.laplace(min(8*t.in, when(t.right, 1, 8)), 1) },
		"smartnoise-analytic-sign": func(t *trial) any {
			const u = 12.94 // sigma = (sqrt(1 + u/2) + sqrt(u/2)) / sqrt(2)
			return t.gaussian(50*t.in, 50*(math.Sqrt(1+u/2)+when(t.right, 1, -1.0)*math.Sqrt(u/2))/math.Sqrt2)
		},
		"jax-one-key": func(t *trial) any {
			first := t.gaussian(t.in, classical)
			return fmt.Sprint(first, " ", when(t.right, t.gaussian(0, classical), first-t.in))
		},
		"tensorflow-no-noise":      func(t *trial) any { return when(t.right, t.gaussian(t.in, classical), t.in) },
		"backpropagation-clipping": func(t *trial) any { return t.gaussian(10*t.in, 10*when(t.right, 16, 16.0/16)) }, // batches of 16
		"tensorflow-microbatches":  func(t *trial) any { return t.gaussian(2*t.in-1, when(t.right, 2, 1.0)*classical) },
		"private-evolution-printed": func(t *trial) any {
			rounds, sigma := when(t.right, 5.0, 20), when(t.right, 2, 1.0)*math.Sqrt2
			return t.gaussian(10*t.in, 10*sigma/math.Sqrt(rounds)) // the mean of all rounds, in tenths
		},
		"apple-daily-budget": func(t *trial) any { return t.hits(when(t.right, 1, 8), 1/(1+math.Exp(2-4*float64(t.in)))) },
		"llamaindex-per-token": func(t *trial) any {
			return t.hits(when(t.right, 1, 100), leads(float64(2*t.in-1), 2*classical)) // two counts, and the L2 norm of a vote
		},
		"hot-pate-argmax": func(t *trial) any { return when(t.right, t.winner(3-t.in, 2+t.in, 2), t.in) }, // votes of 5 teachers
		"private-knn-clip": func(t *trial) any {
			const attributes = 40
			return t.hits(attributes, leads(float64(2*t.in-1)*when(t.right, 1.0/attributes, 1), math.Sqrt2*classical))
		},
		"integer-overflow": func(t *trial) any { return t.laplace(7+t.in-when(t.right, 0, 16*t.in), 1) }, // 4 bits
		"float-rounding": func(t *trial) any {
			sum := float32(1<<24 - 20 + 20*t.in)
			for range 10 {
				sum += 1.25 // the nearest float32
			}
			return t.laplace(when(t.right, 20*t.in, int(sum)-(1<<24-10)), 20) / 20 // rounded
		},
		"float-precision": func(t *trial) any {
			fraction, exponent := math.Frexp(float64(t.laplace(0, 16)))
			return when(t.right, t.laplace(16*t.in, 16), 16*t.in+int(math.Ldexp(math.Round(16*fraction), exponent-4))) // 4 bits
		},
		"pinq-budget":            func(t *trial) any { return fmt.Sprint(t.laplace(t.in, 1), " left ", when(t.right, 0, t.in)) },
		"gaussian-large-epsilon": func(t *trial) any { return t.gaussian(100*t.in, when(t.right, 50.1, 10*classical)) },
		"central-limit":          func(t *trial) any { return t.gaussian(100*t.in*t.hits(1, 0.01), when(t.right, 200.0, 50)) },
		"wishart-noise":          func(t *trial) any { return when(t.right, t.laplace(t.in, 1), t.in+max(t.laplace(0, 1), 0)) },
		"laplace-inverse-scale":  func(t *trial) any { return t.laplace(t.in, when(t.right, 1/0.25, 0.25)) },
	}
}
