package features

import (
	"math"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"github.com/pate-go/pate/internal/kernel"
	"gonum.org/v1/gonum/blas/blas32"
)

// Deskew shears an image such that strokes are upright, and moves its centre of mass to pixel (Rows/2,
// Cols/2). The shear is mu11/mu02, a quotient of second moments about the centre of mass. Pixels outside of
// the image are 0.
//
// Deskew improves accuracy if slant carries no meaning, as in handwriting. Otherwise it reduces accuracy.
type Deskew struct {
	Of Extractor // extractor of the straightened image; nil returns the pixels
}

func (d Deskew) of() Extractor {
	if d.Of == nil {
		return Raw{}
	}
	return d.Of
}

func (d Deskew) Name() string { return "deskew+" + d.of().Name() }

func (d Deskew) Dim(shape dataset.Shape) int {
	if shape.Rows < 2 || shape.Cols < 2 {
		return 0
	}
	return d.of().Dim(shape)
}

func (d Deskew) Extract(dst, img []float32, shape dataset.Shape) { extractOne(d, dst, img, shape) }

func (d Deskew) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(d, dst, x, shape)
	upright := dst
	if d.Of != nil {
		upright = dense.New(x.Rows, x.Cols)
	}
	s := newStraightener(shape)
	for i := range x.Rows {
		s.deskew(dense.Row(upright, i), dense.Row(x, i))
	}
	if d.Of != nil {
		extractBatch(d.Of, dst, upright, shape)
	}
}

type moments struct{ mass, cx, cy, mu11, mu02 float64 }

func measure(img []float32, shape dataset.Shape) moments {
	var m, sx, sy, sxy, syy float64
	for y := range shape.Rows {
		// Two sums run in parallel, because additions to a single sum would wait for each other.
		var row, rowX [2]float64
		line := img[y*shape.Cols : (y+1)*shape.Cols]
		fx := 0.0
		for ; len(line) >= 2; line = line[2:] {
			a, b := float64(line[0]), float64(line[1])
			row[0], row[1] = row[0]+a, row[1]+b
			rowX[0], rowX[1] = rowX[0]+a*fx, rowX[1]+b*(fx+1)
			fx += 2
		}
		for _, v := range line {
			row[0], rowX[0] = row[0]+float64(v), rowX[0]+float64(v)*fx
		}
		fy, all, allX := float64(y), row[0]+row[1], rowX[0]+rowX[1]
		m += all
		sx += allX
		sy += fy * all
		sxy += fy * allX
		syy += fy * fy * all
	}
	if m == 0 {
		return moments{}
	}
	cx, cy := sx/m, sy/m
	return moments{mass: m, cx: cx, cy: cy, mu11: sxy/m - cx*cy, mu02: syy/m - cy*cy}
}

type straightener struct {
	shape  dataset.Shape
	padded []float32
}

func newStraightener(shape dataset.Shape) *straightener {
	s := &straightener{shape: shape}
	s.padded = make([]float32, (shape.Rows+1)*s.stride())
	return s
}

func (s *straightener) left() int   { return s.shape.Cols + 1 }
func (s *straightener) stride() int { return s.left() + 2*s.shape.Cols + 1 }

func (s *straightener) deskew(dst, img []float32) {
	// deskew computes out(x, y) = img(cx + (x-X) + a (y-Y), cy + (y-Y)) by bilinear interpolation, where a =
	// mu11/mu02 and (X, Y) is the middle pixel. It copies the image if the mass is 0 or mu02 is near 0.
	m := measure(img, s.shape)
	if !(m.mass > 0) || !(m.mu02 > 1e-6) {
		copy(dst, img)
		return
	}
	shear := m.mu11 / m.mu02
	rows, cols := s.shape.Rows, s.shape.Cols
	for y := range rows {
		copy(s.line(y)[s.left():], img[y*cols:(y+1)*cols])
	}
	for y := range rows {
		fromMiddle := float64(y - rows/2)
		// Along a line, the row and both fractions are constant, because the source moves by 1 with x.
		y0, fy := split(m.cy + fromMiddle)
		x0, fx := split(m.cx - float64(cols/2) + shear*fromMiddle)
		weights := [4]float32{float32((1 - fy) * (1 - fx)), float32((1 - fy) * fx), float32(fy * (1 - fx)), float32(fy * fx)}
		from := s.left() + min(max(x0, -s.left()), cols)
		kernel.Between(dst[y*cols:(y+1)*cols], s.line(y0)[from:][:cols+1], s.line(y0 + 1)[from:][:cols+1], weights)
	}
}

func split(v float64) (int, float64) {
	whole := math.Floor(v)
	return int(whole), v - whole
}

func (s *straightener) line(y int) []float32 {
	if y < 0 || y >= s.shape.Rows {
		y = s.shape.Rows
	}
	return s.padded[y*s.stride():][:s.stride()]
}
