package dataset

import (
	"fmt"
	"math"
	"slices"
)

// scale brings columns of numbers to mean 0 and deviation 1 over public rows. The zero
// scale leaves numbers as they are, as for pixels.
type scale struct {
	Mean []float64 `json:"mean,omitempty"`
	SD   []float64 `json:"sd,omitempty"` // 0 for a column that does not vary over public rows
}

// fitScale looks at public rows. What is not finite is left out.
func fitScale(source rowSource) (scale, error) {
	_, cols := source.size()
	s := scale{Mean: make([]float64, cols), SD: make([]float64, cols)}
	count := make([]float64, cols)
	err := source.each(func(_ int, row []float64) error { // Welford
		for j, v := range row {
			if math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
				continue
			}
			count[j]++
			d := v - s.Mean[j]
			s.Mean[j] += d / count[j]
			s.SD[j] += d * (v - s.Mean[j])
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	for j := range s.SD {
		if s.SD[j] = math.Sqrt(s.SD[j] / max(1, count[j])); math.IsNaN(s.SD[j]) || math.IsInf(s.SD[j], 0) || s.SD[j] < 1e-9*math.Abs(s.Mean[j]) {
			s.SD[j] = 0
		}
	}
	if slices.Max(s.SD) == 0 {
		return s, fmt.Errorf("no column varies over the public rows")
	}
	return s, nil
}

// numbersClip is how many deviations from the mean a number may be. Embeddings have
// longer tails than the columns of a table.
const numbersClip = 6

// apply writes a row. A number that is not known becomes the public mean.
func (s scale) apply(dst []float32, row []float64) {
	if s.Mean == nil {
		for j, v := range row {
			dst[j] = float32(v)
		}
		return
	}
	for j, v := range row {
		switch {
		case s.SD[j] == 0 || math.IsNaN(v):
			dst[j] = 0
		default:
			dst[j] = float32(max(-numbersClip, min(numbersClip, (v-s.Mean[j])/s.SD[j])))
		}
	}
}
