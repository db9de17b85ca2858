package rng

import "math"

// Masses tabulates the law of integer noise on [-Reach, Reach].
type Masses struct {
	Reach int64
	mass  []float64
	below []float64 // P[Z <= m]
}

// NewMasses adds up a law from its lowest number.
func NewMasses(logProb func(int64) float64, reach int64) Masses {
	t := Masses{Reach: reach, mass: make([]float64, 2*reach+1), below: make([]float64, 2*reach+1)}
	sum := 0.0
	for m := -reach; m <= reach; m++ {
		p := math.Exp(logProb(m))
		sum += p
		t.mass[m+reach], t.below[m+reach] = p, math.Min(1, sum)
	}
	return t
}

// At returns P[Z = m] for m in [-Reach, Reach].
func (t Masses) At(m int64) float64 { return t.mass[m+t.Reach] }

// FillAt sets the i-th product to P[Z = m + i stride], all in [-Reach, Reach].
func (t Masses) FillAt(products []float64, m, stride int64) {
	mass := t.mass[m+t.Reach:]
	for i := range products {
		products[i] = mass[int64(i)*stride]
	}
}

// AtMost returns P[Z <= m].
func (t Masses) AtMost(m int64) float64 {
	switch {
	case m < -t.Reach:
		return 0
	case m >= t.Reach:
		return 1
	}
	return t.below[m+t.Reach]
}

// TimesAtMost multiplies the i-th product by P[Z <= m + i stride], stride > 0.
func (t Masses) TimesAtMost(products []float64, m, stride int64) {
	// before is how many of the numbers from m on are below a limit.
	before := func(limit int64) int64 {
		return min(max(0, (limit-m+stride-1)/stride), int64(len(products)))
	}
	none, some := before(-t.Reach), before(t.Reach) // beyond which all are multiplied by 1
	clear(products[:none])
	if products = products[none:some]; len(products) == 0 {
		return
	}
	below := t.below[m+none*stride+t.Reach:]
	if stride == 1 {
		below = below[:len(products)]
		for i := range products {
			products[i] *= below[i]
		}
		return
	}
	for i := range products {
		products[i] *= below[int64(i)*stride]
	}
}

// OneSided returns the law under the condition that Z is not negative.
func (t Masses) OneSided() Masses {
	from := t.AtMost(-1)
	at := Masses{Reach: t.Reach, mass: make([]float64, len(t.mass)), below: make([]float64, len(t.below))}
	for m := int64(0); m <= t.Reach; m++ {
		at.mass[m+t.Reach] = t.mass[m+t.Reach] / (1 - from)
		at.below[m+t.Reach] = math.Min(1, (t.below[m+t.Reach]-from)/(1-from))
	}
	return at
}
