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
	for i := range products {
		switch {
		case m < -t.Reach:
			products[i] = 0
		case m >= t.Reach:
			return // the rest is multiplied by 1
		default:
			products[i] *= t.below[m+t.Reach]
		}
		m += stride
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
