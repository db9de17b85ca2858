package museum

import (
	"fmt"
	"math"
)

// one returns 1 if the record is there, and 0 otherwise.
func one(in bool) int { return when(in, 1, 0) }

func when[T any](condition bool, yes, no T) T {
	if condition {
		return yes
	}
	return no
}

// classical is the noise of the classical Gaussian mechanism at epsilon 1, delta 1e-5 and sensitivity 1:
// sqrt(2 ln(1.25/delta)), rounded up.
const classical = 4.845

// mechanisms returns the functions Run by name. The condition "right" marks the line with the mistake.
func mechanisms() map[string]func(c *Chance, in, right bool) string {
	return map[string]func(c *Chance, in, right bool) string{
		"pategan-one-partition": func(c *Chance, in, right bool) string {
			votes := 2 + when(right, 1, 3)*one(in) // of 5 teachers
			return fmt.Sprint(c.winner(5-votes, votes, 2))
		},
		"pategan-ten-to-delta": func(c *Chance, in, right bool) string {
			return fmt.Sprint(c.gaussian(one(in), when(right, classical, math.Sqrt(2*math.Log(1.25*math.Pow(10, 1e-5))))))
		},
		"pategan-real-records": func(c *Chance, in, right bool) string {
			label := c.gaussian(one(in), classical)
			return fmt.Sprint(label, when(in && !right, "a real record", ""))
		},
		"pategan-data-bounds": func(c *Chance, in, right bool) string {
			most := when(right, 100, when(in, 90, 60))
			return fmt.Sprint(most, c.gaussian(one(in), classical))
		},
		"pategan-stops-by-votes": func(c *Chance, in, right bool) string {
			const lambda, moment, budget = 0.1, 10.0, 2.0
			lead := lambda * when(right, 0, float64(60+2*one(in)))
			q := (2 + lead) / (4 * math.Exp(lead))
			cost := math.Log((1-q)*math.Pow((1-q)/(1-math.Exp(2*lambda)*q), moment) + q*math.Exp(2*lambda*moment))
			return fmt.Sprint("rounds ", math.Floor(budget/min(cost, 2*lambda*lambda*moment*(moment+1))))
		},
		"reprosyn-categories": func(c *Chance, in, right bool) string {
			if !in && !right {
				return "no such category"
			}
			return fmt.Sprint(c.laplace(one(in), 1))
		},
		"datasynthesizer-counts": func(c *Chance, in, right bool) string {
			return fmt.Sprint(c.laplace(5+one(in), when(right, 2, 2.0/20))) // of 20 rows
		},
		"diffprivlib-lower-bound": func(c *Chance, in, right bool) string {
			const low, high = -1, 3
			return fmt.Sprint(c.laplace(high*high*one(in), when(right, high*high, math.Max(low*low, low*low))))
		},
		"smartnoise-unclipped": func(c *Chance, in, right bool) string {
			value := 8 * one(in)
			clipped := min(value, 1)
			return fmt.Sprint(c.laplace(when(right, clipped, value), 1))
		},
		"smartnoise-analytic-sign": func(c *Chance, in, right bool) string {
			const u = 12.94 // sigma = (sqrt(1 + u/2) + sqrt(u/2)) / sqrt(2)
			return fmt.Sprint(c.gaussian(10*one(in), 10*(math.Sqrt(1+u/2)+when(right, 1, -1.0)*math.Sqrt(u/2))/math.Sqrt2))
		},
		"jax-one-key": func(c *Chance, in, right bool) string {
			first := c.gaussian(one(in), classical)
			return fmt.Sprint(first, when(right, c.gaussian(0, classical), first-one(in)))
		},
		"tensorflow-no-noise": func(c *Chance, in, right bool) string {
			return fmt.Sprint(when(right, c.gaussian(one(in), classical), one(in)))
		},
		"backpropagation-clipping": func(c *Chance, in, right bool) string {
			return fmt.Sprint(c.gaussian(one(in), when(right, 16, 16.0/16))) // batches of 16
		},
		"tensorflow-microbatches": func(c *Chance, in, right bool) string {
			mean := when(in, 1, -1) // of a microbatch, after clipping
			return fmt.Sprint(c.gaussian(mean, when(right, 2, 1.0)*classical))
		},
		"private-evolution-printed": func(c *Chance, in, right bool) string {
			rounds, sigma := when(right, 5.0, 20), when(right, 2, 1.0)*math.Sqrt2
			return fmt.Sprint(c.gaussian(10*one(in), 10*sigma/math.Sqrt(rounds))) // the mean of all rounds, in tenths
		},
		"apple-daily-budget": func(c *Chance, in, right bool) string {
			truth := 1 / (1 + math.Exp(-2))
			return fmt.Sprint(c.hits(when(right, 1, 8), when(in, truth, 1-truth)))
		},
		"llamaindex-per-token": func(c *Chance, in, right bool) string {
			sigma := math.Sqrt2 * classical
			return fmt.Sprint(c.hits(when(right, 1, 100), leads(when(in, 1, -1.0), math.Sqrt2*sigma)))
		},
		"hot-pate-argmax": func(c *Chance, in, right bool) string {
			votes := 2 + one(in) // of 5 teachers
			return fmt.Sprint(when(right, c.winner(5-votes, votes, 2), one(votes > 5-votes)))
		},
		"pategan-noise-lambda": func(c *Chance, in, right bool) string {
			const lambda = 0.5
			return fmt.Sprint(c.laplace(2+one(in), when(right, 1/lambda, lambda)) > 5/2)
		},
		"private-knn-clip": func(c *Chance, in, right bool) string {
			const attributes = 40
			vote := when(right, 1.0/attributes, 1)
			return fmt.Sprint(c.hits(attributes, leads(when(in, vote, -vote), math.Sqrt2*classical)))
		},
		"integer-overflow": func(c *Chance, in, right bool) string {
			sum := 7 + one(in)
			if !right && sum > 7 {
				sum -= 16 // 4 bits
			}
			return fmt.Sprint(c.laplace(sum, 1))
		},
		"float-rounding": func(c *Chance, in, right bool) string {
			sum, exact := float32(1<<24-20*(1-one(in))), 20*one(in)
			for range 10 {
				sum += 1.25 // the nearest float32
			}
			return fmt.Sprint(c.laplace(when(right, exact, int(sum)-(1<<24-10)), 20))
		},
		"float-precision": func(c *Chance, in, right bool) string {
			value := 16 * one(in)
			if right {
				return fmt.Sprint(c.laplace(value, 16))
			}
			fraction, exponent := math.Frexp(float64(c.laplace(0, 16)))
			return fmt.Sprint(value + int(math.Ldexp(math.Round(16*fraction), exponent-4))) // 4 bits
		},
		"pinq-budget": func(c *Chance, in, right bool) string {
			answer := c.laplace(one(in), 1)
			return fmt.Sprint(answer, " left ", when(in && !right, 0.5, 0))
		},
		"gaussian-large-epsilon": func(c *Chance, in, right bool) string {
			return fmt.Sprint(c.gaussian(100*one(in), when(right, 50.1, 10*classical)))
		},
		"central-limit": func(c *Chance, in, right bool) string {
			drawn := c.coin(0.01) && in
			return fmt.Sprint(c.gaussian(100*one(drawn), when(right, 200.0, 50)))
		},
		"wishart-noise": func(c *Chance, in, right bool) string {
			if right {
				return fmt.Sprint(c.laplace(one(in), 1))
			}
			return fmt.Sprint(one(in) + max(c.laplace(0, 1), 0))
		},
		"laplace-inverse-scale": func(c *Chance, in, right bool) string {
			const epsilon = 0.25
			return fmt.Sprint(c.laplace(one(in), when(right, 1/epsilon, epsilon)))
		},
	}
}

// leads returns the probability that a lead plus Gaussian noise is positive.
func leads(lead, sigma float64) float64 { return math.Erfc(-lead/sigma/math.Sqrt2) / 2 }
