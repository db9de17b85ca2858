package dpsgd

import (
	"errors"
	"fmt"
	"math/rand/v2"
)

// Shift moves images by a random number of pixels up or down and left or right. It mirrors
// half of them if Flip is set. Pixels that enter at a border are zero. A row of the data
// holds Planes images of Rows by Cols pixels, row-major, one after the other. They move
// together.
type Shift struct {
	Planes, Rows, Cols int
	// By is the largest number of pixels to move, in either direction, at least 0.
	By int
	// Flip mirrors left and right with probability one half.
	Flip bool
}

// Check implements [Transform].
func (s Shift) Check(data Data) error {
	switch {
	case s.Planes < 1 || s.Rows < 1 || s.Cols < 1:
		return errors.New("dpsgd: Shift needs positive Planes, Rows and Cols")
	case s.By < 0 || s.By >= min(s.Rows, s.Cols):
		return fmt.Errorf("dpsgd: Shift.By is %d, must be at least 0 and less than the image is wide and high", s.By)
	case s.Planes*s.Rows*s.Cols != data.X.Cols:
		return fmt.Errorf("dpsgd: Shift is for %d x %d x %d pixels, the data has %d columns", s.Planes, s.Rows, s.Cols, data.X.Cols)
	}
	return nil
}

// Fingerprint implements [Transform].
func (s Shift) Fingerprint() []byte { return fmt.Appendf(nil, "%+v", s) }

// Draw implements [Transform].
func (s Shift) Draw(rnd *rand.Rand) func(dst, src []float32) {
	down, right := rnd.IntN(2*s.By+1)-s.By, rnd.IntN(2*s.By+1)-s.By
	flip := s.Flip && rnd.IntN(2) == 1
	return func(dst, src []float32) { s.move(dst, src, down, right, flip) }
}

func (s Shift) move(dst, src []float32, down, right int, flip bool) {
	clear(dst)
	for y := max(0, down); y < min(s.Rows, s.Rows+down); y++ {
		for p := range s.Planes {
			to := dst[(p*s.Rows+y)*s.Cols:][:s.Cols]
			from := src[(p*s.Rows+y-down)*s.Cols:][:s.Cols]
			if right >= 0 {
				copy(to[right:], from)
			} else {
				copy(to, from[-right:])
			}
			for a, b := 0, s.Cols-1; flip && a < b; a, b = a+1, b-1 {
				to[a], to[b] = to[b], to[a]
			}
		}
	}
}
