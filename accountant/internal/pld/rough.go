package pld

import (
	"math"
	"sort"

	"github.com/pate-go/pate/internal/mathx"
)

// roughLaw approximates the privacy loss distribution of one step, to choose numerical parameters. No bound
// depends on roughLaw.
type roughLaw struct{ loss, logw []float64 }

func (s roughLaw) top(lambda float64) float64 {
	top := math.Inf(-1)
	for i, l := range s.loss {
		if e := s.logw[i] + lambda*l; e > top {
			top = e
		}
	}
	return top
}

func (s roughLaw) cumulant(lambda float64) float64 {
	top, sum := s.top(lambda), 0.0
	for i, l := range s.loss {
		if w := s.logw[i] + lambda*l - top; !(w < -60) {
			sum += math.Exp(w)
		}
	}
	return top + math.Log(sum)
}

func (s roughLaw) moments(lambda float64) (k, k1, k2 float64) {
	top := s.top(lambda)
	var few [256]float64 // avoids the heap for most distributions
	weights := few[:0]
	if len(s.loss) > len(few) {
		weights = make([]float64, 0, len(s.loss))
	}
	sum, m1 := 0.0, 0.0
	for i, l := range s.loss {
		w := s.logw[i] + lambda*l - top
		if w < -60 {
			weights = append(weights, 0)
			continue
		}
		w = math.Exp(w)
		weights = append(weights, w)
		sum += w
		m1 += w * l
	}
	m1 /= sum
	m2 := 0.0
	for i, l := range s.loss {
		if w := weights[i]; w != 0 {
			m2 += w * (l - m1) * (l - m1)
		}
	}
	return top + math.Log(sum), m1, m2 / sum
}

func (s roughLaw) mirror() roughLaw {
	n := len(s.loss)
	m := roughLaw{make([]float64, n), make([]float64, n)}
	for i := range n {
		m.loss[n-1-i] = -s.loss[i]
		m.logw[n-1-i] = s.logw[i] - s.loss[i]
	}
	return m
}

func (m mixture) roughLaw(zhi float64) roughLaw {
	const zlo, most = -10.0, 4000
	step := math.Max(math.Min(0.25, m.sigma/2), (zhi-zlo)/most)
	var s roughLaw
	for z := zlo; z <= zhi; z += step {
		l := m.loss(z)
		s.loss = append(s.loss, l)
		s.logw = append(s.logw, mathx.LogNormalPDF(z)+l+math.Log(step))
	}
	return s
}

func (e exponential) roughLaw() roughLaw {
	const n = 200
	var s roughLaw
	step := 2 * e.epsilon / n
	weight := e.logWeight() + math.Log(step)
	for i := range n {
		l := -e.epsilon + (float64(i)+0.5)*step
		s.loss = append(s.loss, l)
		s.logw = append(s.logw, weight+l/2)
	}
	if e.atoms {
		s.loss = append(append([]float64{-e.epsilon}, s.loss...), e.epsilon)
		s.logw = append(append([]float64{-math.Ln2 - e.epsilon}, s.logw...), -math.Ln2)
	}
	return s
}

// widths chooses the widths of grid cells. The mass at loss l has the weight e^(lambda l). The error of a
// cell is about its weighted mass times its squared width. So the best width is proportional to (weighted
// density)^(-1/3). If rare is true, rare losses determine the result. The width is then also limited in
// proportion to |loss|.
func (s roughLaw) widths(lambda, h float64, rare bool) gridWidths {
	n := len(s.loss)
	dens := make([]float64, n)
	peak := math.Inf(-1)
	for i := range s.loss {
		j := min(i+1, n-1)
		gap := s.loss[j] - s.loss[max(j-1, 0)]
		dens[i] = s.logw[i] + lambda*s.loss[i] - math.Log(gap+h)
		peak = math.Max(peak, dens[i])
	}
	limit := math.Max(1, 0.1/((lambda+1)*h))
	allowed := func(from, to float64) float64 { // log of the width allowed at the thickest point of the range
		i, d := sort.SearchFloat64s(s.loss, from), math.Inf(-1)
		for i = max(0, i-1); i < n; i++ {
			d = math.Max(d, dens[i])
			if s.loss[i] > to {
				break
			}
		}
		return (peak - 4 - d) / 3
	}
	return func(from, step float64) int {
		w, logTwice := 1.0, math.Ln2
		limit := limit
		if rare {
			limit = math.Max(1, math.Min(limit, math.Abs(from)/(64*h)))
		}
		for w < limit && allowed(math.Min(from, from+2*w*step), math.Max(from, from+2*w*step)) >= logTwice {
			w, logTwice = 2*w, logTwice+math.Ln2
		}
		return int(w)
	}
}
