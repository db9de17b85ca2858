package museum

import (
	"math"
	"math/rand/v2"
)

// Chance makes the random choices of a mechanism. It draws them, or it enumerates all paths of choices.
type Chance struct {
	rnd    *rand.Rand // nil enumerates
	path   []choice
	at     int     // number of choices made on this path
	weight float64 // probability of this path
	laws   map[noise][]float64
}

type choice struct{ picked, of int }

type noise struct {
	value    int
	scale    float64
	gaussian bool
}

// Draw returns a Chance that draws its choices from rnd.
func Draw(rnd *rand.Rand) *Chance { return &Chance{rnd: rnd, laws: map[noise][]float64{}} }

// paths calls run once for each path of choices, with the probability of the path.
func paths(run func(c *Chance) string, each func(output string, probability float64)) {
	c := Draw(nil)
	for {
		c.at, c.weight = 0, 1
		output := run(c)
		each(output, c.weight)
		for last := len(c.path) - 1; ; last-- {
			if last < 0 {
				return
			}
			if c.path[last].picked++; c.path[last].picked < c.path[last].of {
				break
			}
			c.path = c.path[:last]
		}
	}
}

func (c *Chance) pick(law []float64) (i int) {
	if c.rnd != nil {
		for u := c.rnd.Float64(); i < len(law)-1 && u >= law[i]; i++ {
			u -= law[i]
		}
		return i
	}
	if c.at == len(c.path) {
		c.path = append(c.path, choice{0, len(law)})
	}
	i = c.path[c.at].picked
	c.at++
	c.weight *= law[i]
	return i
}

func (c *Chance) coin(heads float64) bool { return c.pick([]float64{1 - heads, heads}) == 1 }

// hits returns the number of heads of n coins.
func (c *Chance) hits(n int, heads float64) int {
	law := make([]float64, n+1)
	binomial := math.Pow(1-heads, float64(n))
	for k := range law {
		law[k] = binomial
		binomial *= float64(n-k) / float64(k+1) * heads / (1 - heads)
	}
	return c.pick(law)
}

func (c *Chance) laplace(value int, scale float64) int { return c.noisy(noise{value, scale, false}) }

func (c *Chance) gaussian(value int, sigma float64) int { return c.noisy(noise{value, sigma, true}) }

// noisy returns the value plus discrete noise. A result outside the window becomes the nearest end of the
// window. The window does not depend on the value.
func (c *Chance) noisy(n noise) int {
	reach := 40 + 12*int(math.Ceil(n.scale))
	law := c.laws[n]
	if law == nil {
		law = make([]float64, 2*reach+1)
		total := 0.0
		for k := -3 * reach; k <= 3*reach; k++ {
			z := math.Abs(float64(k-n.value)) / n.scale
			if n.gaussian {
				z *= z / 2
			}
			law[min(max(k, -reach), reach)+reach] += math.Exp(-z)
			total += math.Exp(-z)
		}
		for i := range law {
			law[i] /= total
		}
		c.laws[n] = law
	}
	return c.pick(law) - reach
}

// winner returns the class with more votes of two, after Laplace noise on both counts.
func (c *Chance) winner(zero, one int, scale float64) int {
	if c.laplace(one, scale) > c.laplace(zero, scale) {
		return 1
	}
	return 0
}
