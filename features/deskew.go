package features

import (
	"math"

	"github.com/pate-go/pate/dataset"
	"github.com/pate-go/pate/internal/dense"
	"gonum.org/v1/gonum/blas/blas32"
)

// Deskew shears an image so that its strokes stand upright, moves its centre of
// mass to pixel (Rows/2, Cols/2) and hands it to Of. The shear follows from the
// second moments of the image about its centre of mass, mu11/mu02, so it is found
// from the image alone. Outside the image pixels count as 0.
//
// It helps where slant carries no meaning (handwriting) and hurts where it does.
type Deskew struct {
	Of Extractor // what is computed on the straightened image; nil: its pixels
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

func (d Deskew) Extract(dst, img []float32, shape dataset.Shape) {
	checkLengths(d, dst, img, shape)
	if d.Of == nil {
		deskew(dst, img, shape)
		return
	}
	upright := make([]float32, len(img))
	deskew(upright, img, shape)
	d.Of.Extract(dst, upright, shape)
}

// ExtractBatch implements [Batcher].
func (d Deskew) ExtractBatch(dst, x blas32.General, shape dataset.Shape) {
	checkBatch(d, dst, x, shape)
	upright := dst
	if d.Of != nil {
		upright = blas32.General{Rows: x.Rows, Cols: x.Cols, Stride: x.Cols, Data: make([]float32, x.Rows*x.Cols)}
	}
	for i := range x.Rows {
		deskew(dense.Row(upright, i), dense.Row(x, i), shape)
	}
	if d.Of != nil {
		extractBatch(d.Of, dst, upright, shape)
	}
}

// moments are those of the pixel values as a mass: total, centre, and the second
// central moments per unit of mass (mu11 mixed, mu02 along y).
type moments struct{ mass, cx, cy, mu11, mu02 float64 }

func measure(img []float32, shape dataset.Shape) moments {
	var m, sx, sy, sxy, syy float64
	for y := range shape.Rows {
		var row, rowX float64
		for x, v := range img[y*shape.Cols : (y+1)*shape.Cols] {
			row += float64(v)
			rowX += float64(v) * float64(x)
		}
		fy := float64(y)
		m += row
		sx += rowX
		sy += fy * row
		sxy += fy * rowX
		syy += fy * fy * row
	}
	if m == 0 {
		return moments{}
	}
	cx, cy := sx/m, sy/m
	return moments{mass: m, cx: cx, cy: cy, mu11: sxy/m - cx*cy, mu02: syy/m - cy*cy}
}

// deskew samples out(x, y) = img(cx + (x-X) + a (y-Y), cy + (y-Y)) bilinearly,
// with a = mu11/mu02 and (X, Y) the middle pixel. An image without mass or
// without height (mu02 about 0) is copied.
func deskew(dst, img []float32, shape dataset.Shape) {
	m := measure(img, shape)
	if !(m.mass > 0) || !(m.mu02 > 1e-6) {
		copy(dst, img)
		return
	}
	shear := m.mu11 / m.mu02
	rows, cols := shape.Rows, shape.Cols
	for y := range rows {
		fromMiddle := float64(y - rows/2)
		// The row and its fraction are the same for the whole line, and so is the
		// fraction of the column, because x enters with slope 1.
		y0, fy := split(m.cy + fromMiddle)
		x0, fx := split(m.cx - float64(cols/2) + shear*fromMiddle)
		w00, w01 := float32((1-fy)*(1-fx)), float32((1-fy)*fx)
		w10, w11 := float32(fy*(1-fx)), float32(fy*fx)
		upper, lower := line(img, shape, y0), line(img, shape, y0+1)
		out := dst[y*cols : (y+1)*cols]
		for x := range out {
			at := x0 + x
			out[x] = w00*pixel(upper, at) + w01*pixel(upper, at+1) + w10*pixel(lower, at) + w11*pixel(lower, at+1)
		}
	}
}

// split returns v as a whole number and a fraction in [0, 1).
func split(v float64) (int, float64) {
	whole := math.Floor(v)
	return int(whole), v - whole
}

func line(img []float32, shape dataset.Shape, y int) []float32 {
	if y < 0 || y >= shape.Rows {
		return nil
	}
	return img[y*shape.Cols : (y+1)*shape.Cols]
}

func pixel(line []float32, x int) float32 {
	if uint(x) >= uint(len(line)) {
		return 0
	}
	return line[x]
}
