package museum

import (
	"fmt"
	"math"
	"math/rand/v2"
)

type trial struct {
	in          int // 1 with the record, 0 without it
	right       bool
	rnd         *rand.Rand // nil enumerates
	picked, of  []int      // choice and number of choices along this path
	at          int        // length of the path so far
	probability float64    // of the path
	laws        map[noise][]float64
}

type noise struct {
	value    int
	scale    float64
	gaussian bool
}

func (m mechanism) enumerate(in int, right bool) map[string]float64 {
	t, law := &trial{in: in, right: right, laws: map[noise][]float64{}}, map[string]float64{}
	for {
		t.at, t.probability = 0, 1
		output := fmt.Sprint(m(t))
		law[output] += t.probability
		last := len(t.of) - 1
		for last >= 0 && t.picked[last] == t.of[last]-1 {
			last--
		}
		if last < 0 {
			return law
		}
		t.picked, t.of = t.picked[:last+1], t.of[:last+1]
		t.picked[last]++
	}
}

func (t *trial) pick(law []float64) (i int) {
	if t.rnd != nil {
		for u := t.rnd.Float64(); i < len(law)-1 && u >= law[i]; i++ {
			u -= law[i]
		}
		return i
	}
	if t.at == len(t.of) {
		t.picked, t.of = append(t.picked, 0), append(t.of, len(law))
	}
	i = t.picked[t.at]
	t.at++
	t.probability *= law[i]
	return i
}

func (t *trial) hits(n int, heads float64) int {
	law, p := make([]float64, n+1), math.Pow(1-heads, float64(n))
	for k := range law {
		law[k] = p
		p *= float64(n-k) / float64(k+1) * heads / (1 - heads)
	}
	return t.pick(law)
}

func (t *trial) laplace(value int, scale float64) int { return t.noisy(noise{value, scale, false}) }

func (t *trial) gaussian(value int, sigma float64) int { return t.noisy(noise{value, sigma, true}) }

// noisy returns n.value plus discrete noise, clamped to a range that does not depend on n.value.
func (t *trial) noisy(n noise) int {
	reach := 40 + 12*int(math.Ceil(n.scale))
	law := t.laws[n]
	if law == nil {
		total := 0.0
		law = make([]float64, 2*reach+1)
		for k := -3 * reach; k <= 3*reach; k++ {
			z := math.Abs(float64(k-n.value)) / n.scale
			w := math.Exp(-when(n.gaussian, z*z/2, z))
			law[min(max(k, -reach), reach)+reach] += w
			total += w
		}
		for i := range law {
			law[i] /= total
		}
		t.laws[n] = law
	}
	return t.pick(law) - reach
}

func (t *trial) winner(zero, one int, scale float64) int {
	return when(t.laplace(one, scale) > t.laplace(zero, scale), 1, 0)
}
