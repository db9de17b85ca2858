package nn

import "fmt"

// window is a square that moves over an image. It has Kernel positions on a side and moves
// by Stride positions. The image has Padding zeros on every side.
type window struct{ kernel, stride, padding int }

func (w window) output(in Shape, channels int) (Shape, error) {
	switch {
	case w.kernel < 1:
		return Shape{}, fmt.Errorf("field Kernel is %d, must be positive", w.kernel)
	case w.stride < 1:
		return Shape{}, fmt.Errorf("field Stride is %d, must be positive", w.stride)
	case w.padding < 0 || w.padding >= w.kernel:
		return Shape{}, fmt.Errorf("field Padding is %d, must be in [0, Kernel)", w.padding)
	case in.Rows+2*w.padding < w.kernel || in.Cols+2*w.padding < w.kernel:
		return Shape{}, fmt.Errorf("input %v with padding %d is smaller than the kernel of %d", in, w.padding, w.kernel)
	}
	return Image(w.count(in.Rows), w.count(in.Cols), channels), nil
}

// count returns the number of places along a side of n.
func (w window) count(n int) int { return (n+2*w.padding-w.kernel)/w.stride + 1 }

// origins returns the offset of the window's first value for every place of the window over
// an image without padding.
func (w window) origins(in Shape) []int {
	var offsets []int
	for r := range w.count(in.Rows) {
		for c := range w.count(in.Cols) {
			offsets = append(offsets, (r*w.stride*in.Cols+c*w.stride)*in.Channels)
		}
	}
	return offsets
}

// runs returns origins, and the number of values that follow each origin at the same tap of
// consecutive windows. These are the channels of one window, or, at stride 1, of a line.
func (w window) runs(in Shape) (origins []int, n int) {
	if w.stride > 1 {
		return w.origins(in), in.Channels
	}
	for r := range w.count(in.Rows) {
		origins = append(origins, r*in.Cols*in.Channels)
	}
	return origins, w.count(in.Cols) * in.Channels
}

// taps returns the offset of every position in the window from its first.
func (w window) taps(in Shape) []int {
	var offsets []int
	for r := range w.kernel {
		for c := range w.kernel {
			offsets = append(offsets, (r*in.Cols+c)*in.Channels)
		}
	}
	return offsets
}
