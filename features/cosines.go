package features

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"gonum.org/v1/gonum/blas/blas32"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
)

const (
	cosinesPrefix = "raw+cosines:"
	maxCosines    = 1 << 12 // bounds the memory for the features of a damaged file
)

// Cosines returns the name of an extractor for tables. The features are the table's columns, and cosines and
// sines of fixed random projections (Rahimi, Recht 2007). With these features a linear model can separate
// classes that no plane separates. The number `count` of cosines and sines must be even, from 2 to 4096. The
// width w is the argument `width`, rounded to two significant digits. If the table has c columns, the cosines
// and sines of rows x and y have an inner product of about c exp(-|x-y|^2/(2 w^2)).
func Cosines(count int, width float64) string {
	return fmt.Sprintf("%s%d:%.2g", cosinesPrefix, count, width)
}

type cosines struct {
	pairs int // of a cosine and a sine
	width float64
	mutex sync.Mutex
	drawn []float64 // projections of the columns so far, pairs of them for each column
}

func parseCosines(name string, shape dataset.Shape) (Extractor, error) {
	count, width, _ := strings.Cut(strings.TrimPrefix(name, cosinesPrefix), ":")
	n, err := strconv.Atoi(count)
	w, not := strconv.ParseFloat(width, 64)
	switch {
	case err != nil, not != nil, n < 2, n > maxCosines, n%2 == 1, !(w > 0), math.IsInf(w, 1), Cosines(n, w) != name:
		return nil, fmt.Errorf("features %.60q are not %sCOUNT:WIDTH", name, cosinesPrefix)
	case shape != dataset.Shape{}:
		return nil, fmt.Errorf("features %q are for tables, and these rows are images", name)
	}
	return &cosines{pairs: n / 2, width: w}, nil
}

func (c *cosines) Name() string { return Cosines(2*c.pairs, c.width) }

func (c *cosines) Dim(shape dataset.Shape) int { return shape.Pixels() + 2*c.pairs }

func (c *cosines) Extract(dst, img []float32, shape dataset.Shape) { extractOne(c, dst, img, shape) }

func (c *cosines) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(c, dst, x, shape)
	projections, angles := c.projections(x.Cols), make([]float64, c.pairs)
	scale := math.Sqrt(float64(x.Cols) / float64(c.pairs))
	for i := range x.Rows {
		row, out := dense.Row(x, i), dense.Row(dst, i)
		clear(angles)
		for j, v := range row {
			if v == 0 { // most indicators of a category
				continue
			}
			step := float64(v) / c.width
			for k, p := range projections[j*c.pairs : (j+1)*c.pairs] {
				angles[k] += step * p
			}
		}
		copy(out, row)
		for k, angle := range angles {
			sin, cos := math.Sincos(angle)
			out[len(row)+k], out[len(row)+c.pairs+k] = float32(scale*cos), float32(scale*sin)
		}
	}
}

func (c *cosines) projections(columns int) []float64 {
	// Entry n is a standard normal number, computed by the method of Box and Muller from the outputs 2n and
	// 2n+1 of SplitMix64 with seed 0 (Steele, Lea, Flood 2014). docs/predict.py repeats this generator.
	c.mutex.Lock()
	defer c.mutex.Unlock()
	uniform := func(n int) float64 {
		z := 0x9e3779b97f4a7c15 * uint64(n+1)
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return float64((z^z>>31)>>11) / (1 << 53)
	}
	for n := len(c.drawn); n < columns*c.pairs; n++ {
		c.drawn = append(c.drawn, math.Sqrt(-2*math.Log1p(-uniform(2*n)))*math.Cos(2*math.Pi*uniform(2*n+1)))
	}
	return c.drawn
}
