package nn

import "fmt"

// Float is the type of a value. Training uses float32, and tests repeat it in float64.
type Float interface{ float32 | float64 }

// Shape describes one example between two layers: Rows x Cols positions with Channels values each, laid out
// by row, then column, then channel. A vector is one position whose channels are its elements.
type Shape struct{ Rows, Cols, Channels int }

// Vector returns the shape of n plain values.
func Vector(n int) Shape { return Shape{Rows: 1, Cols: 1, Channels: n} }

// Image returns the shape of a picture with the given number of channels.
func Image(rows, cols, channels int) Shape {
	return Shape{Rows: rows, Cols: cols, Channels: channels}
}

// Size returns the number of values.
func (s Shape) Size() int { return s.Rows * s.Cols * s.Channels }

// String returns "28x28x1", or "10" for a vector.
func (s Shape) String() string {
	if s.Rows == 1 && s.Cols == 1 {
		return fmt.Sprint(s.Channels)
	}
	return fmt.Sprintf("%dx%dx%d", s.Rows, s.Cols, s.Channels)
}

// maxSize bounds the values of one example in any place, and the parameters of a model, so
// that products of two sizes stay within an int64.
const maxSize = 1 << 30

func (s Shape) valid() bool {
	size := 1
	for _, n := range []int{s.Rows, s.Cols, s.Channels} {
		if n < 1 || n > maxSize {
			return false
		}
		if size *= n; size > maxSize {
			return false
		}
	}
	return true
}
