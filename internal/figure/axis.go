package figure

import (
	"math"
	"strconv"
)

// Axis is a side of a plot. Without ends it is as long as the lines need.
type Axis struct {
	Label     string
	Low, High float64
	Log       bool
	Ticks     []float64 // nil for round numbers
}

// over returns the axis with ends, and with ticks, taken from the values where they are not given.
func (a Axis) over(values []float64) Axis {
	if a.Low == a.High {
		a.Low, a.High = math.Inf(1), math.Inf(-1)
		for _, v := range values {
			if !math.IsInf(v, 0) && (!a.Log || v > 0) {
				a.Low, a.High = min(a.Low, v), max(a.High, v)
			}
		}
		if a.Low > a.High {
			a.Low, a.High = 1, 1
		}
	}
	if a.Ticks == nil {
		a.Ticks = a.round()
	}
	return a
}

// padded returns the axis with ends and ticks, and with space beyond the values where it is linear and its
// ends were not given. Values that are not negative get no end below zero.
func (a Axis) padded(values []float64) Axis {
	if a.Low != a.High || a.Log {
		return a.over(values)
	}
	ends := Axis{Low: a.Low, High: a.High, Ticks: []float64{}}.over(values)
	space := 0.04 * (ends.High - ends.Low)
	low := ends.Low - space
	if ends.Low >= 0 {
		low = max(0, low)
	}
	a.Low, a.High = low, ends.High+space
	return a.over(values)
}

// share returns the position of v between the ends, from 0 to 1. An axis without length has its values in
// the middle.
func (a Axis) share(v float64) float64 {
	low, high := a.Low, a.High
	if low == high {
		return 0.5
	}
	v = min(max(v, low), high)
	if a.Log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return (v - low) / (high - low)
}

// round returns round numbers between the ends.
func (a Axis) round() []float64 {
	var out []float64
	if a.Log {
		mantissas, decades := []float64{1, 2, 5}, math.Log10(a.High/a.Low)
		if decades > 2 {
			mantissas = mantissas[:1]
		}
		skip := max(1, math.Ceil(decades/6))
		for e := math.Floor(math.Log10(a.Low)/skip) * skip; e <= math.Log10(a.High); e += skip {
			for _, m := range mantissas {
				if v := m * math.Pow(10, e); v >= a.Low*(1-1e-9) && v <= a.High*(1+1e-9) {
					out = append(out, v)
				}
			}
		}
		return out
	}
	if !(a.High > a.Low) {
		return []float64{a.Low}
	}
	step := math.Pow(10, math.Floor(math.Log10((a.High-a.Low)/4)))
	for _, m := range []float64{1, 2, 5, 10} {
		if (a.High-a.Low)/(step*m) <= 6 {
			step *= m
			break
		}
	}
	for v := math.Ceil(a.Low/step-1e-9) * step; v <= a.High+step*1e-9; v += step {
		out = append(out, math.Round(v/step)*step+0) // no -0
	}
	return out
}

// text returns the label of a tick.
func text(v float64) string {
	if size := math.Abs(v); size >= 1e5 || size < 1e-3 && size > 0 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64)
}
